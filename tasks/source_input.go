package tasks

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
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
	name   string
	stream io.Reader // to be spooled at the first read; nil once that is done
	file   *os.File
	close  func() error
	err    error // of spooling

	start, size int64
	modified    time.Time
	fixed       bool // nobody else can change the file
	seed        maphash.Seed
	sum         uint64 // of the whole, once it has been read
	summed      bool
}

func openInput(path string, stdin io.Reader) (*input, error) {
	in := &input{name: path, seed: maphash.MakeSeed(), close: func() error { return nil }}
	if path == "-" {
		in.name, in.stream = "stdin", stdin
		if f, ok := stdin.(*os.File); ok {
			in.file = f
		} else if stdin == nil {
			return nil, fmt.Errorf("there is no stdin to read records from")
		}
	} else {
		f, err := os.Open(path)
		if err != nil {
			var pe *os.PathError
			errors.As(err, &pe)
			return nil, &runner.PlaceError{Name: path, Msg: "can't be read: " + pe.Err.Error()}
		}
		in.file, in.stream, in.close = f, f, f.Close
	}
	if err := in.look(); err != nil {
		_ = in.close() // only read
		return nil, err
	}
	return in, nil
}

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
		return &runner.PlaceError{Name: in.name, Msg: "is a folder, not a file with records"}
	case !st.Mode().IsRegular():
		return nil
	}
	if in.start, err = in.file.Seek(0, io.SeekCurrent); err != nil {
		return nil
	}
	in.size, in.modified, in.stream = st.Size(), st.ModTime(), nil
	return nil
}

// Name is what people know the source by.
func (in *input) Name() string { return in.name }

// Close releases the file.
func (in *input) Close() error { return in.close() }

func (in *input) fail(line int64, msg, hint string) error {
	return &runner.PlaceError{Name: in.name, Line: line, Msg: msg, Hint: hint}
}

// read begins a pass over the text, without its byte order mark. What comes
// from limit is the text as it is.
func (in *input) read(wrap func(io.Reader) io.Reader) (*bufio.Reader, error) {
	if in.stream != nil && in.err == nil {
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

// spool copies the stream to a temporary file that only this process can
// reach.
func (in *input) spool() error {
	f, err := os.CreateTemp("", "runner-input-")
	if err != nil {
		return in.fail(0, "can't be spooled: "+err.Error(), "")
	}
	os.Remove(f.Name()) // where an open file can't be removed, Close does it
	closeStream := in.close
	in.close = func() error {
		f.Close()
		os.Remove(f.Name())
		return closeStream()
	}
	buf, line := make([]byte, bufferSize), int64(1)
	for {
		n, err := in.stream.Read(buf)
		if _, werr := f.Write(buf[:n]); werr != nil {
			return in.fail(line, "can't be spooled: "+werr.Error(), "set TMPDIR to a folder with more space")
		}
		line += int64(bytes.Count(buf[:n], []byte("\n")))
		in.size += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return in.broken(line, err)
		}
	}
	in.file, in.stream, in.fixed = f, nil, true
	return nil
}

// pass reads the text once and finds out at its end whether it was that of
// the other passes.
type pass struct {
	in      *input
	section *io.SectionReader
	hash    maphash.Hash
}

func (p *pass) Read(b []byte) (int, error) {
	n, err := p.section.Read(b)
	if p.in.fixed {
		return n, err
	}
	p.hash.Write(b[:n])
	if err == io.EOF && p.in.changed(p.hash.Sum64()) {
		return n, p.in.fail(0, "changed while it was read", "write a new file and rename it, instead of changing one that is in use")
	}
	return n, err
}

func (in *input) changed(sum uint64) bool {
	st, err := in.file.Stat()
	if err != nil || st.Size() != in.size || !st.ModTime().Equal(in.modified) {
		return true
	}
	before, known := in.sum, in.summed
	in.sum, in.summed = sum, true
	return known && before != sum
}
