package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"runner/ledger"
	"runner/runner"
	"runner/tasks"
)

// chosen is the records of one task that are to be rerun.
type chosen struct {
	task  ledger.Selection
	def   runner.Task
	batch int64
	ids   []int64
	names []string              // biz_ids in the order of ids, for fresh input
	asks  map[ledger.Status]int // how many would only be rerun if a person insists
	fresh []ledger.Input        // the payloads to take
}

// tasksOn names the tasks that have records on a date.
func tasksOn(ctx context.Context, led *ledger.Ledger, date string) (names []string, err error) {
	batches, err := led.Batches(ctx, "", date, date)
	for _, b := range batches {
		if b.Sealed() { // nothing of it failed
			continue
		}
		names = append(names, b.TaskName)
	}
	return names, err
}

// choose picks the records of a task and asks the rules what they say.
func (a *app) choose(ctx context.Context, where located, led *ledger.Ledger, sel ledger.Selection, o rerunOptions) (chosen, error) {
	p := chosen{task: sel, asks: map[ledger.Status]int{}}
	var refused error
	d := ledger.Decision{Generation: sel.Generation}
	err := eachChosen(ctx, led, sel, func(page []ledger.Entry) (err error) {
		if len(p.ids) == 0 {
			p.batch = page[0].BatchID
			if p.def, err = a.definition(ctx, where, led, sel, o.jobs); err != nil {
				return err
			}
		}
		for _, e := range page {
			p.ids = append(p.ids, e.ID)
			if o.freshInput {
				p.names = append(p.names, e.BizID)
				_, err = ledger.Refresh(e, e.Payload, d, p.def.Policy)
			} else {
				_, err = ledger.Rerun(e, d, p.def.Policy)
			}
			var r *ledger.RefusedError
			switch {
			case errors.As(err, &r) && r.Asks:
				p.asks[e.Status]++
			case err != nil && refused == nil:
				refused = err
			}
		}
		return nil
	})
	if err == nil {
		err = refused
	}
	return p, err
}

// definition is what the configuration says of a task, else what its last run
// stored.
func (a *app) definition(ctx context.Context, where located, led *ledger.Ledger, sel ledger.Selection, jobs int) (t runner.Task, err error) {
	if ct := where.task(sel.TaskName); ct != nil {
		t, err = ct.Build(jobs)
		return t, prepared(t, err)
	}
	run, err := led.Definition(ctx, sel.TaskName, sel.ExecuteDate)
	if err != nil {
		return t, err
	}
	var d runner.Definition
	if err := json.Unmarshal(run.Definition, &d); err != nil {
		return t, fmt.Errorf("definition of run %s: %w", run.ID, err)
	}
	t, err = tasks.FromDefinition(sel.TaskName, d, jobs)
	return t, prepared(t, err)
}

// task is a task of the configuration; nil if it isn't there.
func (l located) task(name string) *tasks.Task {
	if l.config != nil {
		for _, t := range l.config.Tasks {
			if t.Name == name {
				return t
			}
		}
	}
	return nil
}

func prepared(t runner.Task, err error) error {
	if err == nil {
		err = t.Action.Prepare()
	}
	if err != nil {
		return asUsage(err)
	}
	return nil
}

// insist asks, where the rules want a person to.
func (a *app) insist(ctx context.Context, o rerunOptions, picks []chosen) (bool, error) {
	var lines []string
	for _, p := range picks {
		if n := p.asks[ledger.InDoubt] + p.asks[ledger.Skipped]; n > 0 {
			lines = append(lines, fmt.Sprintf("may have taken effect already, and would be repeated: %s of %s", plural(int64(n), "record"), p.task.TaskName))
		}
		if n := p.asks[ledger.Done]; n > 0 {
			lines = append(lines, fmt.Sprintf("already done, and would be done again with a new idempotency key: %s of %s", plural(int64(n), "record"), p.task.TaskName))
		}
	}
	if len(lines) == 0 || o.yes || o.dryRun {
		return o.yes, nil
	}
	err := a.confirm(ctx, lines)
	return err == nil, err
}

// readFresh reads a task's source through and takes what it now says of the
// chosen records.
func (a *app) readFresh(where located, p *chosen) error {
	t := where.task(p.task.TaskName)
	if t == nil {
		return withHint(usagef("--fresh-input: %s is not in runner.yaml, so its source isn't known", p.task.TaskName), "--config FILE names the configuration")
	}
	src, err := t.Source(p.task.ExecuteDate, a.stdin)
	if err != nil {
		return asUsage(err)
	}
	defer src.Close() // it was only read
	if _, err := runner.ReadThrough(src, runner.Shard{}, true); err != nil {
		return err
	}
	at := make(map[string]int, len(p.names))
	for i, name := range p.names {
		at[name] = i
	}
	p.fresh = make([]ledger.Input, len(p.names))
	for item, err := range src.Records() {
		if err != nil {
			return err
		}
		if i, ok := at[item.BizID]; ok {
			p.fresh[i] = ledger.Input{BizID: item.BizID, Payload: item.Payload}
		}
	}
	var missing []string
	for i, in := range p.fresh {
		if in.BizID == "" {
			missing = append(missing, p.names[i])
		}
	}
	if len(missing) > 0 {
		return &runner.PlaceError{
			Name: src.Name(), Msg: "it holds no record with biz_id " + someOf(missing),
			Hint: "without --fresh-input they go on with the fields they had",
		}
	}
	return nil
}
