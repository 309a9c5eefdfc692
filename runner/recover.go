package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"runner/ledger"
)

// Recovery is what recovering from dead runs did.
type Recovery struct {
	Runs      []string // buried
	Settled   []ledger.Settled
	Survivors []Survivor
	Leftovers []Leftover
	Alive     []ledger.Run // runs that need no recovery
	Dead      []string     // runs that were found dead, also those kept for survivors
	// Closed lists runs whose run file may not be opened from here.
	Closed []ClosedRun
}

// ClosedRun is a run that counts as alive because its run file may not be
// opened.
type ClosedRun struct {
	ledger.Run
	Err   error
	Owner string // of the file; empty if that can't be seen
}

// recoverer settles what dead runs of a ledger left. It only changes states:
// it starts nothing.
type recoverer struct {
	led      *ledger.Ledger
	leases   ledger.Leaser // nil: runs live by their files
	ledgerID string
	dir      string // of run files
	host     host
	self     string          // id of this run
	replayed map[string]bool // dead runs, kept for survivors, whose ends were replayed
}

func newRecoverer(led *ledger.Ledger, dir string, h host, self string) recoverer {
	leases, _ := led.Store().(ledger.Leaser)
	return recoverer{led: led, leases: leases, ledgerID: led.Store().ID(), dir: dir, host: h, self: self, replayed: map[string]bool{}}
}

// all recovers from every dead run.
func (r *recoverer) all(ctx context.Context) (Recovery, error) {
	var rec Recovery
	runs, err := r.led.OpenRuns(ctx)
	if err != nil {
		return rec, err
	}
	open := map[string]bool{r.self: true}
	for _, run := range runs {
		open[run.ID] = true
		if run.ID == r.self {
			continue
		}
		if err := r.one(ctx, run, &rec); err != nil {
			return rec, err
		}
	}
	return rec, r.sweep(ctx, open, &rec)
}

func (r *recoverer) one(ctx context.Context, run ledger.Run, rec *Recovery) error {
	if r.leases != nil {
		return r.leased(ctx, run, rec)
	}
	run.File = runPath(run, r.dir)
	live, lock, err := probe(run.File)
	switch live {
	case alive:
		rec.Alive = append(rec.Alive, run)
		return nil
	case closed:
		rec.Closed = append(rec.Closed, ClosedRun{run, err, ownerOf(run.File)})
		rec.Alive = append(rec.Alive, run)
		return nil
	case dead:
		defer lock.Close()
	}
	g := &grave{run: run, live: live}
	if err := json.Unmarshal(run.Definition, &g.def); err != nil {
		return err
	}
	left, err := r.dig(ctx, g, rec)
	if live == dead || len(g.claims) > 0 { // else it has just ended by itself
		rec.Dead = append(rec.Dead, run.ID)
	}
	if err != nil || left > 0 {
		return err
	}
	return r.bury(ctx, g, rec)
}

// bury ends a dead run of which nothing is left, and removes its file.
func (r *recoverer) bury(ctx context.Context, g *grave, rec *Recovery) error {
	if err := r.led.Bury(ctx, g.run); err != nil {
		return err
	}
	rec.Runs = append(rec.Runs, g.run.ID)
	if g.live == dead {
		if err := os.Remove(g.run.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// claimsOf reads what a dead run holds.
func (r *recoverer) claimsOf(ctx context.Context, g *grave) error {
	g.claims = map[int64]claimed{}
	for e, err := range r.led.Claims(ctx, g.run) {
		if err != nil {
			return err
		}
		g.claims[e.ID] = claimed{entry: e}
	}
	return nil
}

// dig settles the claims of a dead run, and says how many are left to
// survivors.
func (r *recoverer) dig(ctx context.Context, g *grave, rec *Recovery) (left int, err error) {
	if err := r.read(ctx, g, rec); err != nil {
		return 0, err
	}
	return r.settle(ctx, g, rec)
}

// read takes what a dead run holds and what its journal says.
func (r *recoverer) read(ctx context.Context, g *grave, rec *Recovery) error {
	if err := r.claimsOf(ctx, g); err != nil || g.live == gone {
		return err
	}
	return r.readJournal(ctx, g, rec)
}

func (r *recoverer) settle(ctx context.Context, g *grave, rec *Recovery) (left int, err error) {
	reports, survivors, leftovers := r.judge(g)
	settled, err := r.led.Replay(ctx, reports, g.def.Policy)
	rec.Settled = append(rec.Settled, settled...)
	rec.Survivors = append(rec.Survivors, survivors...)
	rec.Leftovers = append(rec.Leftovers, leftovers...)
	return len(survivors), err
}

// readJournal takes what the journal says of the open claims, and replays
// what it says ended besides: that is believed whatever happened since.
func (r *recoverer) readJournal(ctx context.Context, g *grave, rec *Recovery) error {
	flush := func() error {
		settled, err := r.led.Replay(ctx, g.batch, g.def.Policy)
		g.batch = g.batch[:0]
		for _, s := range settled {
			if s.Fate != ledger.Stale {
				rec.Settled = append(rec.Settled, s)
			}
		}
		return err
	}
	var err error
	g.head, g.hasHead, err = readJournal(g.run.File, func(l line) error {
		c, ok := g.claims[l.ID]
		if !ok || c.entry.Fence != l.Fence {
			if l.End != nil && l.End.Outcome.Certain() && !r.replayed[g.run.ID] {
				g.batch = append(g.batch, l.report(g.run.ID))
			}
			if len(g.batch) == 500 {
				return flush()
			}
			return nil
		}
		switch {
		case l.Start != nil:
			c.started = l.Start
		case l.End != nil:
			rep := l.report(g.run.ID)
			c.ended = &rep
		default:
			c.pid = l.PID
		}
		g.claims[l.ID] = c
		return nil
	})
	if err != nil {
		return err
	}
	if g.hasHead && g.head.Ledger != r.ledgerID {
		return fmt.Errorf("run file %s is of another ledger", g.run.File)
	}
	r.replayed[g.run.ID] = true // a dead run says nothing new
	return flush()
}

// judge says what became of each claim, and which are left to survivors.
func (r *recoverer) judge(g *grave) (reports []ledger.Report, survivors []Survivor, leftovers []Leftover) {
	// Unsynced writes are all there as long as the machine hasn't gone down.
	believed := g.live != gone && g.hasHead && r.host.sameBoot(g.head.host)
	rebooted := r.host.Boot != "" && g.run.BootID != "" && g.run.BootID != r.host.Boot
	found := g.left(r.host, believed, rebooted)
	now := r.led.Now()
	for _, c := range g.claims {
		if s, ok := g.survivor(c, found, believed, now); ok {
			survivors = append(survivors, s)
			continue
		}
		if pid, ok := found.left[attemptID(g.run.ID, c.entry)]; ok {
			leftovers = append(leftovers, Leftover{c.entry.Key, pid})
		}
		reports = append(reports, g.report(c, believed, now))
	}
	return reports, survivors, leftovers
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
