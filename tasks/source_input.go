package tasks

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"sync"
	"time"

	"runner/runner"
)

// maxLine is the longest line, or CSV record, in bytes.
const maxLine = 16 << 20

const (
	bufferSize = 64 << 10
	// iconvHint is for text that isn't UTF-8.
	iconvHint = "convert it: iconv -f UTF-16 -t UTF-8"
)

// input is a text that can be read any number of times and is the same each
// time. A file is read through one handle; what can't be read twice is copied
// to a temporary file first.
type input struct {
	name string
	file *os.File
	// produce writes what can't be read twice, to be spooled at the first
	// read; nil once that is done.
	produce func(w io.Writer) error
	close   func() error
	err     error // of spooling
	mu      sync.Mutex
	temp    *os.File // the spooled text, to be removed
	closed  bool

	start, size int64
	modified    time.Time
	fixed       bool // nobody else can change the file
	seed        maphash.Seed
	sum         uint64 // of the whole, once it has been read
	summed      bool
}

func newInput(name string) *input {
	return &input{name: name, seed: maphash.MakeSeed(), close: func() error { return nil }}
}

func openInput(path string, stdin io.Reader) (*input, error) {
	in := newInput(path)
	stream := stdin
	if path == "-" {
		in.name = "stdin"
		if f, ok := stdin.(*os.File); ok {
			in.file = f
		} else if stdin == nil {
			return nil, fmt.Errorf("there is no stdin to read records from")
		}
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		in.file, stream, in.close = f, f, f.Close
	}
	in.produce = func(w io.Writer) error {
		_, err := io.CopyBuffer(w, struct{ io.Reader }{stream}, make([]byte, bufferSize))
		return err
	}
	if err := in.look(); err != nil {
		_ = in.close() // only read
		return nil, err
	}
	return in, nil
}

// unreadable says why the operating system doesn't open an input.
func unreadable(path string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	hint := ""
	switch {
	case errors.Is(err, os.ErrNotExist):
		hint = "write it before the run, or name another with --from FILE"
	case errors.Is(err, os.ErrPermission):
		hint = "run as a user that may read it"
	}
	return &runner.PlaceError{Name: path, Msg: "can't be read: " + err.Error(), Hint: hint}
}

const folderMsg = "is a folder, not a file with records"

// look finds out whether the file can be read again.
func (in *input) look() error {
	if in.file == nil {
		return nil
	}
	st, err := in.file.Stat()
	switch {
	case err != nil:
		return &runner.PlaceError{Name: in.name, Msg: err.Error()}
	case st.IsDir():
		return &runner.PlaceError{Name: in.name, Msg: folderMsg}
	case !st.Mode().IsRegular():
		return nil
	}
	if in.start, err = in.file.Seek(0, io.SeekCurrent); err != nil {
		return nil
	}
	in.size, in.modified, in.produce = st.Size(), st.ModTime(), nil
	return nil
}

// Name is what people know the source by.
func (in *input) Name() string { return in.name }

func (in *input) fail(line int64, msg, hint string) error { return in.failAt(line, 0, msg, hint) }

func (in *input) failAt(line int64, column int, msg, hint string) error {
	return &runner.PlaceError{Name: in.name, Line: line, Column: column, Msg: msg, Hint: hint}
}

// read begins a pass over the text, without its byte order mark. What comes
// from limit is the text as it is.
func (in *input) read(wrap func(io.Reader) io.Reader) (*bufio.Reader, error) {
	if in.produce != nil && in.err == nil {
		in.err = in.spool()
	}
	if in.err != nil {
		return nil, in.err
	}
	p := &pass{in: in, section: io.NewSectionReader(in.file, in.start, max(0, in.size-in.start))}
	p.hash.SetSeed(in.seed)
	r := bufio.NewReaderSize(wrap(p), bufferSize)
	start, err := r.Peek(512)
	if err != nil && err != io.EOF {
		return nil, in.broken(1, err)
	}
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, _ = r.Discard(3) // is buffered
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return nil, in.fail(1, "the text is UTF-16, not UTF-8", iconvHint)
	case bytes.IndexByte(start, 0) >= 0:
		return nil, in.fail(1, "the text holds NUL bytes: it is UTF-16 without a mark, or no text", iconvHint)
	}
	return r, nil
}

// broken names an error of reading, and the line that was reached.
func (in *input) broken(line int64, err error) error {
	var place *runner.PlaceError
	if errors.As(err, &place) {
		return err
	}
	return in.fail(line, "reading broke off: "+err.Error(), "")
}
