package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/runner"
)

func newRunsShowCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Show one invocation, with the definition it worked by",
		Long: `Show one invocation, with the definition it worked by: policy, command, folder
and the names in its environment. RUN is its id, or as much of the id's start or
end as is unique.

EXIT STATUS
  0 printed, 2 usage is wrong or there is no such run, 7 the ledger can't be
  used.`,
		Example: `  runner runs show 0192f3a4-5b6c-7d8e-9f00-112233445566
  runner runs show 445566 -o json`,
		Args: exactly("RUN"),
		RunE: func(c *cobra.Command, args []string) error { return runRunsShow(c.Context(), a, args[0]) },
	}
}

func runRunsShow(ctx context.Context, a *app, id string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	if id == "" {
		return usagef("RUN is empty")
	}
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	led, err := a.openReader(ctx, where)
	if errors.Is(err, ledger.ErrNoLedger) {
		return withHint(usagef("there is no run %s: no ledger at %s yet", id, where.shown()), "runner run makes it; --ledger PATH names another one")
	}
	if err != nil {
		return causeOf(ctx, err)
	}
	defer led.Close() // it was only read
	r, err := findRun(ctx, led, id)
	if err != nil {
		return causeOf(ctx, err)
	}
	state, err := runState(ctx, led, &r, runsDirOf(led))
	if err != nil {
		return causeOf(ctx, err)
	}
	j := runDetailJSON{
		runJSON: newRun(r, state), BootID: r.BootID, ProcessStartedAt: stamp{r.ProcessStartedAt},
		RunFile: r.File, Digest: r.Digest, Definition: payloadJSON(r.Definition),
	}
	return object(a.p, j, j.fields(where))
}

// findRun finds a run by its id, or by a start or end that only it has.
func findRun(ctx context.Context, led *ledger.Ledger, id string) (run ledger.Run, err error) {
	err = led.Store().View(ctx, func(r ledger.Reader) error {
		found, err := r.Runs(ledger.RunQuery{ID: id})
		if err == nil && len(found) == 0 {
			found, err = r.Runs(ledger.RunQuery{IDPart: id, Limit: maxTold + 1})
		}
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return withHint(usagef("there is no run %s", id), "runner runs ls lists those there are")
		case len(found) > 1:
			var ids []string
			for _, f := range found[:min(len(found), maxTold)] {
				ids = append(ids, f.ID)
			}
			if len(found) > maxTold {
				ids = append(ids, "and more")
			}
			return withHint(usagef("several runs match %s: %s", id, strings.Join(ids, ", ")), "give more of its id")
		}
		run = found[0]
		return nil
	})
	return run, err
}

func (r runDetailJSON) fields(where located) []field {
	var d runner.Definition
	_ = json.Unmarshal(r.Definition, &d) // of another hand: its parts stay empty
	policy, _ := encodeJSON(d.Policy)    // plain values
	state := r.State
	if r.Result != "" {
		state = r.Result
	}
	if r.State == runDead {
		state += " (the next run settles what it left)"
	}
	return []field{
		{"run", r.RunID},
		{"task", r.TaskName},
		{"execute date", r.ExecuteDate + " (" + r.TimeZone + ")"},
		{"command", r.Command},
		{"result", state},
		{"started", r.StartedAt.in(where.zone)},
		{"ended", r.EndedAt.in(where.zone)},
		{"planned", strconv.FormatInt(r.Planned, 10)},
		{"new", strconv.FormatInt(r.New, 10)},
		{"executed", r.executed()},
		{"counts", r.counts()},
		{"host", r.Host},
		{"pid", strconv.Itoa(r.PID)},
		{"process started", r.ProcessStartedAt.in(where.zone)},
		{"boot", r.BootID},
		{"run file", r.RunFile},
		{"version", r.Version},
		{"kind", d.Kind},
		{"action", string(d.Action)},
		{"policy", string(policy)},
		{"environment", strings.Join(d.Env, ", ")},
		{"secrets", strings.Join(d.Secrets, ", ")},
		{"namespace", d.Namespace},
		{"digest", r.Digest},
	}
}
