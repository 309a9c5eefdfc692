package cmd

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/fatih/color"
)

// column is one column of a listing as people see it.
type column[T any] struct {
	name string
	cell func(T) string
	tint func(T, palette) *color.Color // nil: none
	wide bool                          // of any length: cut where a terminal is too narrow
	id   bool                          // a wide one that is cut in its middle, and after the texts

	// spare is 0 for what is always shown. Of the others a terminal that is too
	// narrow leaves out those with the highest first.
	spare int
}

func (c column[T]) fitting() fitting { return fitting{c.wide, c.id, c.spare} }

// list prints rows in the form asked for. People get the columns; JSON and
// CSV hold the row itself, under its JSON names. Rows are printed as they
// come, and what was printed is whole and valid also when rows end with an
// error, which is then returned.
func list[T any](p *printer, columns []column[T], rows iter.Seq2[T, error]) error {
	w := bufio.NewWriterSize(p.out, 1<<16)
	var err error
	switch p.form {
	case formJSON:
		err = listJSON(w, rows)
	case formJSONL:
		err = eachRow(rows, func(row T) error { return writeJSON(w, row, "\n") })
	case formCSV:
		err = listCSV(w, rows)
	case formMarkdown:
		err = listMarkdown(w, columns, rows)
	default:
		err = listTable(w, p.out, columns, rows)
	}
	if ferr := w.Flush(); err == nil {
		err = ferr
	}
	return quietly(err)
}

// all makes rows of a slice.
func all[T any](rows []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func eachRow[T any](rows iter.Seq2[T, error], do func(T) error) error {
	for row, err := range rows {
		if err == nil {
			err = do(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func listJSON[T any](w io.Writer, rows iter.Seq2[T, error]) error {
	start := "["
	err := eachRow(rows, func(row T) error {
		_, err := io.WriteString(w, start+"\n")
		if err != nil {
			return err
		}
		start = ","
		return writeJSON(w, row, "")
	})
	end := "\n]\n"
	if start == "[" {
		end = "[]\n"
	}
	if _, werr := io.WriteString(w, end); err == nil {
		err = werr
	}
	return err
}

// encodeJSON gives exact JSON without a line end: no HTML escaping.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func writeJSON(w io.Writer, v any, end string) error {
	b, err := encodeJSON(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, end...))
	return err
}

// listCSV writes RFC 4180, with the JSON names as its header. A null is an
// empty value, and what is not a plain value is JSON text. Lines end in LF:
// with CRLF the writer would alter line ends inside values, and ids read by a
// shell would end in CR.
func listCSV[T any](w io.Writer, rows iter.Seq2[T, error]) error {
	names := jsonNames(reflect.TypeFor[T]())
	c := csv.NewWriter(w)
	if err := c.Write(names); err != nil {
		return err
	}
	err := eachRow(rows, func(row T) error {
		values, err := csvValues(row, names)
		if err != nil {
			return err
		}
		return c.Write(values)
	})
	c.Flush()
	if err == nil {
		err = c.Error()
	}
	return err
}

func csvValues(row any, names []string) ([]string, error) {
	b, err := encodeJSON(row)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	values := make([]string, len(names))
	for i, n := range names {
		v := raw[n]
		switch {
		case len(v) == 0 || string(v) == "null":
		case v[0] == '"':
			if err := json.Unmarshal(v, &values[i]); err != nil {
				return nil, err
			}
		default:
			values[i] = string(v)
		}
	}
	return values, nil
}

// jsonNames are the names that encoding/json gives to the fields of a struct.
func jsonNames(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		names = append(names, name)
	}
	return names
}

func listMarkdown[T any](w io.Writer, columns []column[T], rows iter.Seq2[T, error]) error {
	cells := make([]string, len(columns))
	line := func() error {
		_, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
		return err
	}
	for i, c := range columns {
		cells[i] = markdownCell(c.name)
	}
	if err := line(); err != nil {
		return err
	}
	if _, err := io.WriteString(w, strings.Repeat("| --- ", len(columns))+"|\n"); err != nil {
		return err
	}
	return eachRow(rows, func(row T) error {
		for i, c := range columns {
			cells[i] = markdownCell(c.cell(row))
		}
		return line()
	})
}

// field is one line of an object as people see it.
type field struct{ name, value string }

// object prints one thing: for people those fields of it that say something,
// else the thing itself.
func object[T any](p *printer, v T, fields []field) error {
	switch {
	case p.form.forPeople():
		fields = slices.DeleteFunc(fields, func(f field) bool { return f.value == "" })
		return list(p, fieldColumns, all(fields))
	case p.form == formJSON:
		return quietly(writeJSON(p.out, v, "\n"))
	}
	return list(p, nil, all([]T{v}))
}

// Columns without names have no heading, and nothing of them is cut: who asks
// for one thing wants all of it.
var fieldColumns = []column[field]{
	{cell: func(f field) string { return f.name }},
	{cell: func(f field) string { return f.value }},
}
