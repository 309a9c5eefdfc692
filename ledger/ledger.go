package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Ledger applies the rules to what a store keeps.
type Ledger struct {
	store Store
	// Now and Rand are the clock and the source of jitter, in [0, 1).
	Now  func() time.Time
	Rand func() float64
}

// New puts the rules on top of a store. Their clock is the store's, if it has
// one.
func New(s Store) *Ledger {
	l := &Ledger{store: s, Now: func() time.Time { return time.Now().UTC() }, Rand: rand.Float64}
	if c, ok := s.(Clock); ok {
		l.Now = c.Now
	}
	return l
}

// Store gives the store underneath, for reading.
func (l *Ledger) Store() Store { return l.store }

// Close closes the store.
func (l *Ledger) Close() error { return l.store.Close() }

// Begin notes a run, and its batch if that is new. With plan set the batch
// counts as being planned by this run until EndPlan. A plan that died stays
// open until another one takes its place. It fails with *SealedError.
func (l *Ledger) Begin(ctx context.Context, r *Run, plan bool) error {
	return l.store.Update(ctx, func(tx Tx) error {
		b, err := tx.Batch(r.TaskName, r.ExecuteDate)
		if errors.Is(err, ErrNotFound) {
			b, err = Batch{TaskName: r.TaskName, ExecuteDate: r.ExecuteDate, CreatedAt: l.Now()}, nil
		}
		if err != nil {
			return err
		}
		if err := b.open(); err != nil {
			return err
		}
		if plan {
			if b.OpenPlanRun, err = livePlans(tx, b.OpenPlanRun, r.ID); err != nil {
				return err
			}
			b.OpenPlanRun = strings.TrimSpace(b.OpenPlanRun + " " + r.ID)
		}
		b.HaltedAt, b.HaltReason = time.Time{}, "" // somebody has looked
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		r.BatchID = b.ID
		r.No = 0 // the store may call this again after a failed try
		return tx.PutRun(r)
	})
}

// EndPlan tells that everything of the run's input is in the ledger.
func (l *Ledger) EndPlan(ctx context.Context, r Run) error {
	return l.store.Update(ctx, func(tx Tx) error {
		b, err := tx.Batch(r.TaskName, r.ExecuteDate)
		if err != nil {
			return err
		}
		if b.OpenPlanRun, err = livePlans(tx, b.OpenPlanRun, r.ID); err != nil {
			return err
		}
		return tx.PutBatch(&b)
	})
}

// livePlans leaves out of a list of planning runs one of them, and those that
// have ended.
func livePlans(r Reader, list, without string) (string, error) {
	var live []string
	for _, id := range strings.Fields(list) {
		if id == without {
			continue
		}
		runs, err := r.Runs(RunQuery{ID: id})
		if err != nil {
			return "", err
		}
		if len(runs) > 0 && runs[0].EndedAt.IsZero() {
			live = append(live, id)
		}
	}
	return strings.Join(live, " "), nil
}

// End notes how a run ended. A run that still holds a claim can't end: its
// records would be running for ever.
func (l *Ledger) End(ctx context.Context, r *Run) error {
	return l.store.Update(ctx, func(tx Tx) error {
		held, err := tx.List(Query{TaskName: r.TaskName, ExecuteDate: r.ExecuteDate, RunID: r.ID, Statuses: []Status{Running}, Limit: 1})
		if err == nil && len(held) > 0 {
			err = fmt.Errorf("run %s still holds %s", r.ID, held[0].Key)
		}
		if err != nil {
			return err
		}
		return tx.PutRun(r)
	})
}

// settle writes reports by the rules, in their order. held are records as the
// run knows them since it claimed them: nobody else changes what a live run
// holds, so they need not be read again. Where that isn't true, the swap
// says so, and they are.
func (l *Ledger) settle(tx Tx, reports []Report, p Policy, now time.Time, held map[int64]Entry) ([]Settled, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	read, err := notHeld(tx, reports, held)
	if err != nil {
		return nil, err
	}
	moved := make(map[int64]int, len(reports)) // by which report a record moved last
	out := make([]Settled, len(reports))
	buf := changesPool.Get().(*[]Change)
	changes := *buf
	defer func() { giveBackChanges(buf, changes) }()
	of := make([]int, 0, len(reports)) // the report of each change
	lines := make(map[int]Attempt)
	known := func(r Report) (Entry, bool) {
		if at, ok := moved[r.RecordID]; ok {
			return out[at].Entry, true
		}
		if e, ok := read[r.RecordID]; ok {
			return e, true
		}
		e, ok := held[r.RecordID]
		return e, ok && e.Fence == r.Fence
	}
	for i, r := range reports {
		before, ok := known(r)
		if !ok {
			out[i] = Settled{r, Entry{}, Stale}
			continue
		}
		after, fate, err := l.settleOne(tx, before, r, p, now)
		if err != nil {
			return nil, err
		}
		if line, ok := storyLine(before, after, r, fate); ok {
			lines[i] = line
		}
		if fate == Moved {
			changes, of = append(changes, Change{before, after}), append(of, i)
			moved[r.RecordID] = i
		}
		out[i] = Settled{r, after, fate}
	}
	stale, err := tx.Swap(changes)
	if err == nil && len(stale) > 0 {
		err = l.settleAgain(tx, stale, of, out, lines, p, now, held)
	}
	if err != nil {
		return nil, err
	}
	return out, tx.AddAttempts(inOrder(lines))
}

func inOrder(lines map[int]Attempt) []Attempt {
	list := make([]Attempt, 0, len(lines))
	for _, i := range slices.Sorted(maps.Keys(lines)) {
		list = append(list, lines[i])
	}
	return list
}

// notHeld reads the records of reports that the run doesn't hold.
func notHeld(tx Tx, reports []Report, held map[int64]Entry) (map[int64]Entry, error) {
	var missing []int64
	for _, r := range reports {
		if e, ok := held[r.RecordID]; !ok || e.Fence != r.Fence {
			missing = append(missing, r.RecordID)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	list, err := tx.Get(missing)
	read := make(map[int64]Entry, len(list))
	for _, e := range list {
		read[e.ID] = e
	}
	return read, err
}

// settleAgain settles what another hand has changed since the run claimed it.
func (l *Ledger) settleAgain(tx Tx, stale, of []int, out []Settled, lines map[int]Attempt, p Policy, now time.Time, held map[int64]Entry) error {
	if held == nil {
		return ErrRaced
	}
	var reports []Report
	for _, c := range stale {
		reports = append(reports, out[of[c]].Report)
		delete(lines, of[c])
	}
	again, err := l.settle(tx, reports, p, now, nil)
	for i, s := range again {
		out[of[stale[i]]] = s
	}
	return err
}

// settleOne is Settle with what the story of the record knows besides.
func (l *Ledger) settleOne(tx Tx, before Entry, r Report, p Policy, now time.Time) (after Entry, fate Fate, err error) {
	after, fate = Settle(before, r, p, now, l.Rand())
	switch {
	case fate == TooLate:
		stored, err := tx.Attempts(r.RecordID)
		if err != nil {
			return after, fate, err
		}
		if told(stored, r.Fence) {
			fate = Stale
		}
	case fate == Moved && r.Outcome == NotStarted && unresolved(after):
		after, err = l.settleKept(tx, after, p, now)
	}
	return after, fate, err
}

// swapAll swaps all or nothing.
func swapAll(tx Tx, changes []Change) error {
	stale, err := tx.Swap(changes)
	if err == nil && len(stale) > 0 {
		err = ErrRaced
	}
	return err
}

// settleKept settles a record that is where it was, because a newer claim of it
// was never used, by the certain outcome that came in the meantime.
func (l *Ledger) settleKept(tx Tx, e Entry, p Policy, now time.Time) (Entry, error) {
	stored, err := tx.Attempts(e.ID)
	if err != nil {
		return e, err
	}
	for _, a := range stored {
		if r, ok := lateReport(a); ok && a.Fence == e.ActFence {
			e, _ = Settle(e, r, p, now, l.Rand())
		}
	}
	return e, nil
}
