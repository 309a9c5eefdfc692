package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"runner/ledger"
	"runner/tasks"
)

// expecting is what there should be of a task: the dates of its schedule, or
// without one every day.
type expecting struct {
	where located
	now   time.Time
	name  string
	task  *tasks.Task // nil: only the ledger knows it
}

func (l located) expecting(name string, now time.Time) expecting {
	return expecting{where: l, now: now, name: name, task: l.task(name)}
}

func (e expecting) schedule() *tasks.Schedule {
	if e.task == nil {
		return nil
	}
	return e.task.Schedule
}

// missed gives the execute dates from one to another, both included, that
// should have run by now and of which the ledger has no batch. With from empty
// the first is that of the schedule, or of the batches, which are all the task
// has. A task that has neither, and has never run, missed its newest date.
func (e expecting) missed(batches []ledger.Batch, from, to string) ([]tasks.Due, error) {
	s := e.schedule()
	if from == "" && s != nil {
		from = s.Since
	}
	if from == "" && len(batches) > 0 {
		from = slices.MinFunc(batches, func(a, b ledger.Batch) int { return strings.Compare(a.ExecuteDate, b.ExecuteDate) }).ExecuteDate
	}
	if from == "" {
		return e.newest(to)
	}
	due, err := e.due(from, to)
	have := make(map[string]bool, len(batches))
	for _, b := range batches {
		have[b.ExecuteDate] = true
	}
	return slices.DeleteFunc(due, func(d tasks.Due) bool { return have[d.Date] }), err
}

func (e expecting) newest(to string) ([]tasks.Due, error) {
	s := e.schedule()
	if s == nil {
		return nil, nil
	}
	d, ok, err := s.Last(e.now, e.where.zone)
	if err != nil || !ok || to != "" && d.Date > to {
		return nil, err
	}
	return []tasks.Due{d}, nil
}

// due gives the dates that should have run by now. Without a schedule a day
// counts when it is over, or when it was asked for.
func (e expecting) due(from, to string) (list []tasks.Due, err error) {
	if s := e.schedule(); s != nil {
		if to == "" {
			to = today(e.now, e.where.zone).String()
		}
		return s.Due(from, to, e.now, e.where.zone)
	}
	first, err := parseCalendar(time.DateOnly, from)
	if err != nil {
		return nil, err
	}
	last := today(e.now, e.where.zone)
	if to == "" {
		last = last.add(-1)
	} else if asked, err := parseCalendar(time.DateOnly, to); err != nil || asked.t.Before(last.t) {
		last = asked
	}
	for d := first; !d.t.After(last.t); d = d.add(1) {
		list = append(list, tasks.Due{Date: d.String()})
	}
	return list, nil
}

// gapJSON is an execute date that never ran or is not complete. Its names are
// an interface: they only grow.
type gapJSON struct {
	TaskName    string `json:"task_name"`
	ExecuteDate string `json:"execute_date"`
	TimeZone    string `json:"time_zone"`
	State       string `json:"state"` // missing, or as in status
	DueAt       stamp  `json:"due_at"`
	Why         string `json:"why"`
	Command     string `json:"command"`

	batch ledger.Batch // of what is not complete
}

// stateMissing is that of a date that never ran.
const stateMissing = "missing"

// worked tells whether a live run works on the date.
func (g gapJSON) worked() bool { return g.State == "running" || g.State == "planning" }

// gapFinder finds gaps. Without a ledger everything is missing.
type gapFinder struct {
	where   located
	now     time.Time
	view    *statusView // nil: there is no ledger
	batches map[string][]ledger.Batch
}

func (a *app) newGapFinder(ctx context.Context, where located, led *ledger.Ledger) (*gapFinder, error) {
	f := &gapFinder{where: where, now: a.now(), batches: map[string][]ledger.Batch{}}
	if led == nil {
		return f, nil
	}
	all, err := led.Batches(ctx, "", "", "")
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		f.batches[b.TaskName] = append(f.batches[b.TaskName], b)
	}
	f.view = &statusView{a: a, where: where, led: led, runsDir: runsDirOf(led)}
	return f, f.view.watch(ctx)
}

// of gives the gaps of a task in the order of their dates.
func (f *gapFinder) of(ctx context.Context, name, from, to string) ([]gapJSON, error) {
	e := f.where.expecting(name, f.now)
	missed, err := e.missed(f.batches[name], from, to)
	if err != nil {
		return nil, err
	}
	var gaps []gapJSON
	for _, d := range missed {
		gaps = append(gaps, f.missing(name, d))
	}
	for _, b := range f.batches[name] {
		if b.Complete() || from != "" && b.ExecuteDate < from || to != "" && b.ExecuteDate > to {
			continue
		}
		row, err := f.view.row(ctx, b)
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, f.incomplete(row, b))
	}
	slices.SortFunc(gaps, func(a, b gapJSON) int { return strings.Compare(a.ExecuteDate, b.ExecuteDate) })
	return gaps, nil
}

func (f *gapFinder) missing(name string, d tasks.Due) gapJSON {
	return gapJSON{
		TaskName: name, ExecuteDate: d.Date, TimeZone: f.where.zoneName, State: stateMissing, DueAt: stamp{d.At},
		Why: "it never ran", Command: "runner run " + shellWord(name) + " --date " + d.Date,
	}
}

func (f *gapFinder) incomplete(r statusJSON, b ledger.Batch) gapJSON {
	g := gapJSON{TaskName: r.TaskName, ExecuteDate: r.ExecuteDate, TimeZone: r.TimeZone, State: r.State, Why: whyIncomplete(r), batch: b}
	g.Command = "runner run " + shellWord(r.TaskName) + " --date " + r.ExecuteDate
	if f.where.task(r.TaskName) == nil {
		g.Command = "runner rerun " + shellWord(r.TaskName) + " --date " + r.ExecuteDate + " --status pending"
	}
	if len(r.Needs) > 0 {
		g.Command = r.Needs[0].Command
	}
	if s := f.where.expecting(r.TaskName, f.now).schedule(); s != nil {
		if due, err := s.Due(r.ExecuteDate, r.ExecuteDate, f.now, f.where.zone); err == nil && len(due) > 0 {
			g.DueAt = stamp{due[0].At}
		}
	}
	return g
}

// whyIncomplete says what a batch lacks.
func whyIncomplete(r statusJSON) string {
	var why []string
	c := r.Counts
	c.Done, c.Skipped = 0, 0
	if c != (countsJSON{}) {
		why = append(why, countWords(c))
	}
	if r.Unplanned != "" {
		why = append(why, "nobody has planned shard "+r.Unplanned)
	}
	if r.OpenPlan {
		text := "its plan was cut off"
		if r.State == "planning" {
			text = "it is being planned"
		}
		why = append(why, text)
	}
	if !r.HaltedAt.IsZero() {
		why = append(why, "halted: "+oneLine(r.HaltReason))
	}
	return strings.Join(why, "; ")
}

// scheduled names the tasks that have a schedule, of those asked for.
func (l located) scheduled(names []string) (list []string) {
	if l.config == nil {
		return nil
	}
	for _, t := range l.config.Tasks {
		if t.Schedule != nil && (len(names) == 0 || slices.Contains(names, t.Name)) {
			list = append(list, t.Name)
		}
	}
	return list
}

// missedLine is what to do about several dates of a task that never ran.
func missedLine(name string, due []tasks.Due) string {
	return name + ": " + spanOfDue(due) + ": they never ran: runner run " + shellWord(name) + " --catch-up --since " + due[0].Date
}

// spanOfDue names dates in few words.
func spanOfDue(due []tasks.Due) string {
	switch n := len(due); n {
	case 1:
		return due[0].Date
	case 2:
		return due[0].Date + " and " + due[1].Date
	default:
		return fmt.Sprintf("%d dates, %s to %s", n, due[0].Date, due[n-1].Date)
	}
}
