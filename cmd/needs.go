package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/runner"
	"runner/tasks"
)

// blockJSON is a task that must be complete on a date, and isn't. Its names
// are an interface: they only grow.
type blockJSON struct {
	TaskName    string `json:"task_name"`
	ExecuteDate string `json:"execute_date"`
	State       string `json:"state"` // missing or incomplete
	Why         string `json:"why"`
}

// blockWords names what is missing, with why.
func blockWords(blocks []blockJSON) string {
	words := make([]string, len(blocks))
	for i, b := range blocks {
		words[i] = b.TaskName + " " + b.ExecuteDate + " (" + b.Why + ")"
	}
	return strings.Join(words, ", ")
}

// blocks gives what keeps a task from running on a date. led is nil where
// there is no ledger.
func blocks(ctx context.Context, led *ledger.Ledger, needs []tasks.Need, date string) (list []blockJSON, err error) {
	needs = slices.DeleteFunc(slices.Clone(needs), func(n tasks.Need) bool { return !n.Holds(date) })
	if led == nil {
		for _, n := range needs {
			list = append(list, blockJSON{n.Task, n.Date(date), stateMissing, "it never ran"})
		}
		return list, nil
	}
	err = led.Store().View(ctx, func(r ledger.Reader) error {
		list = nil // the store may call this again
		for _, n := range needs {
			b, err := r.Batch(n.Task, n.Date(date))
			switch {
			case errors.Is(err, ledger.ErrNotFound):
				list = append(list, blockJSON{n.Task, n.Date(date), stateMissing, "it never ran"})
			case err != nil:
				return err
			case !b.Complete():
				row := statusJSON{Counts: newCounts(b.Counts), OpenPlan: len(b.Planning()) > 0, Unplanned: b.Unplanned(), HaltedAt: stamp{b.HaltedAt}, HaltReason: b.HaltReason}
				list = append(list, blockJSON{n.Task, b.ExecuteDate, "incomplete", whyIncomplete(row)})
			}
		}
		return nil
	})
	return list, err
}

// The needs of a run are looked at again after a pause that grows, for nobody
// tells when another task has become complete.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
)

// waitForNeeds gives for each date what keeps the task from running on it,
// after a wait for that. What the run itself does first, on another date, is
// not waited for.
func (a *app) waitForNeeds(ctx context.Context, where located, t *tasks.Task, dates []string, wait time.Duration) (map[string][]blockJSON, error) {
	switch {
	case wait < 0:
		return nil, usagef("--wait-needs %s is negative", wait)
	case len(t.Needs) == 0:
		return nil, nil
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		blocked, err := a.blocked(ctx, where, t, dates)
		if err != nil || len(blocked) == 0 || wait == 0 {
			return blocked, causeOf(ctx, err)
		}
		if pause == firstLook {
			first := dates[slices.IndexFunc(dates, func(d string) bool { return blocked[d] != nil })]
			a.p.note("%s %s waits for %s, at most %s", t.Name, first, blockWords(blocked[first]), wait)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-end.C:
			wait = 0 // one last look
		case <-time.After(pause):
		}
	}
}

func (a *app) blocked(ctx context.Context, where located, t *tasks.Task, dates []string) (map[string][]blockJSON, error) {
	led, err := a.openReader(ctx, where)
	if errors.Is(err, ledger.ErrNoLedger) {
		led, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if led != nil {
		defer led.Close() // it was only read
	}
	blocked := map[string][]blockJSON{}
	for _, date := range dates {
		others := slices.DeleteFunc(slices.Clone(t.Needs), func(n tasks.Need) bool {
			return n.Task == t.Name && slices.Contains(dates, n.Date(date))
		})
		list, err := blocks(ctx, led, others, date)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			blocked[date] = list
		}
	}
	return blocked, nil
}

// block is the run of a job that may not begin: nothing is planned, nothing
// noted in the ledger, no attempt used.
func (a *app) block(where located, j job, by []blockJSON) (runner.Summary, summaryJSON) {
	now := a.now().UTC()
	s := runner.Summary{
		TaskName: j.task.Name, ExecuteDate: j.date, TimeZone: where.zoneName, Result: runner.Blocked,
		StartedAt: now, EndedAt: now,
	}
	row := newSummary(s, nil)
	row.BlockedBy = by
	return s, row
}

// sayBlocked says once what is blocked. What each of several needs stands in
// its summary.
func (a *app) sayBlocked(blocked []job) {
	if len(blocked) == 0 {
		return
	}
	by := blocked[0].blocked
	msg := blocked[0].task.Name + " " + blocked[0].date + " is blocked: it needs " + blockWords(by)
	if len(blocked) > 1 {
		names := make([]string, len(blocked))
		for i, j := range blocked {
			names[i] = j.task.Name + " " + j.date
		}
		msg = fmt.Sprintf("%d batches are blocked by what they need: %s", len(blocked), someOf(names))
	}
	a.p.problem(msg, "runner status "+shellWord(by[0].TaskName)+" --date "+by[0].ExecuteDate+a.sameFlags()+" tells more; --wait-needs 30m waits for it")
}

// waitToRerun is waitForNeeds for the one date of a rerun.
func (a *app) waitToRerun(ctx context.Context, where located, t *tasks.Task, date string, wait time.Duration) ([]blockJSON, error) {
	waiting, stop := interruptible(ctx)
	defer stop()
	blocked, err := a.waitForNeeds(waiting, where, t, []string{date}, wait)
	return blocked[date], err
}

// waitNeeds is the flag --wait-needs.
type waitNeeds struct{ limit time.Duration }

func (w *waitNeeds) addFlag(c *cobra.Command) {
	c.Flags().DurationVar(&w.limit, "wait-needs", 0, "wait at most `TIME` until the tasks that this one needs are complete")
}

// unless gives the limit, and nothing for a dry run, which says how it is now.
func (w waitNeeds) unless(dry bool) time.Duration {
	if dry {
		return 0
	}
	return w.limit
}
