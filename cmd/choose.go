package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"runner/ledger"
	"runner/runner"
	"runner/tasks"
)

// chosen is the records of one task that are to be rerun.
type chosen struct {
	task ledger.Selection
	def  runner.Task
	ids  []int64
	asks map[ledger.Status]int // how many would only be rerun if a person insists
}

// tasksOn names the tasks that have records on a date.
func tasksOn(ctx context.Context, led *ledger.Ledger, date string) (names []string, err error) {
	err = led.Store().View(ctx, func(r ledger.Reader) error {
		batches, err := r.Batches("", date)
		for _, b := range batches {
			names = append(names, b.TaskName)
		}
		return err
	})
	return names, err
}

// choose picks the records of a task and asks the rules what they say.
func (a *app) choose(ctx context.Context, where located, led *ledger.Ledger, sel ledger.Selection, o rerunOptions) (chosen, error) {
	p := chosen{task: sel, asks: map[ledger.Status]int{}}
	var refused error
	var entries []ledger.Entry
	err := led.Select(ctx, sel, func(page []ledger.Entry) error {
		for _, e := range page {
			p.ids = append(p.ids, e.ID)
			if e.Status != ledger.Failed && e.Status != ledger.Pending {
				entries = append(entries, e)
			}
		}
		return nil
	})
	if errors.Is(err, ledger.ErrNotFound) {
		return p, unknownBatch(sel)
	}
	if err != nil || len(p.ids) == 0 {
		return p, err
	}
	if p.def, err = a.definition(ctx, where, led, sel, o.jobs); err != nil {
		return p, err
	}
	for _, e := range entries {
		_, err := ledger.Rerun(e, ledger.Decision{Generation: sel.Generation}, p.def.Policy)
		var r *ledger.RefusedError
		switch {
		case errors.As(err, &r) && r.Asks:
			p.asks[e.Status]++
		case err != nil && refused == nil:
			refused = err
		}
	}
	return p, refused
}

// unknownBatch: without named ids nothing matches, and that is no error.
func unknownBatch(sel ledger.Selection) error {
	if len(sel.BizIDs) == 0 {
		return nil
	}
	return withHint(usagef("%s has no records on %s", sel.TaskName, sel.ExecuteDate), "runner ledger ls --date %s lists those there are", sel.ExecuteDate)
}

// definition is what the configuration says of a task, else what its last run
// stored.
func (a *app) definition(ctx context.Context, where located, led *ledger.Ledger, sel ledger.Selection, jobs int) (t runner.Task, err error) {
	if where.config != nil {
		for _, ct := range where.config.Tasks {
			if ct.Name == sel.TaskName {
				t, err = ct.Build(jobs)
				return t, prepared(t, err)
			}
		}
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
func (a *app) insist(o rerunOptions, picks []chosen) (bool, error) {
	var lines []string
	for _, p := range picks {
		if n := p.asks[ledger.InDoubt]; n > 0 {
			lines = append(lines, fmt.Sprintf("%s of %s may have taken effect already, and would be repeated", plural(int64(n), "record"), p.task.TaskName))
		}
		if n := p.asks[ledger.Done]; n > 0 {
			lines = append(lines, fmt.Sprintf("%s of %s is done, and would be done again with a new idempotency key", plural(int64(n), "record"), p.task.TaskName))
		}
	}
	if len(lines) == 0 || o.yes || o.dryRun {
		return o.yes, nil
	}
	if !a.stdinTTY || !a.p.err.tty {
		return false, withHint(usagef("%s", strings.Join(lines, "; ")), "add --yes if that is meant")
	}
	for _, l := range lines {
		a.p.warn(l, "")
	}
	a.p.ask("go on? [y/N] ")
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
	if s := strings.ToLower(strings.TrimSpace(answer)); s != "y" && s != "yes" {
		return false, usagef("nothing was done")
	}
	return true, nil
}
