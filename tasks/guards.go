package tasks

import (
	"context"
	"encoding/json"

	"runner/runner"
	"runner/tasks/internal/output"
	"runner/tasks/internal/sqlaction"
)

// guardKeeper is a spec that leaves a guard beside each effect.
type guardKeeper interface {
	guarded
	// guards opens them.
	guards(ctx context.Context, task, namespace string) (*sqlaction.Guards, error)
}

// keepsGuards gives the spec if it leaves guards; else nil.
func keepsGuards(s spec) guardKeeper {
	if k, ok := s.(guardKeeper); ok && k.guard() != nil {
		return k
	}
	return nil
}

// Guarded tells whether the task leaves guards in its database.
func (t *Task) Guarded() bool { return keepsGuards(t.plan.spec) != nil }

// LeavesGuards tells whether a run with this stored definition may have left
// guards in a database: also if it can't be read, for a later version wrote it.
func LeavesGuards(definition []byte) bool {
	var d runner.Definition
	if json.Unmarshal(definition, &d) != nil || kindOf(d.Kind) == nil {
		return true
	}
	s, err := kindOf(d.Kind).stored(d.Action)
	return err != nil || keepsGuards(s) != nil
}

// Guards removes the guards of a task. All that it says is masked.
type Guards struct {
	inner *sqlaction.Guards
	mask  *output.Masker
}

// GuardPart is how many records' guards Remove takes at a time, at most.
const GuardPart = sqlaction.GuardPart

// OpenGuards connects to the database in which a guarded task leaves guards.
func (t *Task) OpenGuards(ctx context.Context) (*Guards, error) {
	g := &Guards{mask: t.plan.masker()}
	var err error
	if g.inner, err = keepsGuards(t.plan.spec).guards(ctx, t.Name, t.plan.namespace); err != nil {
		return nil, sqlError(err, g.mask)
	}
	return g, nil
}

// Remove removes the guards of records on an execute date, of all their
// generations, and tells how many there were.
func (g *Guards) Remove(ctx context.Context, date string, ids []string) (int64, error) {
	n, err := g.inner.Remove(ctx, date, ids)
	if err != nil && ctx.Err() == nil {
		err = sqlError(err, g.mask)
	}
	return n, err
}

// Close ends its connection.
func (g *Guards) Close() error { return g.inner.Close() }

func (s sqlSpec) guards(ctx context.Context, task, namespace string) (*sqlaction.Guards, error) {
	return sqlaction.OpenGuards(ctx, sqlaction.GuardOptions{Address: s.expanded, Dir: s.Dir, Namespace: namespace, Task: task})
}
