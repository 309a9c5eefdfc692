package cmd

import (
	"encoding/json"
	"strconv"

	"github.com/spf13/cobra"

	"runner/ledger"
)

func newRunsCmd(a *app) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "runs",
		Short: "Look at invocations: when they ran, how they ended, which are alive",
		Long: `Look at invocations: when they ran, how they ended, which are alive.

EXIT STATUS
  0 printed, 2 usage is wrong or there is no such run, 7 the ledger can't be
  used.`,
		Example: `  runner runs ls --task grant-coupon
  runner runs show 0192f3`,
	}, newRunsLsCmd(a), newRunsShowCmd(a))
}

// runJSON is one invocation. Its names are an interface: they only grow.
type runJSON struct {
	RunID       string     `json:"run_id"`
	TaskName    string     `json:"task_name"`
	ExecuteDate string     `json:"execute_date"`
	TimeZone    string     `json:"time_zone"`
	Command     string     `json:"command"`
	State       string     `json:"state"` // live, dead (and not recovered from yet), or ended
	Result      string     `json:"result"`
	Host        string     `json:"host"`
	PID         int        `json:"pid"`
	StartedAt   stamp      `json:"started_at"`
	EndedAt     stamp      `json:"ended_at"`
	DurationMS  *int64     `json:"duration_ms"`
	Planned     int64      `json:"planned"`
	New         int64      `json:"new"`
	Executed    int64      `json:"executed"`
	Counts      countsJSON `json:"counts"`
	Version     string     `json:"version"`
}

// The states of a run.
const (
	runLive  = "live"
	runDead  = "dead"
	runEnded = "ended"
)

func newRun(r ledger.Run, state string) runJSON {
	j := runJSON{
		RunID: r.ID, TaskName: r.TaskName, ExecuteDate: r.ExecuteDate, TimeZone: r.TimeZone, Command: r.Command,
		State: state, Result: r.Result, Host: r.Host, PID: r.PID, StartedAt: stamp{r.StartedAt}, EndedAt: stamp{r.EndedAt},
		Planned: r.Planned, New: r.New, Executed: r.Executed, Counts: newCounts(r.Counts), Version: r.Version,
	}
	if !r.EndedAt.IsZero() {
		ms := max(r.EndedAt.Sub(r.StartedAt).Milliseconds(), 0)
		j.DurationMS = &ms
	}
	return j
}

// outcome is the result, or for a run that has none its state.
func (r runJSON) outcome() string {
	if r.State == runEnded {
		return r.Result
	}
	return r.State
}

// executed and counts are known only of a run that has ended.
func (r runJSON) executed() string {
	if r.State != runEnded {
		return ""
	}
	return strconv.FormatInt(r.Executed, 10)
}

func (r runJSON) counts() string {
	if r.State != runEnded {
		return ""
	}
	return countWords(r.Counts)
}

// runDetailJSON is a run with what it was.
type runDetailJSON struct {
	runJSON
	BootID           string          `json:"boot_id"`
	ProcessStartedAt stamp           `json:"process_started_at"`
	RunFile          string          `json:"run_file"`
	Digest           string          `json:"digest"`
	Definition       json.RawMessage `json:"definition"`
}
