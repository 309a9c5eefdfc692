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
		s.lines("is this a list with one biz_id a line?", yield, func(line int64, text []byte) (runner.Item, error) {
			item := runner.Item{BizID: string(text), Line: line, Payload: bytes.Clone(s.payload)}
			if err := ledger.CheckBizID(item.BizID); err != nil {
				return item, s.fail(line, err.Error(), hintFor(item.BizID))
			}
			return item, nil
		})
	}
}

// lines yields a record for each line that isn't blank.
func (in *input) lines(hint string, yield func(runner.Item, error) bool, record func(line int64, text []byte) (runner.Item, error)) {
	r, err := in.read(func(r io.Reader) io.Reader { return r })
	var buf []byte
	for line := int64(1); err == nil; line++ {
		buf, err = readLine(r, buf[:0])
		switch {
		case err == io.EOF:
			return
		case errors.Is(err, errLong):
			err = in.fail(line, "the line is "+err.Error(), hint)
		case err != nil:
			err = in.broken(line, err)
		case len(bytes.Trim(buf, " \t")) > 0:
			var item runner.Item
			if item, err = record(line, buf); err == nil && !yield(item, nil) {
				return
			}
		}
	}
	yield(runner.Item{}, err)
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
