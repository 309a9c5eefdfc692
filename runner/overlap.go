package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"runner/ledger"
)

// DefinitionError says that a live run works on the batch by another
// definition of the task.
type DefinitionError struct {
	Task, RunID string
	Differs     []string // what does: keys of the definition, some with both values
	Places      bool     // nothing but folders does
}

func (e *DefinitionError) Error() string {
	text := fmt.Sprintf("task %s is defined otherwise than in run %s, which works on the same batch", e.Task, e.RunID)
	if len(e.Differs) > 0 {
		text += ": " + strings.Join(e.Differs, ", ")
	}
	return text
}

// Hint is the next step.
func (e *DefinitionError) Hint() string {
	if e.Places {
		return "put the project at the same path on all hosts, or add --accept-definition if what runs there is the same"
	}
	return "wait until that run has ended, or add --accept-definition"
}

// Hint is what makes the file of a closed run readable.
func (c ClosedRun) Hint() string {
	if c.Owner == "" {
		return "run as the user that started that run"
	}
	return "it belongs to " + c.Owner + ": run as " + c.Owner + ", or chown -R the ledger's folder to the user that is to run"
}

// meetOthers looks at the live runs of the batch that began before this one,
// and tells whether this one leaves the batch to them. Of two that begin at
// once, the one with the higher number is the second.
func (e *engine) meetOthers(ctx context.Context) (yields bool, err error) {
	if yields, err = e.yields(); !yields && err == nil || e.Source == nil {
		return yields, err
	}
	return yields, errors.Join(err, e.led.EndPlan(ctx, e.row, false))
}

func (e *engine) yields() (yields bool, err error) {
	for _, run := range e.others {
		if run.TaskName != e.Task.Name || run.ExecuteDate != e.Date || run.No > e.row.No {
			continue
		}
		if run.Digest != e.row.Digest && !e.AcceptDefinition {
			d := compareDefinitions(e.row.Definition, run.Definition)
			return false, &DefinitionError{e.Task.Name, run.ID, d.keys, d.places}
		}
		if e.Task.Overlap == Skip || e.Task.Overlap == Fail {
			e.sum.HeldBy = append(e.sum.HeldBy, run.ID)
			yields = true
		}
	}
	e.busyLeft = yields
	e.sum.Yielded = yields && e.Task.Overlap == Skip
	return yields, nil
}

// joins tells whether live runs work on the same batch.
func (e *engine) joins() bool {
	return slices.ContainsFunc(e.others, func(r ledger.Run) bool { return r.TaskName == e.Task.Name && r.ExecuteDate == e.Date })
}

// tooMany tells whether more attempts of this run ended badly than its task
// tolerates.
func (e *engine) tooMany() bool {
	t := e.Task.MaxFailures
	switch {
	case !t.Limited:
		return false
	case t.Percent > 0:
		return e.attempts >= minAttempts && float64(e.bad)*100 > t.Percent*float64(e.attempts)
	}
	return e.bad > t.Count
}

// minAttempts is how many attempts must have ended before a share of them
// means anything.
const minAttempts = 20

// judgeAttempt counts an attempt that has ended, and halts the run when too
// many ended badly.
func (e *engine) judgeAttempt(r ledger.Report) {
	if r.Phase != ledger.Act || r.Outcome == ledger.NotStarted || r.Outcome == ledger.AskedLater {
		return
	}
	e.attempts++
	if r.Outcome != ledger.Succeeded {
		e.bad++
	}
	if e.tooMany() {
		e.halt(fmt.Sprintf("max_failures: %d of %d attempts failed or are in doubt", e.bad, e.attempts))
	}
}
