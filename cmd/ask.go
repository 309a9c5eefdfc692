package cmd

import (
	"context"
	"errors"
	"slices"

	"runner/ledger"
	"runner/runner"
)

// asker asks the checks of records in doubt. It starts and compensates nothing.
type asker struct {
	*app
	where   located
	led     *ledger.Ledger
	runsDir string
	stop    *runner.Stop
	caught  caughtFunc
}

// askAll asks batch by batch, of all tasks or some, and counts what still is
// in doubt afterwards.
func (a asker) askAll(ctx context.Context, names []string) (asked, left int64, all []outcomeFacts, err error) {
	var batches []ledger.Batch
	err = a.led.Store().View(ctx, func(r ledger.Reader) (err error) {
		batches, err = r.Batches("", "")
		return err
	})
	if err != nil {
		return 0, 0, nil, err
	}
	for _, b := range batches {
		if b.Counts[ledger.InDoubt] == 0 || len(names) > 0 && !slices.Contains(names, b.TaskName) {
			continue
		}
		n, s, err := a.askBatch(ctx, b)
		asked += n
		if errors.Is(err, errNoCheck) {
			left += b.Counts[ledger.InDoubt]
			continue
		}
		if err != nil {
			return asked, left, all, err
		}
		left += s.Counts[ledger.InDoubt]
		all = append(all, facts(s, a.caught()))
	}
	return asked, left, all, nil
}

var errNoCheck = errors.New("the task has no check")

func (a asker) askBatch(ctx context.Context, b ledger.Batch) (int64, runner.Summary, error) {
	task, err := a.definition(ctx, a.where, a.led, ledger.Selection{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate}, 0)
	if err != nil || task.Check == nil {
		if err != nil {
			a.p.warn("the checks of "+b.TaskName+" can't be asked: "+err.Error(), hintOf(err))
		}
		return 0, runner.Summary{}, errNoCheck
	}
	defer closeActions([]job{{task: task}})
	return a.ask(ctx, task, b.ExecuteDate, func(ledger.Entry) bool { return true })
}

// ask asks the check of a task about those of its records in doubt on a date
// that are wanted, and tells how many these were.
func (a asker) ask(ctx context.Context, task runner.Task, date string, wanted func(ledger.Entry) bool) (int64, runner.Summary, error) {
	var ids []int64
	sel := ledger.Selection{TaskName: task.Name, ExecuteDate: date, Statuses: []ledger.Status{ledger.InDoubt}}
	err := a.led.Select(ctx, sel, func(page []ledger.Entry) error {
		for _, e := range page {
			if wanted(e) {
				ids = append(ids, e.ID)
			}
		}
		return nil
	})
	if err != nil || len(ids) == 0 {
		return 0, runner.Summary{}, err
	}
	s, err := runner.Run(ctx, runner.Options{
		Ledger: a.led, RunsDir: a.runsDir, Task: task, Date: date, Zone: a.where.zoneName, Command: "recover",
		Version: programVersion(), Watchdog: watchdogArgs, Lease: a.where.lease(), Records: ids, AskOnly: true, AcceptDefinition: true, Stop: a.stop,
		Observe:  func(ev runner.Event) { a.observe(ev, noProgress{}) },
		ExitCode: func(s runner.Summary) int { return codeOf([]outcomeFacts{facts(s, a.caught())}) },
	})
	return int64(len(ids)), s, err
}
