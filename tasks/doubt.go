package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/output"
)

// doubts is what a task says of records in doubt.
type doubts struct {
	check      *probe // nil: none
	compensate *probe // nil: none
	checkAfter bool   // it says from when on absent is believed
	byGuard    bool   // the check is that of the action itself, and isn't stored
}

// doubts takes what the task says of records in doubt, its action being known.
func (c *checker) doubts(f *taskFile, p *plan) {
	for _, k := range []struct {
		key, needs string
		value      any
		given      bool
	}{
		{"check_after", "check", &f.CheckAfter, c.doc.Has(&f.Check)},
		{"check_first", "check", &f.CheckFirst, c.doc.Has(&f.Check)},
		{"check_timeout", "check", &f.CheckTimeout, c.doc.Has(&f.Check)},
		{"compensate", "check", &f.Compensate, c.doc.Has(&f.Check)},
		{"compensate_timeout", "compensate", &f.CompensateTimeout, c.doc.Has(&f.Compensate)},
	} {
		if c.doc.Has(k.value) && !k.given {
			c.doc.Report(fmt.Sprintf("%q needs a %q", k.key, k.needs), needsHints[k.key], k.value)
		}
	}
	if c.doc.Has(&f.Compensate) {
		p.doubts.compensate, p.policy.Compensate = c.probe("compensate", f, &f.Compensate), true
	}
	c.probeTimeout("check_timeout", &f.CheckTimeout, &p.policy.CheckTimeout)
	c.probeTimeout("compensate_timeout", &f.CompensateTimeout, &p.policy.CompensateTimeout)
	if p.takeGuard() {
		if c.doc.Has(&f.Check) {
			c.doc.Report("a guarded action has its own check", "leave it out, or turn the guard off: guard: off", &f.Check)
		}
		return
	}
	if !c.doc.Has(&f.Check) {
		return
	}
	p.doubts.check, p.policy.Check = c.probe("check", f, &f.Check), true
	p.doubts.checkAfter = c.doc.Has(&f.CheckAfter)
	p.policy.CheckFirst, p.policy.CheckAfter = f.CheckFirst, time.Duration(f.CheckAfter)
	if !p.believe() {
		c.doc.Report(`with "timeout" 0 a task with a check must give "check_after"`,
			"it is how long after an attempt its effect may still appear", &f.Timeout)
	}
}

// takeGuard makes the guard of an action the check of the task, if it has one.
// It waits for whatever may still take effect, so absent is believed at once.
func (p *plan) takeGuard() bool {
	g, ok := p.spec.(guarded)
	if !ok || g.guard() == nil {
		return false
	}
	p.doubts.check, p.doubts.checkAfter, p.doubts.byGuard = &probe{p.kind, g.guard()}, true, true
	p.policy.Check, p.policy.Idempotent, p.policy.CheckAfter = true, true, 0
	return true
}

var needsHints = map[string]string{"compensate": "only a check can tell that half an effect is there, and that none is left of it"}

// probeTimeout takes a timeout that is never "none": one that hangs would hold
// its record for ever, and nobody else could ask.
func (c *checker) probeTimeout(key string, d *Duration, into *time.Duration) {
	if !c.doc.Has(d) {
		return
	}
	if *into = time.Duration(*d); *d == 0 {
		c.doc.Report(fmt.Sprintf("%q must be more than 0", key), "a check that hangs would hold its record for ever", d)
	}
}

// believe sets from when on a check is believed that an effect is absent,
// where the task doesn't say: at once after a command, of which nothing is
// left then; else when the other side has certainly given up too. It tells
// whether there is such a time.
func (p *plan) believe() bool {
	if p.doubts.check == nil || p.doubts.checkAfter {
		return true
	}
	p.policy.CheckAfter = 0
	if k := kindOf(p.kind); k != nil && k.lingers {
		p.policy.CheckAfter = p.policy.Timeout
	}
	return p.policy.Timeout > 0
}

// SetTimeout replaces the task's timeout for the tasks that Build makes from
// now on. It refuses 0, none, for a task with a check that doesn't say
// check_after.
func (t *Task) SetTimeout(d time.Duration) error {
	t.plan.policy.Timeout = d
	if !t.plan.believe() {
		return &HintError{
			Msg:  fmt.Sprintf("task %s has a check and no check_after, so it can't do without a timeout", t.Name),
			Hint: "give it check_after: how long after an attempt its effect may still appear",
		}
	}
	return nil
}

// actions adds the check and the compensation to a task. Its action is from
// then on prepared and closed together with them.
func (d doubts) actions(t *runner.Task, sur surroundings) {
	if d.check == nil {
		return
	}
	t.Check = d.check.spec.inPhase(ledger.Check, sur)
	all := companions{Action: t.Action, check: t.Check, checkName: ledger.Check.String()}
	if d.byGuard {
		all.checkName = "guard" // the task has no check that somebody could look for
	}
	if d.compensate != nil {
		t.Compensate = d.compensate.spec.inPhase(ledger.Compensate, sur)
		all.compensate = t.Compensate
	}
	t.Action = all
}

// companions is an action with those that belong to it: nothing is planned
// unless all can be started.
type companions struct {
	runner.Action
	check, compensate runner.Action // nil: none
	checkName         string
}

func (c companions) Prepare() error {
	if err := c.Action.Prepare(); err != nil {
		return err
	}
	if err := c.check.Prepare(); err != nil {
		return fmt.Errorf("%s: %w", c.checkName, err)
	}
	if c.compensate == nil {
		return nil
	}
	if err := c.compensate.Prepare(); err != nil {
		return fmt.Errorf("%s: %w", ledger.Compensate, err)
	}
	return nil
}

// Close removes what all of them needed for their attempts.
func (c companions) Close() error {
	var errs []error
	for _, a := range []runner.Action{c.Action, c.check, c.compensate} {
		if own, ok := a.(io.Closer); ok {
			errs = append(errs, own.Close())
		}
	}
	return errors.Join(errs...)
}

// store puts the check and the compensation into a definition, masked.
func (d doubts) store(def *runner.Definition, mask *output.Masker) error {
	for _, p := range []struct {
		probe *probe
		kind  *string
		into  *json.RawMessage
	}{{d.check, &def.CheckKind, &def.Check}, {d.compensate, &def.CompensateKind, &def.Compensate}} {
		if p.probe == nil || p.probe == d.check && d.byGuard {
			continue
		}
		stored, incomplete := p.probe.spec.masked(mask)
		text, err := json.Marshal(stored)
		if err != nil {
			return err
		}
		*p.kind, *p.into, def.Incomplete = p.probe.kind, text, def.Incomplete || incomplete
	}
	return nil
}

// storedDoubts is the inverse of doubts.store.
func storedDoubts(def *runner.Definition, action spec) (d doubts, err error) {
	if g, ok := action.(guarded); ok && def.Check == nil && g.guard() != nil {
		return doubts{check: &probe{def.Kind, g.guard()}, checkAfter: true, byGuard: true}, nil
	}
	for _, p := range []struct {
		name string
		has  bool
		kind string
		text json.RawMessage
		into **probe
	}{
		{"check", def.Policy.Check, def.CheckKind, def.Check, &d.check},
		{"compensate", def.Policy.Compensate, def.CompensateKind, def.Compensate, &d.compensate},
	} {
		if !p.has {
			continue
		}
		if *p.into, err = storedProbe(p.kind, p.text); err != nil {
			return d, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	d.checkAfter = true // whatever it is, the policy says it
	return d, nil
}
