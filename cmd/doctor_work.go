package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"runner/ledger"
	"runner/runner"
)

const (
	// openTooLong is how long a batch that nobody works on may stay open.
	openTooLong = 24 * time.Hour
	maxFindings = 10 // of one check; the rest is counted
)

// checkWork looks at what runs have left.
func (d *doctor) checkWork(ctx context.Context, led *ledger.Ledger, runsDir string) error {
	d.checkStored(ctx, led)
	in, err := runner.Inspect(ctx, led, runsDir)
	if err != nil {
		return err
	}
	d.checkRunFiles(in)
	d.checkRuns(in)
	batches, err := led.Batches(ctx, "", "", "")
	if err != nil {
		return err
	}
	if err := d.checkMissed(batches); err != nil {
		return err
	}
	if err := d.checkArchives(batches); err != nil {
		return err
	}
	batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool { return !d.wants(b.TaskName) })
	if err := d.checkDoubts(ctx, led, batches); err != nil {
		return err
	}
	d.checkBatches(batches, in)
	return nil
}

func (d *doctor) checkRunFiles(in runner.Inspection) {
	for _, c := range in.Closed {
		d.bad("run files", noLedgerUse, c.Hint(), "the file of run %s can't be opened, so it counts as alive: %s", c.ID, c.Err)
	}
	if n := len(in.Unread); n > 0 {
		d.warn("run files", "they belong to another user", "%s can't be opened, and no run of this ledger needs them: %s", plural(int64(n), "run file"), someOf(in.Unread))
	}
	for i, f := range in.Foreign {
		switch {
		case f.Live:
			d.bad("run files", noLedgerUse, "put the ledger back that was here, or wait until that run has ended",
				"run %s is alive and works on another ledger that was at this place", f.RunID)
		case i < maxFindings:
			d.warn("run files", "remove it if that ledger is gone for good", "%s is of run %s of another ledger", f.Path, f.RunID)
		}
	}
	if len(in.Closed)+len(in.Unread)+len(in.Foreign) == 0 {
		d.ok("run files", "%s", plural(int64(len(in.Alive)+len(in.Dead)), "open run"))
	}
}

// checkRuns tells of dead runs and of what is left of their attempts.
func (d *doctor) checkRuns(in runner.Inspection) {
	var held int64
	var oldest time.Time
	for _, r := range in.Dead {
		held += r.Claims
		if oldest.IsZero() || r.StartedAt.Before(oldest) {
			oldest = r.StartedAt
		}
	}
	text := fmt.Sprintf("%s, holding %s; the oldest started %s ago", plural(int64(len(in.Dead)), "dead run"), plural(held, "record"), d.ago(oldest))
	hint := "the next run settles them; so does runner recover"
	switch {
	case held > 0:
		d.bad("dead runs", otherwise, hint, "%s", text)
	case len(in.Dead) > 0:
		d.warn("dead runs", hint, "%s", text)
	default:
		d.ok("dead runs", "none")
	}
	for i, s := range in.Survivors {
		if i == maxFindings {
			d.bad("survivors", stillAlive, "runner recover names them", "and %d more", len(in.Survivors)-i)
			break
		}
		d.bad("survivors", stillAlive, survivorHint(s, d.a.now()), "%s", survivorText(s, d.a.now()))
	}
	if len(in.Survivors) == 0 {
		d.ok("survivors", "none")
	}
	for i, l := range in.Leftovers {
		if i == maxFindings {
			d.warn("leftovers", "they block nothing", "and %d more", len(in.Leftovers)-i)
			break
		}
		d.warn("leftovers", fmt.Sprintf("it blocks nothing; kill %d ends it", l.PID), "an attempt of %s left pid %d behind", l.Key, l.PID)
	}
}

func survivorHint(s runner.Survivor, now time.Time) string {
	wait := "it ends by itself, or "
	if s.Overdue(now) {
		wait = "nobody is left to end it: "
	}
	if s.Group > 0 {
		return fmt.Sprintf("%srunner recover --kill ends it (kill -- -%d)", wait, s.Group)
	}
	return "look for it where that run was started"
}

func (d *doctor) checkDoubts(ctx context.Context, led *ledger.Ledger, batches []ledger.Batch) error {
	var n int64
	for _, b := range batches {
		n += b.Counts[ledger.InDoubt]
	}
	if n == 0 {
		d.ok("in doubt", "none")
		return nil
	}
	var wanted []string
	if len(d.names) > 0 {
		wanted = d.names
	}
	oldest, err := led.OldestDoubt(ctx, wanted)
	if err != nil {
		return err
	}
	if oldest == nil { // settled in the meantime
		d.ok("in doubt", "none")
		return nil
	}
	at := oldest.TaskName + " " + oldest.BizID + " --date " + oldest.ExecuteDate
	d.bad("in doubt", inDoubt, "runner ledger show "+at+", then runner ledger mark or rerun; runner recover asks checks",
		"%s; the oldest is %s %s of %s, started %s ago", plural(n, "record"), oldest.TaskName, oldest.BizID, oldest.ExecuteDate, d.ago(oldest.DoubtSince()))
	return nil
}

// checkBatches tells of batches that are open, and nobody works on them.
func (d *doctor) checkBatches(batches []ledger.Batch, in runner.Inspection) {
	worked := map[int64]bool{}
	for _, r := range in.Alive {
		worked[r.BatchID] = true
	}
	for _, r := range in.Closed {
		worked[r.BatchID] = true
	}
	slices.SortStableFunc(batches, func(a, b ledger.Batch) int { return a.CreatedAt.Compare(b.CreatedAt) })
	var idle []findingJSON
	for _, b := range batches {
		if !worked[b.ID] {
			idle = append(idle, d.idle(b)...)
		}
	}
	// What is bad comes first, so that it isn't what is only counted.
	slices.SortStableFunc(idle, func(a, b findingJSON) int { return strings.Compare(a.State, b.State) })
	if len(idle) == 0 {
		d.ok("batches", "none is open without a run that works on it")
	}
	if more := len(idle) - maxFindings; more > 0 {
		idle = append(idle[:maxFindings], findingJSON{Check: "batches", State: idle[maxFindings].State, facts: idle[maxFindings].facts,
			Found: fmt.Sprintf("and %d more", more), Hint: "runner status lists them"})
	}
	d.rows = append(d.rows, idle...)
}

// idle is what there is to say of a batch that nobody works on.
func (d *doctor) idle(b ledger.Batch) (found []findingJSON) {
	name, now := b.TaskName+" "+b.ExecuteDate, d.a.now()
	again := "runner rerun " + b.TaskName + " --date " + b.ExecuteDate + " --status pending"
	if d.where.task(b.TaskName) != nil {
		again = "runner run " + b.TaskName + " --date " + b.ExecuteDate
	}
	add := func(bad bool, format string, args ...any) {
		f := findingJSON{Check: "batches", State: stateWarn, Found: name + ": " + fmt.Sprintf(format, args...), Hint: again}
		if bad {
			f.State, f.facts = stateBad, otherwise
		}
		found = append(found, f)
	}
	var age string
	old := false
	if !b.CreatedAt.IsZero() {
		age = ", the oldest for " + d.ago(b.CreatedAt)
		old = now.Sub(b.CreatedAt) > openTooLong
	}
	if !b.HaltedAt.IsZero() {
		add(true, "halted %s ago: %s", d.ago(b.HaltedAt), oneLine(b.HaltReason))
	}
	if b.PausedUntil.After(now) {
		add(false, "paused until %s, as its action asked for", b.PausedUntil.In(d.where.zone).Format(time.RFC3339))
	}
	if runs := b.Planning(); len(runs) > 0 {
		add(old, "its plan was cut off with run %s, so it is not all there", strings.Join(runs, ", "))
	}
	if shards := b.Unplanned(); shards != "" {
		add(old, "nobody has planned shard %s, so it is not all there", shards)
	}
	if b.Open() > 0 {
		var open ledger.Counts
		open[ledger.Pending], open[ledger.Running] = b.Counts[ledger.Pending], b.Counts[ledger.Running]
		add(old, "%s, and nobody works on them%s", countWords(newCounts(open)), age)
	}
	return found
}
