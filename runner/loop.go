package runner

import (
	"context"
	"time"

	"runner/ledger"
)

// loop claims and settles until there is nothing left to do. Each round is
// one transaction: what has ended is settled, and what is next is claimed.
func (e *engine) loop(ctx context.Context) error {
	for {
		e.gather()
		if e.stopping() {
			e.takeBack()
		}
		if e.failure != nil { // nothing can be settled: let what runs end, it is in the journal
			e.reports = nil
			if e.running() == 0 {
				return e.failure
			}
			if err := e.await(ctx); err != nil {
				return err
			}
			continue
		}
		w := e.wanted()
		if len(e.reports) == 0 && len(w.Candidates) == 0 {
			if e.over() {
				return nil
			}
			if err := e.await(ctx); err != nil {
				return err
			}
			continue
		}
		out, err := e.led.Work(ctx, w)
		if err != nil {
			e.fail(err)
			continue
		}
		e.reports = e.reports[:0]
		e.apply(out)
	}
}

// gather takes what has ended without waiting.
func (e *engine) gather() {
	for {
		select {
		case x := <-e.ended:
			e.receive(x)
		default:
			return
		}
	}
}

func (e *engine) receive(x ended) {
	e.inHand--
	e.reports = append(e.reports, x.Report)
	switch {
	case x.failure != nil:
		e.fail(x.failure)
	case x.halt:
		e.halt(x.Error)
	case x.Outcome == ledger.NotStarted && x.RetryAfter > 0:
		if e.cantStart++; e.cantStart >= maxCantStart {
			e.halt(x.Error)
		}
	case x.Outcome != ledger.NotStarted:
		e.cantStart = 0
		e.sum.Executed++
	}
}

// maxCantStart is how many attempts in a row may fail to start.
const maxCantStart = 10

func (e *engine) halt(why string) {
	if !e.halting {
		e.halting, e.sum.HaltReason = true, why
	}
}

func (e *engine) fail(err error) {
	if e.failure == nil {
		e.failure = err
	}
}

// running is how many claims are with the workers.
func (e *engine) running() int { return e.inHand }

// takeBack takes claims back that no worker has taken up.
func (e *engine) takeBack() {
	for {
		select {
		case en := <-e.work:
			e.inHand--
			e.reports = append(e.reports, notStarted(en))
		default:
			return
		}
	}
}

func notStarted(en ledger.Entry) ledger.Report {
	return ledger.Report{RecordID: en.ID, Fence: en.Fence, Phase: en.Phase, RunID: en.RunID, Outcome: ledger.NotStarted}
}

// wanted is what to settle and what to claim now.
func (e *engine) wanted() ledger.Work {
	w := ledger.Work{RunID: e.sum.RunID, Policy: e.Task.Policy, Reports: e.reports, Asked: func(id int64) bool { return e.asked[id] }}
	if e.stopping() || e.solo && e.running() > 0 {
		return w
	}
	free := e.jobs - e.running()
	if e.Task.Policy.ClaimAhead() {
		ahead := e.pace.ahead()
		if free <= 0 && e.running()-e.jobs > ahead/2 {
			return w // enough is in the queue
		}
		free += ahead
	}
	if e.Limit > 0 {
		free = int(min(int64(free), e.Limit-e.claims))
	}
	if free <= 0 {
		return w
	}
	now := e.now()
	w.Max = free
	w.Candidates = e.backlog.take(max(free, e.window), now)
	if len(w.Candidates) == 0 && len(e.backlog.alone) > 0 && e.running() == 0 {
		w.Alone, w.Max = true, 1
		w.Candidates = e.backlog.alone[:1]
		e.backlog.alone = e.backlog.alone[1:]
	}
	return w
}

// apply takes in what the ledger answered.
func (e *engine) apply(out ledger.Worked) {
	now := e.now()
	for _, s := range out.Settled {
		delete(e.unsettled, s.RecordID)
		if s.Outcome == ledger.NotStarted {
			e.claims--
		}
		if s.Fate == ledger.TooLate {
			e.sum.LateEnds++
		}
		e.sort(ledger.Judged{Entry: s.Entry, Verdict: ledger.Judge(s.Entry, e.Task.Policy, now, e.asked[s.RecordID])}, s.RecordID, now)
		if s.Outcome != ledger.NotStarted {
			e.Observe(Event{Settled: &s})
		}
	}
	e.pace.add(len(out.Settled), now)
	busy := 0
	for _, j := range out.Left {
		e.sort(j, j.Entry.ID, now)
		if j.Do == ledger.Busy {
			busy++
		}
	}
	e.widen(busy, len(out.Left), now)
	e.backlog.again = append(e.backlog.again, out.Rest...)
	e.solo = false
	for _, en := range out.Claimed {
		e.hand(en)
	}
}

// widen looks at more records at once as long as others hold what it finds.
func (e *engine) widen(busy, left int, now time.Time) {
	e.window = min(2*max(e.window, busy), aheadMax)
	if busy == 0 {
		e.window = 0
	}
	if left > busy {
		e.idleSince = time.Time{} // something has moved
		e.backlog.moved(now)
	}
}

// hand gives a claim to the workers.
func (e *engine) hand(en ledger.Entry) {
	e.backlog.claimed(en.ID)
	e.unsettled[en.ID] = en
	e.claims++
	e.inHand++
	e.solo = e.solo || ledger.Alone(en)
	if en.Phase == ledger.Check {
		e.asked[en.ID] = true
	}
	e.idleSince = time.Time{}
	e.work <- en
}

// sort puts a record where it belongs until it is looked at again.
func (e *engine) sort(j ledger.Judged, id int64, now time.Time) {
	switch {
	case j.Do == ledger.Nothing || j.Do == ledger.Hold:
		e.backlog.settled(id)
		e.settled[j.Entry.Status]++
		if j.Entry.Status != ledger.Done && j.Entry.Status != ledger.Skipped && len(e.sum.Troubled) < maxTroubled {
			e.sum.Troubled = append(e.sum.Troubled, j.Entry)
		}
	case j.Do == ledger.Busy:
		e.backlog.held(id, now)
	case j.Do == ledger.Wait:
		e.backlog.wait(id, j.Until)
	case ledger.Alone(j.Entry):
		e.backlog.suspect(id)
	default:
		e.backlog.wait(id, now)
	}
}
