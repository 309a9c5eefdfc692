package tasks

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"runner/runner"
)

// sourceKinds lists where the records of a task can come from. To add a kind:
// a field in recordsFile, a line here, and a file with its source.
var sourceKinds = []sourceKind{
	fileKind("lines", FormatLines, func(f *recordsFile) *string { return &f.Lines }),
	fileKind("csv", FormatCSV, func(f *recordsFile) *string { return &f.CSV }),
	fileKind("jsonl", FormatJSONL, func(f *recordsFile) *string { return &f.JSONL }),
	commandSourceKind,
	globKind,
	httpSourceKind,
	sqlSourceKind,
}

// sourceKind is one place where records can come from.
type sourceKind struct {
	name string // its key in runner.yaml
	// value gives the field that holds it.
	value func(f *recordsFile) any
	// format gives that of its text; empty: it has none.
	format func(f *recordsFile) string
	// path gives that of its file; nil: it has none.
	path func(f *recordsFile) *string
	// check reports what is wrong with it.
	check func(c *checker, f *recordsFile)
	// words names it for people, templates as they are written.
	words func(f *recordsFile) string
	// open opens it.
	open func(t *Task, q request) (runner.Source, error)
}

// request is what a source is opened for.
type request struct {
	date   string
	stdin  io.Reader
	fields []Field
}

// fileKind is a file of a format.
func fileKind(name, format string, path func(f *recordsFile) *string) sourceKind {
	return sourceKind{
		name:   name,
		value:  func(f *recordsFile) any { return path(f) },
		format: func(*recordsFile) string { return format },
		path:   path,
		check:  func(c *checker, f *recordsFile) { c.path(path(f)) },
		words:  func(f *recordsFile) string { return fmt.Sprintf("%s %s", name, *path(f)) },
		open: func(t *Task, q request) (runner.Source, error) {
			p, err := renderPath(*path(&t.records), q.date)
			if err != nil {
				return nil, err
			}
			if p != "-" {
				p = absolute(t.dir, p)
			}
			return OpenSource(SourceOptions{Path: p, Format: format, BizID: t.records.BizID, Stdin: q.stdin, Fields: q.fields})
		},
	}
}

// records finds the one source of a task.
func (c *checker) records(f *recordsFile) *sourceKind {
	c.choices(f)
	var kind *sourceKind
	for i := range sourceKinds {
		k := &sourceKinds[i]
		switch {
		case !c.doc.Has(k.value(f)):
			continue
		case kind != nil:
			c.doc.Report(fmt.Sprintf("%q and %q exclude each other", kind.name, k.name), "", k.value(f))
		default:
			kind = k
		}
		k.check(c, f)
	}
	if kind == nil {
		c.doc.Report(`"records" needs one of `+strings.Join(sourceNames(), ", "), "", f)
	}
	c.format(f, kind)
	c.bizID(f, kind)
	return kind
}

func sourceNames() []string {
	names := make([]string, len(sourceKinds))
	for i, k := range sourceKinds {
		names[i] = k.name
	}
	return names
}

func (c *checker) format(f *recordsFile, kind *sourceKind) {
	if c.doc.Has(&f.Format) && kind != nil && kind.name != commandSourceKind.name {
		c.doc.Report(`"format" is for the output of a "command"`, fmt.Sprintf("the format of %q is known", kind.name), &f.Format)
	}
}

func (c *checker) bizID(f *recordsFile, kind *sourceKind) {
	if !c.doc.Has(&f.BizID) {
		return
	}
	format := FormatCSV // no more is said if there is no source
	if kind != nil {
		format = kind.format(f)
	}
	switch {
	case format != FormatCSV && format != FormatJSONL:
		c.doc.Report(`"biz_id" names columns of a csv or members of a jsonl`, bizIDHint(format), &f.BizID)
	case len(f.BizID) == 0:
		c.doc.Report(`"biz_id" is an empty list`, "", &f.BizID)
	}
	for i, name := range f.BizID {
		if slices.Contains(f.BizID[:i], name) {
			c.doc.Report(fmt.Sprintf(`"biz_id" names %q twice`, name), "", &f.BizID[i])
		}
		if name == "" {
			c.doc.Report(`"biz_id" has an empty name`, "", &f.BizID[i])
		}
	}
}

func bizIDHint(format string) string {
	if format == FormatLines {
		return `with "lines" the whole line is the biz_id`
	}
	return ""
}

// commandFormat is that of what a command prints.
func commandFormat(f *recordsFile) string { return cmp.Or(string(f.Format), FormatLines) }
