package cmd

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"runner/ledger"
)

// maxMissed is how many dates of a task that never ran status shows, of the
// newest, unless all is asked for.
const maxMissed = 10

// missed looks through all batches of the tasks, not only those shown.
func (o *statusOptions) missed(ctx context.Context, v *statusView, names []string, from, to string) ([]statusJSON, []string, error) {
	if o.after != "" || len(v.where.scheduled(names)) == 0 { // they were on the first page
		return nil, nil, nil
	}
	batches, err := v.led.Batches(ctx, "", "", "")
	if err != nil {
		return nil, nil, err
	}
	return v.missed(names, batches, from, to, o.limit == 0)
}

// missed gives the dates that should have run by the schedules and never did,
// newest first, and what is to be said of those that aren't shown.
func (v *statusView) missed(names []string, batches []ledger.Batch, from, to string, whole bool) (rows []statusJSON, notes []string, err error) {
	for _, name := range v.where.scheduled(names) {
		of := slices.DeleteFunc(slices.Clone(batches), func(b ledger.Batch) bool { return b.TaskName != name })
		due, err := v.where.expecting(name, v.a.now()).missed(of, "", to)
		if err != nil {
			return nil, nil, err
		}
		for len(due) > 0 && due[0].Date < from {
			due = due[1:]
		}
		if more := len(due) - maxMissed; more > 0 && !whole {
			notes = append(notes, plural(int64(more), "older date")+" of "+name+" never ran: runner gaps "+shellWord(name)+" lists them")
			due = due[more:]
		}
		for i, d := range due {
			r := statusJSON{
				TaskName: name, ExecuteDate: d.Date, TimeZone: v.where.zoneName, State: stateMissing, Runs: []statusRun{},
				Needs:   []statusNeed{{stateMissing, 0, "it never ran", "runner run " + shellWord(name) + " --date " + d.Date}},
				grouped: len(due) > 1,
			}
			if r.grouped && i == len(due)-1 { // the newest stands first
				r.groupLine = missedLine(name, due)
			}
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, statusJSON.newerFirst)
	return rows, notes, nil
}

// newerFirst is the order of a listing.
func (r statusJSON) newerFirst(s statusJSON) int {
	return cmp.Or(cmp.Compare(s.ExecuteDate, r.ExecuteDate), cmp.Compare(r.TaskName, s.TaskName))
}

// withMissed puts the dates that never ran between the others.
func withMissed(rows iter.Seq2[statusJSON, error], missed []statusJSON) iter.Seq2[statusJSON, error] {
	return func(yield func(statusJSON, error) bool) {
		for r, err := range rows {
			for err == nil && len(missed) > 0 && missed[0].newerFirst(r) < 0 {
				if !yield(missed[0], nil) {
					return
				}
				missed = missed[1:]
			}
			if !yield(r, err) {
				return
			}
		}
		for _, m := range missed {
			if !yield(m, nil) {
				return
			}
		}
	}
}
