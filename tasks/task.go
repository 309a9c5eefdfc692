package tasks

import (
	"io"
	"time"

	"runner/ledger"
	"runner/runner"
)

// Task is one task of a runner.yaml.
type Task struct {
	Name        string
	Description string
	HasRecords  bool           // if not, it has one record a date, ledger.NoBizID
	Location    *time.Location // in which its dates are meant

	dir     string
	records recordsFile
	plan    plan
}

// Build makes the task ready to run. With jobs 0 its own number counts, or
// that of the CPUs.
func (t *Task) Build(jobs int) (runner.Task, error) { return t.plan.build(jobs) }

// Source opens the task's own records. stdin is what a path of "-" means.
func (t *Task) Source(date string, stdin io.Reader) (runner.Source, error) {
	if !t.HasRecords {
		return &listSource{name: "task " + t.Name, ids: []string{ledger.NoBizID}}, nil
	}
	o := SourceOptions{Path: t.records.Lines, Format: FormatLines, Stdin: stdin}
	if t.records.CSV != "" {
		o.Path, o.Format, o.BizID = t.records.CSV, FormatCSV, t.records.BizID
	}
	path, err := renderPath(o.Path, date)
	if err != nil {
		return nil, err
	}
	if o.Path = path; path != "-" {
		o.Path = absolute(t.dir, path)
	}
	return OpenSource(o)
}

// SourceFrom opens other records for the task; those of a csv are named by
// the columns that name its own.
func (t *Task) SourceFrom(o SourceOptions) (runner.Source, error) {
	if o.Format == "" {
		o.Format = formatOf(o.Path)
	}
	if o.Format == FormatCSV {
		o.BizID = t.records.BizID
	}
	return OpenSource(o)
}
