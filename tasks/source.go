package tasks

import (
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"runner/ledger"
	"runner/runner"
)

// The formats of a source.
const (
	FormatLines = "lines" // a biz_id a line
	FormatCSV   = "csv"   // RFC 4180 with a header
	FormatJSONL = "jsonl" // a JSON object a line
)

// defaultBizID is the column or member that identifies a record.
const defaultBizID = "biz_id"

// Field is a name with a value.
type Field struct{ Name, Value string }

// SourceOptions say where records come from. Either Path or IDs is given.
type SourceOptions struct {
	Path   string    // "-" is Stdin
	Format string    // empty: csv or jsonl if the path ends so, else lines
	BizID  []string  // columns or members that make the biz_id; empty: biz_id
	Stdin  io.Reader // not closed
	IDs    []string  // records by hand
	Fields []Field   // are added to every record, which must not have them
}

// OpenSource opens a source. Close must be called on it.
func OpenSource(o SourceOptions) (runner.Source, error) {
	if o.Format == "" {
		o.Format = formatOf(o.Path)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	switch {
	case len(o.IDs) > 0 && o.Path != "":
		return nil, fmt.Errorf("records are given both by hand and from %s", o.Path)
	case len(o.IDs) > 0:
		return &listSource{name: "--biz-id", ids: o.IDs, fields: o.Fields}, nil
	case o.Path == "":
		return nil, fmt.Errorf("no source of records is given")
	}
	in, err := openInput(o.Path, o.Stdin)
	if err != nil {
		return nil, err
	}
	return o.text(in), nil
}

func (o *SourceOptions) check() error {
	switch o.Format {
	case FormatLines, FormatCSV, FormatJSONL:
	default:
		return &HintError{Msg: fmt.Sprintf("unknown format %q", o.Format), Hint: "use lines, csv or jsonl"}
	}
	if o.Format == FormatLines && len(o.BizID) > 0 {
		return &HintError{Msg: "columns of the biz_id are given, but lines have no columns", Hint: "use --format csv or jsonl"}
	}
	return checkFields(o.Fields)
}

// text reads records from a text.
func (o *SourceOptions) text(in *input) runner.Source {
	bizID := o.BizID
	if len(bizID) == 0 {
		bizID = []string{defaultBizID}
	}
	switch o.Format {
	case FormatCSV:
		return &csvSource{input: in, bizID: bizID, fields: o.Fields}
	case FormatJSONL:
		return &jsonlSource{input: in, bizID: bizID, fields: o.Fields}
	}
	return &linesSource{input: in, payload: payloadOf(o.Fields)}
}

func formatOf(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		return FormatCSV
	case ".jsonl", ".ndjson":
		return FormatJSONL
	}
	return FormatLines
}

func checkFields(fields []Field) error {
	var names []string
	for _, f := range fields {
		switch {
		case f.Name == "":
			return fmt.Errorf("a field has an empty name")
		case slices.Contains(names, f.Name):
			return fmt.Errorf("field %q is given twice", f.Name)
		}
		if why := badText(f.Name + f.Value); why != "" {
			return fmt.Errorf("field %q %s", f.Name, why)
		}
		names = append(names, f.Name)
	}
	return fieldCollision(names)
}

func payloadOf(fields []Field) []byte {
	if len(fields) == 0 {
		return nil
	}
	p := []byte{'{'}
	for _, f := range fields {
		p = appendMember(p, appendText(nil, f.Name), f.Value)
	}
	return append(p, '}')
}

// listSource is a list of ids.
type listSource struct {
	name   string
	ids    []string
	fields []Field
}

func (s *listSource) Name() string { return s.name }
func (s *listSource) Close() error { return nil }

func (s *listSource) Records() iter.Seq2[runner.Item, error] {
	return func(yield func(runner.Item, error) bool) {
		for _, id := range s.ids {
			if err := ledger.CheckBizID(id); err != nil {
				yield(runner.Item{}, &runner.PlaceError{Name: s.name, Msg: err.Error()})
				return
			}
			if !yield(runner.Item{BizID: id, Payload: payloadOf(s.fields)}, nil) {
				return
			}
		}
	}
}
