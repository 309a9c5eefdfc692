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
		Shard: e.Survey.shard,
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
	if len(rec.Dead) > 0 || len(rec.Survivors) > 0 || len(rec.Settled) > 0 || len(rec.Closed) > 0 && !e.toldClosed {
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
