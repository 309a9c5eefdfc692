package tasks

import (
	"context"
	"encoding/json"
	"fmt"

	"runner/runner"
	"runner/tasks/internal/output"
	"runner/tasks/internal/sqlaction"
)

// guardKeeper is a spec that leaves a guard beside each effect.
type guardKeeper interface {
	guarded
	// guards opens them.
	guards(ctx context.Context, task, namespace string) (*sqlaction.Guards, error)
	// place is the database in which they lie, for people and to compare.
	place() string
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

// GuardPlace is where guards lie. Where a variable names the database, its name
// stands for it.
type GuardPlace struct{ Namespace, Database string }

// GuardPlace is where a guarded task leaves guards now.
func (t *Task) GuardPlace() GuardPlace {
	stored, _ := t.plan.spec.masked(t.plan.masker()) // as definitions have it
	return GuardPlace{t.plan.namespace, stored.(guardKeeper).place()}
}

// LeftGuards tells whether a run with this stored definition may have left
// guards in a database, and where. It fails if the definition can't be read: a
// later version wrote it.
func LeftGuards(definition []byte) (at GuardPlace, left bool, err error) {
	var d runner.Definition
	if err := json.Unmarshal(definition, &d); err != nil {
		return at, true, err
	}
	kind := kindOf(d.Kind)
	if kind == nil {
		return at, true, fmt.Errorf("its kind %q is unknown", d.Kind)
	}
	s, err := kind.stored(d.Action)
	if err != nil {
		return at, true, err
	}
	k := keepsGuards(s)
	if k == nil {
		return at, false, nil
	}
	return GuardPlace{d.Namespace, k.place()}, true, nil
}

// Effect is what a guard stands for, on an execute date.
type Effect = sqlaction.Effect

// Guards removes the guards of a task, and puts them back. All that it says is
// masked.
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

// Remove removes the guards of effects on an execute date, and of the same of
// lower generations, and tells how many there were. That they were removed under
// a seal is left there for ledgers that don't know it.
func (g *Guards) Remove(ctx context.Context, date, seal string, effects []Effect) (int64, error) {
	n, err := g.inner.Remove(ctx, date, seal, effects)
	return n, g.masked(ctx, err)
}

// PutBack makes sure that there are the guards of effects on an execute date,
// and of their lower generations.
func (g *Guards) PutBack(ctx context.Context, date string, effects []Effect) error {
	return g.masked(ctx, g.inner.PutBack(ctx, date, effects))
}

// AllBack takes out that guards of an execute date were removed under a seal.
func (g *Guards) AllBack(ctx context.Context, date, seal string) error {
	return g.masked(ctx, g.inner.AllBack(ctx, date, seal))
}

func (g *Guards) masked(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return sqlError(err, g.mask)
}

// Close ends its connection.
func (g *Guards) Close() error { return g.inner.Close() }

func (s sqlSpec) guards(ctx context.Context, task, namespace string) (*sqlaction.Guards, error) {
	return sqlaction.OpenGuards(ctx, sqlaction.GuardOptions{Address: s.expanded, Dir: s.Dir, Namespace: namespace, Task: task})
}

func (s sqlSpec) place() string { return sqlaction.Place(s.Address, s.Dir) }
