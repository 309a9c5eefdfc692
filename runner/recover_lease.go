package runner

import (
	"context"
	"encoding/json"

	"runner/ledger"
)

// leased recovers from a run that lives by a lease. Its death is proven here
// by the free lock of its run file, with nothing left of its attempts;
// anywhere else the end of its lease tells, at which its watchdog has ended
// them.
func (r *recoverer) leased(ctx context.Context, run ledger.Run, rec *Recovery) error {
	g := &grave{run: run, live: gone, watched: true}
	if r.host.is(run) {
		live, lock, _ := probe(run.File) // one that can't be opened proves nothing
		defer closeLock(lock)
		g.live = live
		if live == closed {
			g.live = gone
		}
	}
	over := r.led.Now().After(run.LeaseUntil)
	if g.live != dead && !over {
		rec.Alive = append(rec.Alive, run)
		return nil
	}
	if err := json.Unmarshal(run.Definition, &g.def); err != nil {
		return err
	}
	survivors, err := r.lastLook(ctx, g, over, rec)
	if err != nil {
		return err
	}
	// A container may have this host's name, and processes that can't be seen.
	seen := g.hasHead && g.head.PIDNS == r.host.PIDNS
	condemned, err := r.leases.Condemn(ctx, run.ID, g.live == dead && seen && len(survivors) == 0)
	if err != nil {
		return err
	}
	if !condemned {
		rec.Alive = append(rec.Alive, run)
		rec.Survivors = append(rec.Survivors, survivors...)
		return nil
	}
	rec.Dead = append(rec.Dead, run.ID)
	// Again, now that it can claim nothing more.
	if err := r.read(ctx, g, rec); err != nil {
		return err
	}
	left, err := r.settle(ctx, g, rec)
	if err != nil || left > 0 {
		return err
	}
	return r.bury(ctx, g, rec)
}

// believe replays the file of a run that others have buried.
func (r *recoverer) believe(ctx context.Context, path string, h head, rec *Recovery) error {
	if r.leases == nil || h.Run == "" {
		return nil
	}
	var runs []ledger.Run
	err := r.led.Store().View(ctx, func(rd ledger.Reader) (err error) {
		runs, err = rd.Runs(ledger.RunQuery{ID: h.Run})
		return err
	})
	if err != nil || len(runs) == 0 {
		return err
	}
	g := &grave{run: runs[0], live: dead, claims: map[int64]claimed{}}
	g.run.File = path
	if err := json.Unmarshal(g.run.Definition, &g.def); err != nil {
		return err
	}
	return r.readJournal(ctx, g, rec)
}

// lastLook looks for what acts still for a run that seems dead, here. Past
// the end of the lease others may start it again: what its watchdog was kept
// from ending is ended now.
func (r *recoverer) lastLook(ctx context.Context, g *grave, over bool, rec *Recovery) ([]Survivor, error) {
	if g.live == gone {
		return nil, nil
	}
	if err := r.read(ctx, g, rec); err != nil {
		return nil, err
	}
	_, survivors, _ := r.judge(g)
	if over && len(survivors) > 0 {
		survivors = EndSurvivors(ctx, survivors)
	}
	return survivors, nil
}
