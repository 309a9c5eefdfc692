package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"runner/ledger"
	"runner/runner"
)

// previewJobs says what runJobs would do, and changes nothing.
func (a *app) previewJobs(ctx context.Context, where located, jobs []job, o jobOptions) error {
	led, err := a.openReader(ctx, where)
	switch {
	case errors.Is(err, ledger.ErrNoLedger):
		led = nil
	case err != nil:
		return err
	default:
		defer led.Close() // it was only read
	}
	return a.previewOn(ctx, where, led, jobs, o)
}

func (a *app) previewOn(ctx context.Context, where located, led *ledger.Ledger, jobs []job, o jobOptions) error {
	var sums []summaryJSON
	a.sayBlocked(slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return len(j.blocked) == 0 }))
	jobs, err := a.previewSealed(ctx, where, led, jobs)
	if err != nil {
		return err
	}
	rows := func(yield func(preview, error) bool) {
		closed := false // the reader went away: count on, and say nothing more
		for _, j := range jobs {
			if row, idle := a.previewIdle(where, j); idle {
				sums = append(sums, row)
				continue
			}
			var would wouldCounts
			s, err := runner.Preview(ctx, runner.Options{
				Ledger: led, Task: j.task, Date: j.date, Zone: where.zoneName, Source: j.source, Survey: j.survey, Records: j.records,
			}, func(biz string, v ledger.Judged, isNew bool) bool {
				p := newPreview(j, biz, v, isNew)
				would.add(p, v.Entry.Status)
				closed = closed || !yield(p, nil)
				return true
			})
			if err != nil && !closed {
				yield(preview{}, err)
				return
			}
			row := newSummary(s, nil)
			if j.source == nil {
				row.would = would.words()
			}
			sums = append(sums, row)
		}
	}
	if a.p.form == formJSONL || a.p.form == formTable && a.flags.verbose {
		err = list(a.p, previewColumns, rows)
	} else {
		err = eachRow(rows, func(preview) error { return nil })
	}
	if err == nil && a.p.form != formJSONL { // which is a line a record, instead of the summary
		err = a.printSummaries(sums, o.several, true)
	}
	if err == nil && slices.ContainsFunc(jobs, func(j job) bool { return j.unfit != nil }) {
		err = &errReported{exitUsage}
	}
	return err
}

// previewIdle is the preview of a job on whose records nothing would be done,
// if it is one.
func (a *app) previewIdle(where located, j job) (row summaryJSON, idle bool) {
	switch {
	case j.sealed != nil:
		j.sealed.sum.Result = runner.DryRun
		a.p.note("%s", sealedNote(j.sealed.sum))
		return newSummary(j.sealed.sum, nil), true
	case len(j.blocked) > 0:
		_, row = a.block(where, j, j.blocked)
		row.Result = runner.DryRun
		return row, true
	case j.unfit != nil:
		a.sayUnfit(j)
		return newSummary(a.unfit(where, j), nil), true
	}
	return row, false
}

// previewSealed finds the jobs of which nothing would be executed, and fails as
// their run would.
func (a *app) previewSealed(ctx context.Context, where located, led *ledger.Ledger, jobs []job) ([]job, error) {
	if led == nil {
		return jobs, nil
	}
	jobs, err := a.lookSealed(ctx, where, led, jobs)
	for _, j := range jobs {
		if err == nil && j.sealed != nil {
			err = j.sealed.err
		}
	}
	return jobs, err
}

// wouldCounts is how many of chosen records would be what.
type wouldCounts struct {
	run                     ledger.Counts // by what they are now
	check, undo, hold, wait int64
}

func (w *wouldCounts) add(p preview, now ledger.Status) {
	switch p.Would {
	case "run":
		w.run[now]++
	case "check":
		w.check++
	case "compensate":
		w.undo++
	case "hold":
		w.hold++
	case "wait":
		w.wait++
	}
}

func (w *wouldCounts) words() string {
	var words []string
	if n := w.run.Total(); n > 0 {
		text := "would try " + plural(n, "record") + " again (" + countWords(newCounts(w.run)) + ")"
		for _, s := range ledger.Statuses {
			if w.run[s] == n {
				text = "would try " + plural(n, strings.ReplaceAll(s.String(), "_", "-")+" record") + " again"
			}
		}
		words = append(words, text)
	}
	for _, x := range []struct {
		n    int64
		text string
	}{{w.check, "would ask the check of %s"}, {w.undo, "would compensate %s"}, {w.hold, "would leave %s to a person"}, {w.wait, "would wait for %s"}} {
		if x.n > 0 {
			words = append(words, fmt.Sprintf(x.text, plural(x.n, "record")))
		}
	}
	if len(words) == 0 {
		return "would do nothing"
	}
	return strings.Join(words, ", ")
}

// preview is what a run would do with one record.
type preview struct {
	TaskName    string `json:"task_name"`
	BizID       string `json:"biz_id"`
	ExecuteDate string `json:"execute_date"`
	Status      string `json:"status"`
	Would       string `json:"would"` // run, check, compensate, skip, wait, hold
	Reason      string `json:"reason"`
	NotBefore   stamp  `json:"not_before"`
}

func newPreview(j job, biz string, v ledger.Judged, isNew bool) preview {
	p := preview{TaskName: j.task.Name, BizID: biz, ExecuteDate: j.date, Status: v.Entry.Status.String()}
	switch v.Do {
	case ledger.StartAct:
		p.Would, p.Reason = "run", "not done yet"
		switch {
		case isNew:
			p.Status, p.Reason = "new", "not in the ledger yet"
		case v.Entry.Status == ledger.Done:
			p.Reason = fmt.Sprintf("done again, as generation %d with a new idempotency key (asks, or --yes)", v.Entry.Generation+1)
		case v.Entry.Status == ledger.InDoubt && j.task.Policy.Idempotent:
			p.Reason = "in doubt, and safe to repeat"
		case v.Entry.Status == ledger.InDoubt:
			p.Reason = "in doubt: repeated because a person insists (asks, or --yes)"
		case v.Entry.Status != ledger.Pending:
			p.Reason = "tried again, it is " + v.Entry.Status.String()
		}
	case ledger.StartCheck:
		p.Would, p.Reason = "check", "its effect may be there"
	case ledger.StartCompensate:
		p.Would, p.Reason = "compensate", "half its effect is there"
	case ledger.Wait:
		p.Would, p.Reason, p.NotBefore = "wait", "its next attempt is not due", stamp{v.Until}
	case ledger.Hold:
		p.Would, p.Reason = "hold", "in doubt: a person must decide"
	case ledger.Busy:
		p.Would, p.Reason = "wait", "run "+v.Entry.RunID+" holds it"
	default:
		p.Would, p.Reason = "skip", "it is "+v.Entry.Status.String()
	}
	return p
}

var previewColumns = []column[preview]{
	{name: "TASK", cell: func(p preview) string { return p.TaskName }},
	{name: "BIZ_ID", cell: func(p preview) string { return p.BizID }},
	{name: "DATE", cell: func(p preview) string { return p.ExecuteDate }},
	{name: "STATUS", cell: func(p preview) string { return p.Status }},
	{name: "WOULD", cell: func(p preview) string { return p.Would }},
	{name: "REASON", cell: func(p preview) string { return p.Reason }},
}
