package ledger

import "time"

// settlement is what reports come to, before it is written.
type settlement struct {
	settled []Settled     // one for each report
	changes []Change      // in the order of the reports
	lines   []Attempt     // of stories
	moved   map[int64]int // which report moved a record last
}

// settle writes reports by the rules, in their order.
func (l *Ledger) settle(tx Tx, reports []Report, p Policy, now time.Time) ([]Settled, error) {
	s, err := l.weigh(tx, reports, p, now, nil, nil)
	if err == nil {
		err = tx.Swap(s.changes)
	}
	if err == nil {
		err = tx.AddAttempts(s.lines)
	}
	if err != nil {
		return nil, err
	}
	return s.settled, nil
}

// weigh finds out by the rules what reports come to. held are records as the
// run knows them since it claimed them: nobody else changes what a live run
// holds, so they need not be read again. Where that isn't true, the swap says
// so. The changes go into buf, which may be nil.
func (l *Ledger) weigh(tx Tx, reports []Report, p Policy, now time.Time, held map[int64]Entry, buf []Change) (s settlement, err error) {
	s.changes = buf[:0]
	if len(reports) == 0 {
		return s, nil
	}
	read, err := notHeld(tx, reports, held)
	if err != nil {
		return s, err
	}
	s.settled, s.moved = make([]Settled, len(reports)), make(map[int64]int, len(reports))
	known := func(r Report) (Entry, bool) {
		if at, ok := s.moved[r.RecordID]; ok {
			return s.settled[at].Entry, true
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
			s.settled[i] = Settled{r, Entry{}, Stale}
			continue
		}
		after, fate, err := l.settleOne(tx, before, r, p, now)
		if err != nil {
			return s, err
		}
		if line, ok := storyLine(before, after, r, fate); ok {
			s.lines = append(s.lines, line)
		}
		if fate == Moved {
			s.changes = append(s.changes, Change{before, after})
			s.moved[r.RecordID] = i
		}
		s.settled[i] = Settled{r, after, fate}
	}
	return s, nil
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
