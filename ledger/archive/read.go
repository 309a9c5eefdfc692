package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"runner/ledger"

	"github.com/klauspost/compress/zstd"
)

// format is the version of the files.
const format = 1

// maxMemory is what a decoder may use, whatever a file says.
const maxMemory = 64 << 20

// FileError says that an archive file can't be read, or isn't what it should be.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string {
	var p *os.PathError
	if errors.As(e.Err, &p) {
		return fmt.Sprintf("archive %s: %v", e.Path, p.Err)
	}
	return fmt.Sprintf("archive %s: %v", e.Path, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// errElsewhere stands for fs.ErrNotExist where the file may lie on another host.
var errElsewhere = errors.New("there is no such file on this host: hosts that share a ledger must share the archive folder too (runner ledger archive --to FOLDER)")

// elsewhere says what it means that a file isn't there.
func (d *Folder) elsewhere(err error) error {
	var f *FileError
	if d.Shared && errors.As(err, &f) && errors.Is(err, fs.ErrNotExist) {
		return &FileError{f.Path, errElsewhere}
	}
	return err
}

// Item is a record with its stored story.
type Item struct {
	Entry ledger.Entry // without the number of its batch
	Story []ledger.Attempt
}

// File reads an archive file.
type File struct {
	Head Head
	path string
	f    *os.File
	z    *zstd.Decoder
	r    *bufio.Reader
	long []byte
}

// Open opens a file and reads its head.
func Open(path string) (*File, error) {
	f := &File{path: path}
	var err error
	if f.f, err = os.Open(path); err != nil {
		return nil, &FileError{path, err}
	}
	f.z, err = zstd.NewReader(f.f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxMemory), zstd.WithDecoderMaxWindow(maxMemory/2))
	if err == nil {
		f.r = bufio.NewReaderSize(f.z, 1<<16)
		err = f.head()
	}
	if err != nil {
		f.Close()
		return nil, &FileError{path, err}
	}
	return f, nil
}

// Close ends reading.
func (f *File) Close() {
	if f.z != nil {
		f.z.Close()
	}
	_ = f.f.Close() // it was only read
}

func (f *File) head() error {
	line, err := f.line()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &f.Head); err != nil || f.Head.Format == 0 {
		return errors.New("it is no archive of runner")
	}
	if f.Head.Format != format {
		return fmt.Errorf("it is of format %d, and this program reads %d", f.Head.Format, format)
	}
	return nil
}

// line gives the next line, valid until the one after it.
func (f *File) line() ([]byte, error) {
	line, err := f.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, cutOff(err)
	}
	f.long = append(f.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = f.r.ReadSlice('\n')
		f.long = append(f.long, line...)
	}
	return f.long, cutOff(err)
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut off")
	}
	return err
}

// lines gives all lines between the first and the last, and fails unless the
// last says that they are all there.
func (f *File) lines(fn func(line []byte) (stories int, err error)) error {
	var records, stories int64
	for {
		line, err := f.line()
		if err != nil {
			return &FileError{f.path, err}
		}
		if bytes.HasPrefix(line, []byte(`{"end":true`)) {
			var e end
			if err := json.Unmarshal(line, &e); err != nil || e.Records != records || stories >= 0 && e.Lines != stories {
				return &FileError{f.path, fmt.Errorf("it holds %d records, and says %d", records, e.Records)}
			}
			return f.drain()
		}
		n, err := fn(line)
		if err != nil {
			return err
		}
		if records++; n < 0 {
			stories = -1
		} else {
			stories += int64(n)
		}
	}
}

// drain fails if anything comes after the last line.
func (f *File) drain() error {
	n, err := io.Copy(io.Discard, f.r)
	if err == nil && n > 0 {
		err = errors.New("something comes after its end")
	}
	if err != nil {
		return &FileError{f.path, err}
	}
	return nil
}

// Items yields all records, or an error and then nothing more.
func (f *File) Items() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var l recordLine
		stopped := errors.New("stopped")
		err := f.lines(func(line []byte) (int, error) {
			l = recordLine{}
			if err := json.Unmarshal(line, &l); err != nil {
				return 0, &FileError{f.path, err}
			}
			it := Item{Entry: l.entry(&f.Head)}
			for i := range l.Story {
				it.Story = append(it.Story, l.Story[i].attempt(l.ID))
			}
			if !yield(it, nil) {
				return 0, stopped
			}
			return len(l.Story), nil
		})
		if err != nil && err != stopped {
			yield(Item{}, err)
		}
	}
}

// brief is what of a record is read where there are many.
type brief struct {
	BizID      string        `json:"biz_id"`
	Status     ledger.Status `json:"status"`
	Generation int           `json:"generation"`
}

// briefs yields all records in short.
func (f *File) briefs(fn func(r brief) error) error {
	var r brief
	return f.lines(func(line []byte) (int, error) {
		r = brief{}
		if err := json.Unmarshal(line, &r); err != nil {
			return 0, &FileError{f.path, err}
		}
		return -1, fn(r)
	})
}

func isSum(path, got, sum string) error {
	if got != sum {
		return &FileError{path, fmt.Errorf("its SHA-256 is %s, and should be %s", got, sum)}
	}
	return nil
}
