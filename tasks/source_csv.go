package tasks

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"runner/ledger"
	"runner/runner"
)

// csvSource has a record in each row of a CSV text (RFC 4180) with a header.
// Values are text, exactly as they stand, but that CR LF within quotes
// becomes LF. Empty lines are skipped.
type csvSource struct {
	*input
	bizID  []string // columns
	fields []Field  // of every record
}

func (s *csvSource) Records() iter.Seq2[runner.Item, error] {
	return func(yield func(runner.Item, error) bool) {
		t := &csvTable{csvSource: s, line: 1}
		err := t.open()
		for err == nil {
			var item runner.Item
			if item, err = t.next(); err == nil && !yield(item, nil) {
				return
			}
		}
		if err != io.EOF {
			yield(runner.Item{}, err)
		}
	}
}

// csvTable is one pass over the text.
type csvTable struct {
	*csvSource
	csv     *csv.Reader
	limit   *limitReader
	line    int64    // at which the next row starts
	keys    [][]byte // names of all fields as JSON
	header  []string
	columns []int // of the biz_id
}

// open reads the header. It fails with io.EOF if there is none.
func (t *csvTable) open() error {
	r, err := t.read(func(r io.Reader) io.Reader {
		t.limit = &limitReader{r: r, left: 2 * maxLine}
		return t.limit
	})
	if err != nil {
		return err
	}
	t.csv = csv.NewReader(r)
	t.csv.ReuseRecord = true
	header, err := t.row()
	if err != nil {
		return err
	}
	t.header = slices.Clone(header)
	if err := t.checkHeader(); err != nil {
		return err
	}
	for _, name := range t.header {
		t.keys = append(t.keys, appendText(nil, name))
	}
	for _, f := range t.fields {
		t.keys = append(t.keys, appendText(nil, f.Name))
	}
	return nil
}

func (t *csvTable) checkHeader() error {
	line := t.place(0)
	names := slices.Clone(t.header)
	for _, f := range t.fields {
		names = append(names, f.Name)
	}
	for i, name := range names {
		switch {
		case name == "":
			return t.fail(line, fmt.Sprintf("column %d of the header has no name", i+1), "")
		case i >= len(t.header) && slices.Contains(t.header, name):
			return t.fail(line, collision(name).Error(), "")
		case slices.Contains(names[:i], name):
			return t.fail(line, fmt.Sprintf("column %q is there twice", name), "")
		}
	}
	for _, name := range t.bizID {
		i := slices.Index(t.header, name)
		if i < 0 {
			return t.noColumn(line, name)
		}
		t.columns = append(t.columns, i)
	}
	if err := fieldCollision(names); err != nil {
		return t.fail(line, err.Error(), "rename one of the columns")
	}
	return nil
}

func (t *csvTable) noColumn(line int64, name string) error {
	hint := "name the columns of the biz_id with biz_id:"
	for sep, word := range map[string]string{";": "semicolons", "\t": "tabs"} {
		if len(t.header) == 1 && strings.Contains(t.header[0], sep) {
			hint = "columns are separated by commas; this text seems to use " + word
		}
	}
	return t.fail(line, fmt.Sprintf("there is no column %q, only %s", name, quoted(t.header)), hint)
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}

// place gives the line at which field i of the newest row starts.
func (t *csvTable) place(i int) int64 {
	line, _ := t.csv.FieldPos(i)
	return int64(line)
}

// next gives the next record, or io.EOF.
func (t *csvTable) next() (runner.Item, error) {
	row, err := t.row()
	if err != nil {
		return runner.Item{}, err
	}
	item := runner.Item{BizID: t.key(row), Line: t.place(0)}
	if err := ledger.CheckBizID(item.BizID); err != nil {
		return item, t.fail(item.Line, err.Error(), "")
	}
	if len(t.keys) > 1 {
		item.Payload = t.payload(row)
	}
	return item, nil
}

// row reads a row and checks that it is text.
func (t *csvTable) row() ([]string, error) {
	t.limit.left = maxLine + 2*bufferSize // what is buffered may belong to it
	row, err := t.csv.Read()
	if err != nil {
		return nil, t.rowError(row, err)
	}
	for i, field := range row {
		if why := badText(field); why != "" {
			return nil, t.fail(t.place(i), fmt.Sprintf("field %d %s", i+1, why), hintFor(strings.ReplaceAll(field, "\r", "")))
		}
	}
	last := len(row) - 1
	t.line = t.place(last) + int64(strings.Count(row[last], "\n")) + 1
	return row, nil
}

func (t *csvTable) rowError(row []string, err error) error {
	var pe *csv.ParseError
	switch {
	case err == io.EOF:
		return err
	case errors.Is(err, errLong):
		return t.fail(t.line, "the record is "+err.Error(), "is a quote never closed?")
	case !errors.As(err, &pe):
		return t.broken(t.line, err)
	}
	line := int64(pe.StartLine)
	switch pe.Err {
	case csv.ErrFieldCount:
		return t.fail(line, fmt.Sprintf("the row has %d fields, the header %d", len(row), len(t.header)), "")
	case csv.ErrQuote:
		return t.fail(line, "a quoted field is never closed, or text follows its closing quote", `a quote inside quotes is written ""`)
	case csv.ErrBareQuote:
		return t.fail(line, "there is a quote inside a field without quotes", `write the field in quotes, and its quotes as ""`)
	}
	return t.fail(line, pe.Err.Error(), "")
}

// key makes the biz_id of a row.
func (t *csvTable) key(row []string) string {
	if len(t.columns) == 1 {
		return strings.Clone(row[t.columns[0]])
	}
	parts := make([]string, len(t.columns))
	for i, c := range t.columns {
		parts[i] = row[c]
	}
	return joinKey(parts)
}

var keyEscaper = strings.NewReplacer(`\`, `\\`, `:`, `\:`)

// joinKey joins parts so that different parts never make the same key.
func joinKey(parts []string) string {
	if strings.Join(parts, "") == "" {
		return ""
	}
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = keyEscaper.Replace(p)
	}
	return strings.Join(escaped, ":")
}

// payload makes a JSON object of all columns, in the order of the header.
func (t *csvTable) payload(row []string) []byte {
	size := 2
	for i, v := range row {
		size += len(t.keys[i]) + len(v) + 4
	}
	p := append(make([]byte, 0, size), '{')
	for i, v := range row {
		p = appendMember(p, t.keys[i], v)
	}
	for i, f := range t.fields {
		p = appendMember(p, t.keys[len(row)+i], f.Value)
	}
	return append(p, '}')
}

// limitReader fails when a single record is too long to be one.
type limitReader struct {
	r    io.Reader
	left int
}

func (l *limitReader) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errLong
	}
	n, err := l.r.Read(b)
	l.left -= n
	return n, err
}
