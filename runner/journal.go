package runner

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"time"

	"runner/ledger"
)

// The journal of a run is lines of a checksum, a space and a JSON object. It
// is written unsynced: it outlives its process, not its machine.

// head is the first line of a journal.
type head struct {
	Ledger string `json:"ledger"`
	Run    string `json:"run"`
	host
}

// line is any other line: exactly one of its pointers is set.
type line struct {
	ID    int64       `json:"id"`
	Fence int64       `json:"f"`
	BizID string      `json:"b,omitempty"` // of a start and an end
	Start *startLine  `json:"s,omitempty"`
	PID   int         `json:"pid,omitempty"`
	End   *reportLine `json:"e,omitempty"`
}

type startLine struct {
	Phase ledger.Phase `json:"p"`
	At    int64        `json:"at"` // microseconds
}

// reportLine is a ledger.Report in the journal.
type reportLine struct {
	Phase      ledger.Phase   `json:"p"`
	Outcome    ledger.Outcome `json:"o"`
	Detail     string         `json:"d,omitempty"`
	Result     string         `json:"r,omitempty"`
	ExitCode   *int           `json:"x,omitempty"`
	Error      string         `json:"err,omitempty"`
	Output     string         `json:"out,omitempty"`
	RetryAfter time.Duration  `json:"ra,omitempty"`
	StartedAt  int64          `json:"s"`
	EndedAt    int64          `json:"at"`
}

func endLine(r ledger.Report, bizID string) line {
	return line{ID: r.RecordID, Fence: r.Fence, BizID: bizID, End: &reportLine{
		Phase: r.Phase, Outcome: r.Outcome, Detail: r.Detail, Result: r.Result, ExitCode: r.ExitCode,
		Error: r.Error, Output: r.Output, RetryAfter: r.RetryAfter,
		StartedAt: r.StartedAt.UnixMicro(), EndedAt: r.EndedAt.UnixMicro(),
	}}
}

func (l line) report(runID string) ledger.Report {
	e := l.End
	return ledger.Report{
		RecordID: l.ID, Fence: l.Fence, RunID: runID,
		Phase: e.Phase, Outcome: e.Outcome, Detail: e.Detail, Result: e.Result, ExitCode: e.ExitCode,
		Error: e.Error, Output: e.Output, RetryAfter: e.RetryAfter,
		StartedAt: micro(e.StartedAt), EndedAt: micro(e.EndedAt),
	}
}

func micro(us int64) time.Time { return time.UnixMicro(us).UTC() }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// decodeLine is the inverse of appendLine.
func decodeLine(b []byte, v any) error {
	b = bytes.TrimSuffix(b, []byte("\n"))
	if len(b) < 10 || b[8] != ' ' {
		return errors.New("torn line")
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], b[:8]); err != nil {
		return err
	}
	want := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
	if crc32.Checksum(b[9:], castagnoli) != want {
		return errors.New("wrong checksum")
	}
	return json.Unmarshal(b[9:], v)
}

// readHead reads only the head of a journal.
func readHead(path string) (head, bool, error) {
	h, ok, err := readJournal(path, func(line) error { return errEnough })
	if errors.Is(err, errEnough) {
		err = nil
	}
	return h, ok, err
}

var errEnough = errors.New("enough")

// readJournal gives the head of a journal and calls fn with each line whose
// checksum is right, in their order. ok tells that there was a head. A line
// that isn't whole was being written when its process died: what it would
// have said, nobody was told.
func readJournal(path string, fn func(line) error) (h head, ok bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, false, err
	}
	defer f.Close()
	if _, err := f.Seek(journalStart, io.SeekStart); err != nil {
		return h, false, err
	}
	r := bufio.NewReaderSize(f, 1<<16)
	for first := true; ; first = false {
		b, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return h, ok, err
		}
		if len(b) == 0 {
			return h, ok, nil
		}
		if first {
			ok = decodeLine(b, &h) == nil
			continue
		}
		var l line
		if decodeLine(b, &l) != nil {
			continue
		}
		if fn != nil {
			if err := fn(l); err != nil {
				return h, ok, err
			}
		}
	}
}
