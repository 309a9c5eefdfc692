package cmd

import (
	"context"
	"errors"
	"fmt"

	"runner/ledger"
	"runner/ledger/archive"
	"runner/tasks"
)

// putBackGuards makes the removal of the guards of a sealed batch, or of some,
// undone: from then on what isn't done of it may be done, and to tell it from
// what was takes all guards. d is locked.
func (a *app) putBackGuards(ctx context.Context, where located, led *ledger.Ledger, d *archive.Folder, b ledger.Batch) error {
	if touched, err := led.GuardsTouched(ctx, b); err != nil || !touched {
		return err
	}
	task := where.task(b.TaskName)
	had, elsewhere, err := leftGuards(ctx, led, task, b)
	switch {
	case err != nil || !had:
		return err
	case elsewhere != "":
		return noGuardsBack(b, errors.New(elsewhere))
	}
	if err := led.GuardsBegun(ctx, b); err != nil { // removed again if the restore is given up
		return err
	}
	g, err := task.OpenGuards(ctx)
	if err != nil {
		return noGuardsBack(b, err)
	}
	defer g.Close() // nothing is open on it
	var refused error
	err = d.Effects(ctx, led, b, tasks.GuardPart, func(part []archive.Effect) error {
		refused = g.PutBack(ctx, b.ExecuteDate, effects(part))
		return refused
	})
	if err == nil {
		refused = g.AllBack(ctx, b.ExecuteDate, b.SealedSum)
	}
	if refused != nil && ctx.Err() == nil {
		return noGuardsBack(b, refused)
	}
	return errors.Join(err, ctx.Err())
}

// noGuardsBack is no error of usage: the database may be there again.
func noGuardsBack(b ledger.Batch, why error) error {
	return withHint(fmt.Errorf("the guards of %s %s were removed, and can't be put back: %v", b.TaskName, b.ExecuteDate, why),
		"the batch is sealed as before; with --without-guards it is restored, and what is tried of it and has no guard comes in doubt")
}
