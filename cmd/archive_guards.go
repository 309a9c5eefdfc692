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
	had, elsewhere, err := leftGuards(ctx, g.led, task, b)
	switch {
	case err != nil || !had:
		return false, err
	case elsewhere != "":
		row.Why = "its guards stay: " + elsewhere
		return true, nil
	case g.dryRun:
		row.Why = "it is sealed; its guards would be removed"
		return true, nil
	}
	t := g.of(ctx, task)
	err = t.err
	if err == nil {
		row.Guards, err = g.remove(ctx, t, b)
	}
	return true, g.tell(ctx, t, b, row, err)
}

// tell says in a row why guards stay, unless err ends the whole.
func (g *guardRemover) tell(ctx context.Context, t *taskGuards, b ledger.Batch, row *archivedJSON, err error) error {
	var file *archive.FileError
	moved := errors.Is(err, ledger.ErrMoved)
	passes := moved || t.err != nil || errors.As(err, &file) && !errors.Is(err, archive.ErrBusy)
	if err == nil || ctx.Err() != nil || !passes {
		return err
	}
	row.Why = "its guards stay: " + err.Error()
	if moved {
		return nil
	}
	if g.stuck = append(g.stuck, b); g.why == nil {
		g.why = err
	}
	return nil
}

// leftGuards tells whether runs of a batch may have left guards, and why they
// aren't, all of them, where the task would leave them now; empty if they are.
// The configuration may be that of another project, which has others there.
func leftGuards(ctx context.Context, led *ledger.Ledger, task *tasks.Task, b ledger.Batch) (had bool, elsewhere string, err error) {
	var runs []ledger.Run
	err = led.Store().View(ctx, func(r ledger.Reader) (err error) {
		runs, err = r.Runs(ledger.RunQuery{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate})
		return err
	})
	for _, r := range runs {
		at, left, err := tasks.LeftGuards(r.Definition)
		switch {
		case !left:
			continue
		case task == nil:
			return true, "the task is not in " + configName, nil
		case !task.Guarded():
			return true, "the task is no sql task with a guard any more", nil
		case err != nil:
			return true, fmt.Sprintf("nobody knows where the run %s left some: %v", r.ID, err), nil
		}
		had = true
		switch now := task.GuardPlace(); {
		case at.Namespace != now.Namespace:
			return true, fmt.Sprintf("a run left some in the namespace %q, and %s says %q", at.Namespace, configName, now.Namespace), nil
		case at.Database != now.Database:
			return true, fmt.Sprintf("a run left some in %s, and %s says %s", at.Database, configName, now.Database), nil
		}
	}
	return had, "", err
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
	if err := g.led.GuardsBegun(ctx, b); err != nil {
		return 0, err
	}
	err = g.dir.Effects(ctx, g.led, b, tasks.GuardPart, func(part []archive.Effect) error {
		if err := g.led.StillSealed(ctx, b); err != nil {
			return err
		}
		removed, err := t.Remove(ctx, b.ExecuteDate, b.SealedSum, effects(part))
		n += removed
		t.err = err
		return err
	})
	if err != nil {
		return n, err
	}
	return n, g.led.GuardsRemoved(ctx, b)
}

func effects(part []archive.Effect) []tasks.Effect {
	all := make([]tasks.Effect, len(part))
	for i, e := range part {
		all[i] = tasks.Effect(e)
	}
	return all
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
