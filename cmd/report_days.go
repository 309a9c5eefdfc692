package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"runner/ledger"
	"runner/tasks"
)

// dayMark is what a day of a task comes to, in one word.
type dayMark int

const (
	markNone dayMark = iota // nothing was to do
	markComplete
	markSealed
	markRunning
	markOpen
	markFailed
	markInDoubt
	markMissing
	markCount
)

// dayMarks are how a mark is shown. The glyphs are one column wide on every
// terminal, also where ambiguous characters are wide.
var dayMarks = [markCount]struct{ glyph, name, means string }{
	markNone:     {".", "none", "nothing was to do"},
	markComplete: {"✓", "complete", "all records are done or skipped"},
	markSealed:   {"#", "sealed", "complete, and archived"},
	markRunning:  {">", "running", "a live run works on it"},
	markOpen:     {"o", "open", "records are left to do"},
	markFailed:   {"✗", "failed", "records failed"},
	markInDoubt:  {"?", "in_doubt", "records need a person"},
	markMissing:  {"!", "missing", "due by its schedule, and never ran"},
}

func (m dayMark) glyph() string { return dayMarks[m].glyph }
func (m dayMark) name() string  { return dayMarks[m].name }

// words is the name for people.
func (m dayMark) words() string { return strings.ReplaceAll(m.name(), "_", " ") }

// report is what a calendar shows.
type report struct {
	where located
	now   time.Time
	days  []day
	tasks []reportTask
	older reportOlder
}

// reportTask is a row of a calendar.
type reportTask struct {
	name, zone string
	days       []reportDay // one for each day of the report
}

// reportDay is a day of a task.
type reportDay struct {
	date  day
	mark  dayMark
	state string       // as in status; empty if there was nothing to do
	batch ledger.Batch // ID 0: there is none
	dueAt time.Time    // of what is missing
	needs []statusNeed
}

// reportOlder is what needs a person on dates before those of the report.
type reportOlder struct{ batches, failed, inDoubt, open int64 }

func (a *app) newReport(ctx context.Context, where located, led *ledger.Ledger, days []day, names []string) (*report, error) {
	r := &report{where: where, now: a.now(), days: days}
	view := &statusView{a: a, where: where, led: led}
	batches := map[string][]ledger.Batch{}
	if _, err := gapTasks(ctx, where, led, names); err != nil { // each is known
		return nil, err
	}
	if led != nil {
		view.runsDir = runsDirOf(led)
		list, err := led.Batches(ctx, "", "", r.to())
		if err != nil {
			return nil, err
		}
		if err := view.watch(ctx); err != nil {
			return nil, err
		}
		for _, b := range list {
			batches[b.TaskName] = append(batches[b.TaskName], b)
		}
	}
	for _, name := range r.rows(batches, names) {
		t, err := r.task(ctx, view, name, batches[name])
		if err != nil {
			return nil, err
		}
		if len(names) > 0 || slices.ContainsFunc(t.days, func(d reportDay) bool { return d.mark != markNone }) || where.schedules(name) {
			r.tasks = append(r.tasks, t)
		}
	}
	return r, nil
}

func (r *report) from() string { return r.days[0].String() }
func (r *report) to() string   { return r.days[len(r.days)-1].String() }

// schedules tells whether a task has a schedule.
func (l located) schedules(name string) bool { return slices.Contains(l.scheduled(nil), name) }

// rows names the tasks in the order of the configuration, then by name.
func (r *report) rows(batches map[string][]ledger.Batch, names []string) (list []string) {
	if len(names) > 0 {
		for _, n := range names {
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
		return list
	}
	if r.where.config != nil {
		for _, t := range r.where.config.Tasks {
			list = append(list, t.Name)
		}
	}
	var others []string
	for name := range batches {
		if !slices.Contains(list, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return append(list, others...)
}

func (r *report) task(ctx context.Context, view *statusView, name string, batches []ledger.Batch) (t reportTask, err error) {
	t = reportTask{name: name, zone: r.where.zoneName, days: make([]reportDay, len(r.days))}
	for i, d := range r.days {
		t.days[i].date = d
	}
	at := func(date string) *reportDay {
		d, err := parseCalendar(time.DateOnly, date)
		if i := r.days[0].daysTo(d); err == nil && i >= 0 && i < len(t.days) {
			return &t.days[i]
		}
		return nil
	}
	for _, b := range batches {
		if d := at(b.ExecuteDate); d != nil {
			if err := d.take(ctx, view, b); err != nil {
				return t, err
			}
		} else {
			r.older.add(b)
		}
	}
	if len(batches) > 0 {
		if t.zone, err = view.zone(ctx, batches[len(batches)-1]); err != nil {
			return t, err
		}
	}
	missed, err := r.missed(name, batches)
	for _, m := range missed {
		if d := at(m.Date); d != nil && d.batch.ID == 0 {
			d.mark, d.state, d.dueAt = markMissing, stateMissing, m.At
			d.needs = []statusNeed{{stateMissing, 0, "it never ran", "runner run " + shellWord(name) + " --date " + m.Date}}
		}
	}
	return t, err
}

// missed gives the dates that never ran, from the first that counts on.
func (r *report) missed(name string, batches []ledger.Batch) ([]tasks.Due, error) {
	e := r.where.expecting(name, r.now)
	s := e.schedule()
	if s == nil {
		return nil, nil
	}
	first := s.Since
	if first == "" && len(batches) > 0 {
		first = slices.MinFunc(batches, func(a, b ledger.Batch) int { return strings.Compare(a.ExecuteDate, b.ExecuteDate) }).ExecuteDate
	}
	if first != "" {
		first = max(first, r.from())
	}
	return e.missed(batches, first, r.to())
}

// take tells how a batch stands, from what is counted alone.
func (d *reportDay) take(ctx context.Context, view *statusView, b ledger.Batch) error {
	d.batch = b
	s, err := view.glance(ctx, b)
	d.state, d.needs = s.State, s.Needs
	switch {
	case s.State == "running" || s.State == "planning":
		d.mark = markRunning
	case b.Sealed():
		d.mark, d.needs = markSealed, nil
	case s.Counts.InDoubt > 0:
		d.mark = markInDoubt
	case s.State == "failed":
		d.mark = markFailed
	case s.State == "complete":
		d.mark = markComplete
	default: // open, halted, cut_off, paused
		d.mark = markOpen
		if len(d.needs) == 0 {
			d.needs = []statusNeed{{"open", s.Open, "left to do", view.again(s)}}
		}
	}
	return err
}

func (o *reportOlder) add(b ledger.Batch) {
	if b.Complete() || b.Sealed() {
		return
	}
	o.batches++
	o.failed += b.Counts[ledger.Failed]
	o.inDoubt += b.Counts[ledger.InDoubt]
	o.open += b.Open()
}

// inDoubt is how many records of these days are in doubt.
func (r *report) inDoubt() (n int64) {
	for _, t := range r.tasks {
		for _, d := range t.days {
			n += d.batch.Counts[ledger.InDoubt]
		}
	}
	return n
}
