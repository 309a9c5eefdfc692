package tasks

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"runner/ledger"
	"runner/runner"
)

// scratch is a private folder for what attempts and their commands exchange.
// It is made at the first attempt; a result file exists only if the command
// writes one.
type scratch struct {
	once  sync.Once
	dir   string
	err   error
	count atomic.Uint64
}

// next gives a path that no other attempt has, and makes no file.
func (s *scratch) next() (string, error) {
	s.once.Do(func() {
		go sweepScratch(os.TempDir(), time.Now()) // nobody waits for it, and what it leaves the next run finds
		s.dir, s.err = os.MkdirTemp("", scratchPrefix)
	})
	if s.err != nil {
		return "", s.err
	}
	return s.dir + string(filepath.Separator) + strconv.FormatUint(s.count.Add(1), 36), nil
}

// scratchPrefix begins the names of scratch folders.
const scratchPrefix = "runner-attempts-"

// sweepScratch removes what killed runners left: folders of this user that
// nothing has been written to for a day. A younger one may still be used by
// an action that outlived its runner.
func sweepScratch(dir string, now time.Time) {
	names, _ := filepath.Glob(filepath.Join(dir, scratchPrefix+"*"))
	for _, name := range names {
		if st, err := os.Lstat(name); err == nil && st.IsDir() && now.Sub(st.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(name) // another user's folder can't be removed, and needn't be
		}
	}
}

func (s *scratch) remove() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// maxResultFile is how much of a result file is read.
const maxResultFile = 1 << 20

// takeResult reads and removes a result file. Of several results the last
// counts; keys of later versions are ignored, and so is retry_after where the
// exit code doesn't ask for later.
func takeResult(file string, r *runner.Result) {
	var later string
	defer func() { setLater(r, later) }()
	st, err := os.Lstat(file)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	defer os.RemoveAll(file)
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(file)
	}
	if err != nil {
		note(r, "RUNNER_RESULT can't be read: "+err.Error())
		return
	}
	defer f.Close()
	lines := bufio.NewReader(io.LimitReader(f, maxResultFile))
	for err == nil {
		var line string
		line, err = lines.ReadString('\n')
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch key {
		case "result":
			r.Result = value
		case "retry_after":
			later = value
		}
	}
	if !errors.Is(err, io.EOF) {
		note(r, "RUNNER_RESULT can't be read: "+err.Error())
	}
}

func note(r *runner.Result, text string) {
	if r.Error != "" {
		r.Error += "\n"
	}
	r.Error += text
}

// record is what a command gets on stdin.
type record struct {
	ledger.Key
	Generation     int             `json:"generation"`
	Attempt        int             `json:"attempt"`
	IdempotencyKey string          `json:"idempotency_key"`
	Fields         json.RawMessage `json:"fields"` // as planned, in their order
}

// stdin gives what the command reads: nothing, or its record. A file and not
// a pipe, so that nobody has to feed it.
func (a *commandAction) stdin(at *runner.Attempt, file string) (*os.File, error) {
	if a.spec.Stdin != stdinJSON {
		return a.null, nil
	}
	rec := record{Key: at.Key, Generation: at.Generation, Attempt: at.Number, IdempotencyKey: at.IdempotencyKey, Fields: at.Payload}
	if rec.Fields == nil {
		rec.Fields = json.RawMessage("{}")
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rec); err != nil {
		return nil, err
	}
	file += ".in"
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	os.Remove(file) // where an open file can't be removed, Close does it
	if _, err = f.WriteString(text.String()); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
