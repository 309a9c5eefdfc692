package tasks

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"runner/ledger"
	"runner/runner"
)

var errLong = fmt.Errorf("longer than %d MiB", maxLine>>20)

// linesSource has a biz_id in each line. Blank lines are skipped; line ends
// may be CR LF; everything else in a line belongs to the id.
type linesSource struct {
	*input
	payload []byte // of every record
}

func (s *linesSource) Records() iter.Seq2[runner.Item, error] {
	return func(yield func(runner.Item, error) bool) {
		r, err := s.read(func(r io.Reader) io.Reader { return r })
		if err != nil {
			yield(runner.Item{}, err)
			return
		}
		var buf []byte
		for line := int64(1); ; line++ {
			buf, err = readLine(r, buf[:0])
			if err == io.EOF {
				return
			}
			if err == nil && len(bytes.Trim(buf, " \t")) == 0 {
				continue
			}
			item := runner.Item{BizID: string(buf), Line: line, Payload: bytes.Clone(s.payload)}
			if err = s.check(item, err); err != nil {
				yield(runner.Item{}, err)
				return
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

// check turns an error of reading, or what is wrong with an id, into one with
// a place.
func (s *linesSource) check(item runner.Item, err error) error {
	switch {
	case errors.Is(err, errLong):
		return s.fail(item.Line, "the line is "+err.Error(), "is this a list with one biz_id a line?")
	case err != nil:
		return s.broken(item.Line, err)
	}
	if err := ledger.CheckBizID(item.BizID); err != nil {
		return s.fail(item.Line, err.Error(), hintFor(item.BizID))
	}
	return nil
}

func hintFor(text string) string {
	switch {
	case strings.Contains(text, "\x00"):
		return iconvHint
	case strings.Contains(text, "\r"):
		return "lines end in LF or CR LF; a CR anywhere else is refused"
	case !utf8.ValidString(text):
		return "convert it: iconv -f GB18030 -t UTF-8, or whatever its encoding is"
	}
	return ""
}

// readLine appends a line to buf, without its end. io.EOF comes after the
// last one.
func readLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(buf)+len(part) > maxLine {
			return buf, errLong
		}
		buf = append(buf, part...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(buf) > 0:
			err = nil
		}
		buf = bytes.TrimSuffix(buf, []byte("\n"))
		return bytes.TrimSuffix(buf, []byte("\r")), err
	}
}
