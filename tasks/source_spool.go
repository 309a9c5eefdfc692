package tasks

import (
	"bytes"
	"fmt"
	"os"
)

// spool keeps what can't be read twice in a temporary file that only this
// process can reach.
func (in *input) spool() error {
	f, err := os.CreateTemp("", "runner-input-")
	if err != nil {
		return in.fail(0, "can't be spooled: "+err.Error(), "")
	}
	os.Remove(f.Name()) // where an open file can't be removed, discard does it
	w := &spoolWriter{file: f, line: 1}
	err = in.produce(w)
	switch {
	case w.err != nil:
		err = in.fail(w.line, "can't be spooled: "+w.err.Error(), "set TMPDIR to a folder with more space")
	case err != nil:
		err = in.broken(w.line, err)
	case !in.keep(f):
		err = in.fail(0, "was closed while it was read", "")
	}
	if err != nil {
		discard(f)
		return err
	}
	in.file, in.size, in.produce, in.fixed = f, w.size, nil, true
	return nil
}

// keep leaves a file to Close, unless that was called already.
func (in *input) keep(f *os.File) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.temp = f
	}
	return !in.closed
}

// Close releases the files. It may be called during a read, which then fails,
// and ends a command that still runs.
func (in *input) Close() error {
	err := in.close()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	if in.temp != nil {
		discard(in.temp)
		in.temp = nil
	}
	return err
}

func discard(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}

// spoolWriter remembers what went wrong with the file, and not with what is
// written to it.
type spoolWriter struct {
	file *os.File
	size int64
	line int64 // that was reached
	err  error
}

func (w *spoolWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	if err != nil {
		w.err = err
		return n, fmt.Errorf("spool: %w", err)
	}
	w.size += int64(n)
	w.line += int64(bytes.Count(p, []byte("\n")))
	return n, nil
}
