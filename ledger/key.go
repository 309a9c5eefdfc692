package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxBizID and MaxTaskName are the longest accepted names, in bytes.
const (
	MaxBizID    = 512
	MaxTaskName = 128
)

// NoBizID is the biz_id of the one record of a task that has no records.
const NoBizID = "-"

// Key names a record. It is unique in a ledger.
type Key struct {
	TaskName    string `json:"task_name"`
	BizID       string `json:"biz_id"`
	ExecuteDate string `json:"execute_date"` // 2006-01-02
}

func (k Key) String() string { return k.TaskName + " " + k.BizID + " " + k.ExecuteDate }

// IdempotencyKey is what the other side of an action may deduplicate by. It
// depends on namespace, key and generation and on nothing else, so all
// attempts of a record share it. Its form is an interface: golden values are
// in testdata/idempotency_keys.txt.
func IdempotencyKey(namespace string, k Key, generation int) string {
	h := sha256.New()
	part := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	for _, s := range []string{"runner idempotency key 1", namespace, k.TaskName, k.BizID, k.ExecuteDate} {
		part(s)
	}
	part(fmt.Sprint(generation))
	return "r1-" + hex.EncodeToString(h.Sum(nil)[:20])
}

// CheckTaskName says why s can't name a task.
func CheckTaskName(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("task name is empty")
	case len(s) > MaxTaskName:
		return fmt.Errorf("task name has %d bytes, at most %d are allowed", len(s), MaxTaskName)
	case !utf8.ValidString(s):
		return fmt.Errorf("task name %q is not valid UTF-8", s)
	case s[0] == '-' || s[0] == '.':
		return fmt.Errorf("task name %q starts with %q", s, s[0])
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-_.", r) {
			return fmt.Errorf("task name %q has %q: only letters, digits, '-', '_' and '.' are allowed", s, r)
		}
	}
	return nil
}

// CheckBizID says why s can't be a biz_id. A biz_id is opaque: nothing is
// trimmed, folded or parsed.
func CheckBizID(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("biz_id is empty")
	case len(s) > MaxBizID:
		return fmt.Errorf("biz_id has %d bytes, at most %d are allowed", len(s), MaxBizID)
	case !utf8.ValidString(s):
		return fmt.Errorf("biz_id %q is not valid UTF-8", s)
	}
	if i := strings.IndexAny(s, "\x00\r\n"); i >= 0 {
		return fmt.Errorf("biz_id %q holds %q", s, s[i])
	}
	return nil
}

// CheckDate says why s is no execute date. Dates are kept as text: a date is
// no instant.
func CheckDate(s string) error {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return fmt.Errorf("%q is no date of the form 2006-01-02", s)
	}
	return nil
}

// AttemptID names one claim of one record by one run. No two are the same.
func AttemptID(runID string, record, fence int64) string {
	return fmt.Sprintf("%s/%d/%d", runID, record, fence)
}
