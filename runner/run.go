package runner

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"runner/ledger"
)

// Options say what to run, and on what.
type Options struct {
	Ledger  *ledger.Ledger
	RunsDir string // where run files lie
	Task    Task
	Date    string
	Zone    string // of the date, for people
	Command string // run, exec or rerun
	Version string

	Source  Source  // of a run
	Survey  Survey  // what ReadThrough found in Source
	Records []int64 // of a rerun: exactly these

	Limit            int64          // start at most so many records; 0: all
	Wait             *time.Duration // for what others hold, at most; nil: as long as that is worth it
	IncludeAbsent    bool           // do the records too that the input doesn't hold
	FreshInput       bool           // take changed fields also of records that have been started
	AskOnly          bool           // ask the checks of what is in doubt, and start nothing else
	AcceptDefinition bool           // although a live run works by another one
	Lease            time.Duration  // of a run on a shared ledger; 0: DefaultLease
	Watchdog         []string       // command line by which this program is the watchdog of a run
	Stop             *Stop
	Observe          func(Event)
	// ExitCode is what a run that ends like this exits with; kept with the run.
	ExitCode func(Summary) int
}

// Event is something that happened during a run. It is observed in one
// goroutine, in order.
type Event struct {
	Recovery *Recovery       // dead runs were recovered from
	Planned  *Summary        // the input is in the ledger
	Settled  *ledger.Settled // an outcome is durable
}

// MaxWait is the longest a run waits for a record that isn't due, if its task
// says nothing.
const MaxWait = 10 * time.Minute

// Run works on a batch until there is nothing left that it may do. The error
// says why it couldn't go on; the Summary is true in any case.
func Run(ctx context.Context, o Options) (Summary, error) {
	e, err := newEngine(o)
	if err == nil {
		err = e.run(ctx)
	}
	e.sum.EndedAt = e.led.Now()
	err = e.finish(ctx, err) // before the summary is copied
	e.lease.close()
	return e.sum, err
}

func newEngine(o Options) (*engine, error) {
	e := &engine{Options: o, led: o.Ledger, host: thisHost(), jobs: max(o.Task.Jobs, 1)}
	if o.Observe == nil {
		e.Observe = func(Event) {}
	}
	if o.Stop == nil {
		e.Stop = NewStop(DefaultGrace)
	}
	e.sum = Summary{TaskName: o.Task.Name, ExecuteDate: o.Date, TimeZone: o.Zone, StartedAt: e.now()}
	if r := o.Task.Rate; r > 0 {
		e.rate = rate.NewLimiter(rate.Limit(r), max(1, int(r*burst.Seconds())))
	}
	id, err := uuid.NewV7()
	if err != nil {
		return e, err
	}
	e.sum.RunID = id.String()
	if o.Ledger != nil { // a preview may have none
		e.ledgerID = o.Ledger.Store().ID()
	}
	return e, nil
}

// burst is how much of a rate may be used at once: fewer and larger
// transactions.
const burst = 50 * time.Millisecond

// run goes through the steps, all but source and report.
func (e *engine) run(ctx context.Context) error {
	if err := e.begin(ctx); err != nil {
		return err
	}
	if err := e.recover(ctx); err != nil {
		return err
	}
	if yields, err := e.meetOthers(ctx); err != nil || yields {
		return err
	}
	todo, err := e.plan(ctx)
	if errors.Is(err, errStopped) {
		e.cutShort = true
		return nil
	}
	if err != nil {
		return err
	}
	e.backlog = newBacklog(todo)
	if e.joins() {
		e.backlog.fresh.share(e.sum.RunID)
	}
	e.Observe(Event{Planned: &e.sum})
	if todo.IsEmpty() {
		return nil
	}
	e.startWorkers()
	defer e.stopWorkers()
	return e.loop(ctx)
}

// begin makes the run file and only then notes the run: a run in the ledger
// without a file is dead.
func (e *engine) begin(ctx context.Context) error {
	file, err := createRunFile(e.RunsDir, head{Ledger: e.ledgerID, Run: e.sum.RunID, host: e.host})
	if err != nil {
		return &ledger.UnusableError{Path: e.RunsDir, Why: "its run file can't be made", Err: err}
	}
	e.file = file
	text, digest := e.Task.Definition.Encode()
	e.row = ledger.Run{
		ID: e.sum.RunID, TaskName: e.Task.Name, ExecuteDate: e.Date, TimeZone: e.Zone, Command: e.Command,
		Host: e.host.Name, BootID: e.host.Boot, PID: e.host.PID, ProcessStartedAt: e.host.StartedAt,
		File: file.path, Definition: text, Digest: digest, Version: e.Version, StartedAt: e.sum.StartedAt,
	}
	err = e.takeLease()
	if err == nil {
		err = e.led.Begin(ctx, &e.row, e.Source != nil)
	}
	if err != nil {
		_ = file.remove()
		e.file = nil
		return err
	}
	e.lease.keep()
	return nil
}

// takeLease makes the run live by a lease, if the ledger is shared.
func (e *engine) takeLease() (err error) {
	shared, ok := e.led.Store().(ledger.Leaser)
	if !ok {
		return nil
	}
	e.row.Lease = cmp.Or(e.Lease, DefaultLease)
	if err := CheckLease(e.row.Lease); err != nil {
		return err
	}
	e.lease, err = newLease(shared, e.sum.RunID, e.row.Lease, e.Stop, e.Watchdog)
	return err
}

func (e *engine) recover(ctx context.Context) error {
	if e.recoverer.led == nil {
		e.recoverer = newRecoverer(e.led, e.RunsDir, e.host, e.sum.RunID)
	}
	rec, err := e.recoverer.all(ctx)
	if err != nil {
		return err
	}
	e.survivors = map[int64]Survivor{}
	for _, s := range rec.Survivors {
		e.survivors[s.RecordID] = s
	}
	for _, c := range rec.Closed {
		if c.TaskName == e.Task.Name && c.ExecuteDate == e.Date {
			e.closed = &c
		}
	}
	e.others = rec.Alive
	if rec.Dead > 0 || len(rec.Survivors) > 0 || len(rec.Settled) > 0 || len(rec.Closed) > 0 && !e.toldClosed {
		e.toldClosed = e.toldClosed || len(rec.Closed) > 0
		e.Observe(Event{Recovery: &rec})
	}
	return nil
}

// Recover settles what dead runs of a ledger left, and starts nothing.
func Recover(ctx context.Context, led *ledger.Ledger, runsDir string) (Recovery, error) {
	r := newRecoverer(led, runsDir, thisHost(), "")
	return r.all(ctx)
}

// finish counts the scope, notes the end of the run and lets go of its file.
func (e *engine) finish(ctx context.Context, err error) error {
	if e.file == nil { // it never began
		e.sum.Result, e.sum.Error = errorWord(err), err.Error()
		return err
	}
	err = e.describe(ctx, err)
	if len(e.unsettled) > 0 {
		e.leave()
		return err
	}
	if eerr := e.led.End(ctx, &e.row); eerr != nil {
		_ = e.file.sync()
		e.file.keep()
		if err == nil {
			err = eerr
			e.sum.Result, e.sum.Error = LedgerError, err.Error()
		}
		return err
	}
	_ = e.file.remove() // the ledger knows that the run has ended: the next start sweeps what is left
	return err
}

// describe completes the summary, and the run's row with it.
func (e *engine) describe(ctx context.Context, err error) error {
	if cerr := e.count(ctx); err == nil {
		err = cerr
	}
	if err == nil && e.busyLeft && e.closed != nil {
		err = &ledger.UnusableError{
			Path: e.RunsDir, Why: "the run file of run " + e.closed.ID + " can't be opened, so whether that run is alive is not known", Err: e.closed.Err,
			Hint: e.closed.Hint(),
		}
	}
	if terr := e.trouble(ctx); err == nil {
		err = terr
	}
	e.sum.Result = e.result(err)
	if err != nil {
		e.sum.Error = err.Error()
	}
	if e.begun != nil {
		e.sum.Begun = int64(e.begun.GetCardinality())
	}
	e.row.EndedAt, e.row.Result, e.row.Counts = e.sum.EndedAt, string(e.sum.Result), e.sum.Counts
	e.row.Planned, e.row.New, e.row.Executed = e.sum.Planned, e.sum.New, e.sum.Executed
	if e.ExitCode != nil {
		e.row.ExitCode = e.ExitCode(e.sum)
	}
	return err
}

// leave leaves claims and outcomes to the next start, which takes them from
// the journal. What isn't even there is told.
func (e *engine) leave() {
	if err := e.file.sync(); err != nil || !exists(e.file.path) {
		e.unwritten = e.kept
	}
	for _, r := range e.unwritten {
		if en, ok := e.unsettled[r.RecordID]; ok && r.Outcome != ledger.NotStarted {
			e.sum.Unwritten = append(e.sum.Unwritten, Unwritten{en.Key, r})
		}
	}
	e.file.keep()
}

// count adds what is left of the scope to what this run saw settled.
func (e *engine) count(ctx context.Context) error {
	e.sum.Counts = e.settled
	if e.backlog == nil {
		return nil
	}
	now := e.led.Now()
	e.sum.PausedUntil = e.paused
	if len(e.backlog.due) > 0 && e.backlog.due[0].at.After(now) {
		e.sum.NextDue = e.backlog.due[0].at
	}
	ids := make([]int64, 0, 4096)
	it := e.backlog.left.Iterator()
	for it.HasNext() {
		ids = append(ids, int64(it.Next()))
		if len(ids) < cap(ids) && it.HasNext() {
			continue
		}
		err := e.led.Store().View(ctx, func(r ledger.Reader) error {
			c, err := r.Count(ids)
			e.sum.Counts.Add(c)
			return err
		})
		if err != nil {
			return err
		}
		ids = ids[:0]
	}
	return nil
}

// result names what became of the run: the first that applies, in the order
// of the exit codes.
func (e *engine) result(err error) ResultWord {
	open := e.sum.Counts[ledger.Pending] + e.sum.Counts[ledger.Running]
	switch {
	case err != nil:
		return errorWord(err)
	case e.Stop.Asked() && (open > 0 || e.cutShort || e.Stop.ending()):
		return Interrupted
	case e.sum.HaltReason != "":
		return Halted
	case e.busyLeft:
		return IsBusy
	case e.waitingLeft:
		return IsWaiting
	case e.sum.Counts[ledger.InDoubt] > 0:
		return SomeInDoubt
	case e.sum.Counts[ledger.Failed] > 0:
		return SomeFailed
	case open > 0:
		return Partial
	}
	return Complete
}
