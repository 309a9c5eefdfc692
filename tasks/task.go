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
	Schedule    *Schedule      // nil: none
	Needs       []Need
	Keep        int // days that batches stay in the ledger; 0: for ever

	dir       string
	records   recordsFile
	databases map[string]string // addresses by name, as they are written
	source    *sourceKind       // nil: none
	plan      plan
	hooks     hooks
}

// Build makes the task ready to run. With jobs 0 its own number counts, or
// that of the CPUs.
func (t *Task) Build(jobs int) (runner.Task, error) { return t.plan.build(jobs) }

// HasCheck tells whether there is a check for records in doubt: its own, or the
// guard of its action.
func (t *Task) HasCheck() bool { return t.plan.policy.Check }

// Source opens the task's own records. stdin is what a path of "-" means;
// fields are added to every record.
func (t *Task) Source(date string, stdin io.Reader, fields ...Field) (runner.Source, error) {
	if err := checkFields(fields); err != nil {
		return nil, err
	}
	if !t.HasRecords {
		return &listSource{name: "task " + t.Name, ids: []string{ledger.NoBizID}, fields: fields}, nil
	}
	return t.source.open(t, request{date: date, stdin: stdin, fields: fields})
}

// SourceFrom opens other records for the task. Unless o says it, what names its
// own biz_id names theirs.
func (t *Task) SourceFrom(o SourceOptions) (runner.Source, error) {
	if o.Format == "" {
		o.Format = formatOf(o.Path)
	}
	if o.Format != FormatLines && len(o.BizID) == 0 {
		o.BizID = t.records.BizID
	}
	return OpenSource(o)
}
