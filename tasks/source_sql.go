package tasks

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"runner/runner"
	"runner/tasks/internal/output"
	"runner/tasks/internal/sqlaction"
)

// sqlSourceFile is a query for records.
type sqlSourceFile struct {
	Database string `yaml:"database" jsonschema:"required" jsonschema_description:"A name under databases, or an address, as for an action."`
	Query    string `yaml:"query" jsonschema:"required" jsonschema_description:"Its rows are the records. It may hold :execute_date. Values are text as the database writes it, and NULL is null."`
}

// sqlSourceKind has the records in the rows of a query.
var sqlSourceKind = sourceKind{
	name:   "sql",
	value:  func(f *recordsFile) any { return &f.SQL },
	format: func(*recordsFile) string { return FormatJSONL },
	check: func(c *checker, f *recordsFile) {
		if !c.doc.Has(&f.SQL.Query) {
			c.doc.Report(`it needs a "query"`, "whose rows are the records", &f.SQL)
		}
		c.sqlText(c.databaseAddress(&f.SQL.Database, &f.SQL), &f.SQL.Query, sqlaction.CheckRows)
	},
	words: func(f *recordsFile) string {
		return fmt.Sprintf("sql of %s: %s", sqlaction.Redact(f.SQL.Database), strings.Join(strings.Fields(f.SQL.Query), " "))
	},
	open: openSQLSource,
}

func openSQLSource(t *Task, q request) (runner.Source, error) {
	s := &sqlSource{mask: t.plan.masker(), in: newInput("sql of " + sqlaction.Redact(t.records.SQL.Database))}
	s.rows = sqlaction.Rows{
		Address: func() (string, error) { return expand(t.address(t.records.SQL.Database)) },
		Dir:     t.dir, Query: t.records.SQL.Query, Date: q.date,
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.in.produce = func(w io.Writer) error { return s.write(ctx, w) }
	s.in.close = func() error { cancel(); return nil }
	o := SourceOptions{Format: FormatJSONL, BizID: t.records.BizID, Fields: q.fields}
	return o.text(s.in), nil
}

// sqlSource writes the rows of a query as JSON lines.
type sqlSource struct {
	rows sqlaction.Rows
	mask *output.Masker
	in   *input
}

func (s *sqlSource) write(ctx context.Context, w io.Writer) error {
	b := bufio.NewWriterSize(w, bufferSize)
	var line int64
	var object []byte
	err := s.rows.Each(ctx, func(columns []string, row []*string) error {
		line++
		object = append(object[:0], '{')
		for i, v := range row {
			if why := badColumn(columns[i], v); why != "" {
				return s.in.fail(line, why, "have the query make text of it")
			}
			object = appendColumn(object, columns[i], v)
		}
		_, err := b.Write(append(object, '}', '\n'))
		return err
	})
	if err == nil {
		err = b.Flush()
	}
	var place *runner.PlaceError
	if err == nil || errors.As(err, &place) {
		return err
	}
	var hint *HintError
	errors.As(sqlError(err, s.mask), &hint)
	return s.in.fail(0, strings.TrimPrefix(hint.Msg, "sql: "), hint.Hint)
}

func badColumn(name string, v *string) string {
	if v == nil {
		return ""
	}
	if why := badText(*v); why != "" {
		return fmt.Sprintf("column %q %s", name, why)
	}
	return ""
}

func appendColumn(object []byte, name string, v *string) []byte {
	key := appendText(nil, name)
	if v != nil {
		return appendMember(object, key, *v)
	}
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(object, key...), ":null"...)
}
