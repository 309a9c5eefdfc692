package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"runner/ledger"
	"runner/runner"
)

// statusJSON is how a batch stands. Its names are an interface: they only
// grow.
type statusJSON struct {
	TaskName      string       `json:"task_name"`
	ExecuteDate   string       `json:"execute_date"`
	TimeZone      string       `json:"time_zone"`
	State         string       `json:"state"`
	Complete      bool         `json:"complete"`
	OpenPlan      bool         `json:"open_plan"`
	Unplanned     string       `json:"unplanned_shards"` // such as 2, 3 of 4
	Counts        countsJSON   `json:"counts"`
	Open          int64        `json:"open"`
	OldestOpenAt  stamp        `json:"oldest_open_at"`
	OldestOpenMS  *int64       `json:"oldest_open_ms"`
	NextAttemptAt stamp        `json:"next_attempt_at"`
	PausedUntil   stamp        `json:"paused_until"`
	HaltedAt      stamp        `json:"halted_at"`
	HaltReason    string       `json:"halt_reason"`
	SealedAt      stamp        `json:"sealed_at"`
	SealedIn      string       `json:"sealed_in"` // the archive file; a relative name is within the ledger's archive folder
	DeadRunning   int64        `json:"dead_running"`
	Rate          float64      `json:"rate"` // attempts a second of all its live runs
	TimeLeftMS    *int64       `json:"time_left_ms"`
	Runs          []statusRun  `json:"runs"` // that have not ended
	Needs         []statusNeed `json:"needs"`

	grouped   bool   // its needs are said with those of other dates:
	groupLine string // here, if not empty
}

type statusRun struct {
	RunID     string  `json:"run_id"`
	Command   string  `json:"command"`
	Host      string  `json:"host"`
	PID       int     `json:"pid"`
	StartedAt stamp   `json:"started_at"`
	Live      bool    `json:"live"`
	Planning  bool    `json:"planning"`
	Rate      float64 `json:"rate"`
}

// statusNeed is what a person should look at.
type statusNeed struct {
	Status  string `json:"status"` // in_doubt, failed, running (of dead runs), open (shards), halted or missing
	Count   int64  `json:"count"`
	Message string `json:"message"`
	Command string `json:"command"`
}

// statusView knows of a ledger what it takes to tell how its batches stand.
type statusView struct {
	a       *app
	where   located
	led     *ledger.Ledger
	runsDir string
	open    map[int64][]openRun // by batch
}

type openRun struct {
	ledger.Run
	live bool
}

// watch finds the runs that have not ended, and which of them are alive. A
// run that has just ended lets go of its lock after its row says so: what
// looks dead and is still open when it is read again is dead.
func (v *statusView) watch(ctx context.Context) error {
	runs, err := v.led.OpenRuns(ctx)
	if err != nil || len(runs) == 0 {
		return err
	}
	live := map[string]bool{}
	for _, r := range runs {
		live[r.ID] = runner.Live(r, v.runsDir, v.led.Now())
	}
	if runs, err = v.led.OpenRuns(ctx); err != nil {
		return err
	}
	v.open = map[int64][]openRun{}
	for _, r := range runs {
		alive, seen := live[r.ID]
		v.open[r.BatchID] = append(v.open[r.BatchID], openRun{r, alive || !seen})
	}
	return nil
}

func (v *statusView) rows(ctx context.Context, batches []ledger.Batch) iter.Seq2[statusJSON, error] {
	return func(yield func(statusJSON, error) bool) {
		for _, b := range batches {
			r, err := v.row(ctx, b)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// newStatus is what a batch says of itself.
func newStatus(b ledger.Batch, now time.Time) statusJSON {
	r := statusJSON{
		TaskName: b.TaskName, ExecuteDate: b.ExecuteDate, Complete: b.Complete(), OpenPlan: len(b.Planning()) > 0, Unplanned: b.Unplanned(),
		Counts: newCounts(b.Counts), Open: b.Open(), HaltedAt: stamp{b.HaltedAt}, HaltReason: b.HaltReason,
		SealedAt: stamp{b.SealedAt}, SealedIn: b.SealedIn, Runs: []statusRun{}, Needs: []statusNeed{},
	}
	if b.PausedUntil.After(now) {
		r.PausedUntil = stamp{b.PausedUntil}
	}
	return r
}

func (v *statusView) row(ctx context.Context, b ledger.Batch) (statusJSON, error) {
	now := v.a.now()
	r := newStatus(b, now)
	if r.Open > 0 && !b.CreatedAt.IsZero() {
		age := max(now.Sub(b.CreatedAt), 0).Milliseconds()
		r.OldestOpenAt, r.OldestOpenMS = stamp{b.CreatedAt}, &age
	}
	next, err := v.led.NextDue(ctx, b)
	if err != nil {
		return r, err
	}
	r.NextAttemptAt = stamp{next}
	if err := v.addRuns(ctx, &r, b, now); err != nil {
		return r, err
	}
	r.TimeZone, err = v.zone(ctx, b)
	r.State = r.state(v.anyLive(b))
	if err != nil {
		return r, err
	}
	r.Needs, err = v.needs(ctx, r)
	return r, err
}

func (v *statusView) addRuns(ctx context.Context, r *statusJSON, b ledger.Batch, now time.Time) error {
	planning := b.Planning()
	for _, run := range v.open[b.ID] {
		s := statusRun{
			RunID: run.ID, Command: run.Command, Host: run.Host, PID: run.PID, StartedAt: stamp{run.StartedAt},
			Live: run.live, Planning: slices.Contains(planning, run.ID),
		}
		if run.live {
			s.Rate = runner.Pace(run.Run, v.runsDir, now)
			r.Rate += s.Rate
		} else {
			n, err := v.led.ClaimsOf(ctx, run.Run)
			if err != nil {
				return err
			}
			r.DeadRunning += n
		}
		r.Runs = append(r.Runs, s)
	}
	if r.Rate > 0 && r.Open > 0 {
		left := int64(float64(r.Open) / r.Rate * 1000)
		r.TimeLeftMS = &left
	}
	return nil
}

// zone is the one that the date of a batch is meant in.
func (v *statusView) zone(ctx context.Context, b ledger.Batch) (string, error) {
	if v.where.task(b.TaskName) != nil {
		return v.where.zoneName, nil
	}
	if open := v.open[b.ID]; len(open) > 0 {
		return open[0].TimeZone, nil
	}
	run, err := v.led.Definition(ctx, b.TaskName, b.ExecuteDate)
	if errors.Is(err, ledger.ErrNotFound) { // no run has been kept
		return v.where.zoneName, nil
	}
	return run.TimeZone, err
}

func (v *statusView) anyLive(b ledger.Batch) bool {
	return slices.ContainsFunc(v.open[b.ID], func(r openRun) bool { return r.live })
}

// state is the one word that says most.
func (r statusJSON) state(live bool) string {
	switch {
	case live && slices.ContainsFunc(r.Runs, func(s statusRun) bool { return s.Live && s.Planning }):
		return "planning"
	case live:
		return "running"
	case !r.SealedAt.IsZero():
		return "sealed"
	case !r.HaltedAt.IsZero():
		return "halted"
	case r.DeadRunning > 0 || r.OpenPlan:
		return "cut_off"
	case r.Counts.InDoubt > 0:
		return "in_doubt"
	case !r.PausedUntil.IsZero() && r.Open > 0:
		return "paused"
	case r.Open > 0 || r.Unplanned != "":
		return "open"
	case r.Counts.Failed > 0:
		return "failed"
	}
	return "complete"
}

// needs is what a person should look at, and how.
func (v *statusView) needs(ctx context.Context, r statusJSON) ([]statusNeed, error) {
	needs := []statusNeed{}
	at := shellWord(r.TaskName) + " --date " + r.ExecuteDate
	again := v.again(r)
	if n := r.Counts.InDoubt; n > 0 {
		checked, err := v.checked(ctx, r)
		if err != nil {
			return needs, err
		}
		need := statusNeed{"in_doubt", n, "find out whether they took effect, then mark or rerun them",
			"runner ledger ls --task " + at + " --status in_doubt"}
		if checked {
			need.Message = "ask their check, which starts nothing; what it can't tell, find out, then mark or rerun"
			need.Command = "runner recover " + shellWord(r.TaskName)
		}
		needs = append(needs, need)
	}
	if n := r.Counts.Failed; n > 0 {
		needs = append(needs, statusNeed{"failed", n, "try them again", "runner rerun " + at})
	}
	if n := r.DeadRunning; n > 0 {
		needs = append(needs, statusNeed{"running", n, "claimed by a dead run; the next run settles them", again})
	}
	if r.Unplanned != "" {
		needs = append(needs, statusNeed{"open", 0, "nobody has planned shard " + r.Unplanned, again})
	}
	if !r.HaltedAt.IsZero() && !slices.ContainsFunc(r.Runs, func(s statusRun) bool { return s.Live }) {
		needs = append(needs, statusNeed{"halted", r.Open, oneLine(r.HaltReason), again})
	}
	return needs, nil
}

// checked tells whether there is a check to ask about what is in doubt.
func (v *statusView) checked(ctx context.Context, r statusJSON) (bool, error) {
	if t := v.where.task(r.TaskName); t != nil {
		return t.HasCheck(), nil
	}
	run, err := v.led.Definition(ctx, r.TaskName, r.ExecuteDate)
	if errors.Is(err, ledger.ErrNotFound) { // no run has been kept
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var d runner.Definition
	err = json.Unmarshal(run.Definition, &d)
	return d.Policy.Check, err
}

// again is the command that goes on with a batch.
func (v *statusView) again(r statusJSON) string {
	at := shellWord(r.TaskName) + " --date " + r.ExecuteDate
	if v.where.task(r.TaskName) != nil {
		return "runner run " + at
	}
	return "runner rerun " + at + " --status pending" // settles first, and needs no source
}

// glance is row by what is counted alone: all that is running without a live
// run is a dead one's.
func (v *statusView) glance(ctx context.Context, b ledger.Batch) (r statusJSON, err error) {
	r = newStatus(b, v.a.now())
	planning := b.Planning()
	for _, run := range v.open[b.ID] {
		r.Runs = append(r.Runs, statusRun{RunID: run.ID, Live: run.live, Planning: slices.Contains(planning, run.ID)})
	}
	live := v.anyLive(b)
	if !live {
		r.DeadRunning = r.Counts.Running
	}
	r.State = r.state(live)
	r.Needs, err = v.needs(ctx, r)
	return r, err
}
