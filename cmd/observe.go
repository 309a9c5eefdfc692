package cmd

import (
	"runtime/debug"
	"slices"
	"time"

	"runner/ledger"
	"runner/runner"
)

// observe tells what happens during a run: recoveries always, each record
// with -v.
func (a *app) observe(ev runner.Event, bar progress) {
	bar.observe(ev)
	switch {
	case ev.Recovery != nil:
		a.sayRecovery(*ev.Recovery)
	case ev.Planned != nil:
		a.spendMemory()
		a.p.log.Info("planned", "task", ev.Planned.TaskName, "date", ev.Planned.ExecuteDate, "zone", ev.Planned.TimeZone,
			"records", ev.Planned.Planned, "new", ev.Planned.New, "done", ev.Planned.AlreadyDone)
	case ev.Settled != nil:
		s := ev.Settled
		args := []any{"task", s.Entry.TaskName, "biz_id", s.Entry.BizID, "attempts", s.Entry.Attempts, "ms", s.EndedAt.Sub(s.StartedAt).Milliseconds()}
		if s.Error != "" {
			args = append(args, "error", oneLine(s.Error))
		}
		if s.Entry.Status == ledger.Pending {
			args = append(args, "next", s.Entry.NotBefore.Local().Format(time.RFC3339))
		}
		a.p.log.Info(s.Entry.Status.String(), args...)
	}
}

// workingGC lets the heap grow to five times what is alive while records are
// worked on. That is a few megabytes, and the collector is an eighth of the work
// of a record that does nothing.
const workingGC = 300

func (a *app) spendMemory() {
	if a.getenv("GOGC") == "" {
		debug.SetGCPercent(workingGC)
	}
}

// sayRecovery says once of each dead run what was found: what becomes of it the
// summary tells, and a survivor may be waited for after that.
func (a *app) sayRecovery(r runner.Recovery) {
	dead := slices.DeleteFunc(slices.Clone(r.Dead), func(id string) bool { return slices.Contains(a.dead, id) })
	if len(dead) > 0 && (len(r.Settled) > 0 || len(r.Runs) > 0) {
		a.dead = append(a.dead, dead...)
		var c ledger.Counts
		for _, s := range r.Settled {
			c[s.Entry.Status]++
		}
		left := "nothing"
		if len(r.Settled) > 0 {
			left = countWords(newCounts(c))
		}
		a.p.note("recovered from %s that died and left %s", plural(int64(len(dead)), "run"), left)
	}
	for _, s := range r.Survivors {
		a.p.log.Info(survivorText(s, a.now()))
	}
	for _, c := range r.Closed {
		a.p.warn("run "+c.ID+" counts as alive, for its run file can't be opened: "+c.Err.Error(), c.Hint())
	}
}
