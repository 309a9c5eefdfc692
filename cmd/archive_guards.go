package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"runner/ledger"
	"runner/ledger/archive"
	"runner/tasks"
)

// guardRemover removes the guards of sealed batches from the databases of their
// tasks. A nil one leaves them.
type guardRemover struct {
	where  located
	led    *ledger.Ledger
	dir    *archive.Folder
	dryRun bool
	opened map[string]*taskGuards
	stuck  []ledger.Batch // whose guards could not be removed
	why    error          // of the first
}

// taskGuards are those of one task.
type taskGuards struct {
	*tasks.Guards
	err error // the database can't be used: nothing more is tried
}

func newGuardRemover(where located, led *ledger.Ledger, dir *archive.Folder, dryRun bool) *guardRemover {
	return &guardRemover{where: where, led: led, dir: dir, dryRun: dryRun, opened: map[string]*taskGuards{}}
}

// batch removes the guards of a sealed batch, and says in its row what became
// of them. concerned tells whether there was anything to do.
func (g *guardRemover) batch(ctx context.Context, b ledger.Batch, row *archivedJSON) (concerned bool, err error) {
	if g == nil {
		return false, nil
	}
	if left, err := g.led.GuardsLeft(ctx, b); err != nil || !left {
		return false, err
	}
	task := g.where.task(b.TaskName)
	if task == nil || !task.Guarded() {
		return g.without(ctx, task, b, row)
	}
	if g.dryRun {
		row.Why = "it is sealed; its guards would be removed"
		return true, nil
	}
	t := g.of(ctx, task)
	err = t.err
	if err == nil {
		row.Guards, err = g.remove(ctx, t, b)
	}
	var file *archive.FileError
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return true, err
	case errors.Is(err, ledger.ErrMoved):
		row.Why = "its guards stay: " + err.Error()
		return true, nil
	case t.err == nil && (!errors.As(err, &file) || errors.Is(err, archive.ErrBusy)):
		return true, err
	}
	row.Why = "its guards stay: " + err.Error()
	if g.stuck = append(g.stuck, b); g.why == nil {
		g.why = err
	}
	return true, nil
}

// without is for a task of which nothing tells where its guards would be.
func (g *guardRemover) without(ctx context.Context, task *tasks.Task, b ledger.Batch, row *archivedJSON) (concerned bool, err error) {
	had, err := g.had(ctx, b)
	switch {
	case err != nil:
		return false, err
	case had && task == nil:
		row.Why = "its guards stay: the task is not in " + configName
		return true, nil
	case had:
		row.Why = "its guards stay: the task is no sql task with a guard any more"
		return true, nil
	case g.dryRun:
		return false, nil
	}
	err = g.led.GuardsRemoved(ctx, b) // so that its runs aren't read each time
	if errors.Is(err, ledger.ErrMoved) {
		err = nil
	}
	return false, err
}

// had tells whether a run of the batch may have left guards.
func (g *guardRemover) had(ctx context.Context, b ledger.Batch) (had bool, err error) {
	err = g.led.Store().View(ctx, func(r ledger.Reader) error {
		runs, err := r.Runs(ledger.RunQuery{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate})
		had = slices.ContainsFunc(runs, func(r ledger.Run) bool { return tasks.LeavesGuards(r.Definition) })
		return err
	})
	return had, err
}

// of connects to the database of a task, once.
func (g *guardRemover) of(ctx context.Context, task *tasks.Task) *taskGuards {
	t := g.opened[task.Name]
	if t == nil {
		t = &taskGuards{}
		t.Guards, t.err = task.OpenGuards(ctx)
		g.opened[task.Name] = t
	}
	return t
}

// remove looks before each part whether the batch is still sealed: on another
// host no lock keeps a restore away.
func (g *guardRemover) remove(ctx context.Context, t *taskGuards, b ledger.Batch) (n int64, err error) {
	err = g.dir.IDs(g.led, b, tasks.GuardPart, func(ids []string) error {
		now, err := batchOf(ctx, g.led, b.TaskName, b.ExecuteDate)
		if err != nil {
			return err
		}
		if now.SealedSum != b.SealedSum {
			return ledger.ErrMoved
		}
		removed, err := t.Remove(ctx, b.ExecuteDate, ids)
		n += removed
		t.err = err
		return err
	})
	if err != nil {
		return n, err
	}
	return n, g.led.GuardsRemoved(ctx, b)
}

// close ends the connections, and gives what went wrong.
func (g *guardRemover) close() error {
	if g == nil {
		return nil
	}
	for _, t := range g.opened {
		if t.Guards != nil {
			_ = t.Close() // nothing is open on it
		}
	}
	if len(g.stuck) == 0 {
		return nil
	}
	more := ""
	if n := len(g.stuck) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	// Not wrapped: all else was done, so it is no error of usage.
	err := fmt.Errorf("the guards of %s %s%s could not be removed: %v", g.stuck[0].TaskName, g.stuck[0].ExecuteDate, more, g.why)
	return withHint(err, "%s", cmp.Or(hintOf(g.why), "nothing is lost; the same command goes on"))
}

// columns tell of guards where they were asked for.
func (o *archiveOptions) columns() []column[archivedJSON] {
	if !o.guards {
		return archiveColumns
	}
	return slices.Insert(slices.Clone(archiveColumns), 4, column[archivedJSON]{name: "GUARDS", cell: func(r archivedJSON) string {
		if r.Result == "kept" || r.Result == "dry_run" {
			return ""
		}
		return strconv.FormatInt(r.Guards, 10)
	}})
}
