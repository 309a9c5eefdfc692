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
		if !e.lease.held() && e.failure == nil {
			<-e.lease.lostC() // watching says so at once
			e.fail(e.lease.failure())
		}
		if e.stopping() {
			e.takeBack()
		}
		if e.failure != nil { // nothing can be settled: let what runs end, it is in the journal
			e.kept, e.reports = append(e.kept, e.reports...), nil
			if e.running() == 0 {
				e.lastTry(ctx)
				return e.failure
			}
			if err := e.await(ctx); err != nil {
				return err
			}
			continue
		}
		if err := e.passBy(ctx); err != nil {
			e.fail(err)
			continue
		}
		w := e.wanted()
		if len(e.reports) == 0 && len(w.Candidates) == 0 && w.Halt == "" {
			if e.over(ctx) {
				return e.noJournal
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
	e.judgeAttempt(x.Report)
	if x.failure != nil {
		e.noJournal = x.failure
		e.unwritten = append(e.unwritten, x.Report)
	}
	switch {
	case x.halt:
		e.halt(x.Error)
	case x.Outcome == ledger.NotStarted && x.RetryAfter > 0:
		e.cantBeStarted(x.Report)
	case x.Outcome != ledger.NotStarted:
		e.cantStart = 0
		if x.Phase == ledger.Act {
			e.sum.Executed++
		}
	}
}

// maxCantStart is how often in a row attempts may fail to start.
const maxCantStart = 10

// breath is how long the run waits after a failed start; it doubles.
var breath = 100 * time.Millisecond

// cantBeStarted lets the system take breath when it can't start processes.
// Workers that fail at the same moment fail for the same reason, once.
func (e *engine) cantBeStarted(r ledger.Report) {
	if r.StartedAt.Before(e.paused) {
		return
	}
	if e.cantStart++; e.cantStart >= maxCantStart {
		e.halt(r.Error)
	}
	e.breathing = e.now().Add(min(breath<<(e.cantStart-1), 50*breath))
	e.paused = e.breathing
}

func (e *engine) halt(why string) {
	if !e.halting {
		e.halting, e.sum.HaltReason, e.haltNews = true, why, why
	}
}

func (e *engine) fail(err error) {
	if e.failure == nil {
		e.failure = err
	}
}

// lastTry settles what has ended after the ledger failed, in case it can be
// written again. If not, the next start takes it from the journal.
func (e *engine) lastTry(ctx context.Context) {
	if len(e.kept) == 0 {
		return
	}
	out, err := e.led.Work(ctx, ledger.Work{Run: e.row, Policy: e.Task.Policy, Reports: e.kept})
	if err != nil {
		return
	}
	e.kept = nil
	e.apply(out)
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
	w := ledger.Work{
		Run: e.row, Policy: e.Task.Policy, Reports: e.reports, Held: e.unsettled, Halt: e.haltNews, AskOnly: e.AskOnly,
		Asked: e.hasAsked,
	}
	free := e.room()
	now := e.now()
	if e.rate != nil {
		free = min(free, int(e.rate.TokensAt(now)))
	}
	if free <= 0 || now.Before(e.paused) {
		return w
	}
	w.Max = free
	w.Candidates = e.backlog.take(max(free, e.window), now)
	if len(w.Candidates) == 0 && len(e.backlog.alone) > 0 && e.running() == 0 {
		w.Alone, w.Max = true, 1
		w.Candidates = e.backlog.alone[:1]
		e.backlog.alone = e.backlog.alone[1:]
	}
	return w
}

// room is how many claims the workers can take now.
func (e *engine) room() int {
	if e.stopping() || e.solo && e.running() > 0 {
		return 0
	}
	free := e.jobs - e.running()
	if e.Task.Policy.ClaimAhead() {
		ahead := e.pace.ahead(e.now())
		if free <= 0 && e.running()-e.jobs > ahead/2 {
			return 0 // enough is in the queue
		}
		free += ahead
	}
	if e.Limit > 0 && !e.limited {
		free = int(min(int64(free), e.Limit-int64(e.begun.GetCardinality())))
	}
	return free
}

// apply takes in what the ledger answered.
func (e *engine) apply(out ledger.Worked) {
	now := e.now()
	e.haltNews = ""
	e.paused = later(ledger.Pause(out.Batch, e.Task.Policy, now), e.breathing)
	if ledger.Halted(out.Batch, e.row.StartedAt) {
		e.halting, e.sum.HaltReason = true, out.Batch.HaltReason
	}
	for i := range out.Settled {
		s := &out.Settled[i]
		delete(e.unsettled, s.RecordID)
		if s.Fate == ledger.TooLate {
			e.sum.LateEnds++
		}
		e.sort(ledger.Judged{Entry: s.Entry, Verdict: ledger.Judge(s.Entry, e.Task.Policy, now, e.hasAsked(s.RecordID))}, s.RecordID, now)
		if s.Outcome != ledger.NotStarted {
			e.Observe(Event{Settled: s})
		}
	}
	e.pace.add(len(out.Settled), now)
	busy := 0
	for _, j := range out.Left {
		e.sort(j, j.Entry.ID, now)
		if j.Do == ledger.Busy {
			busy++
		}
		if j.Do == ledger.Busy || j.Entry.Status == ledger.Done {
			e.backlog.fresh.shared = true
		}
	}
	e.widen(busy, len(out.Left), now)
	e.backlog.again = append(e.backlog.again, out.Rest...)
	e.solo = false
	for _, en := range out.Claimed {
		e.hand(en)
	}
	if e.Limit > 0 && !e.limited && int64(e.begun.GetCardinality()) >= e.Limit {
		e.limited = true
		e.backlog.keepOnly(e.begun)
	}
}

func (e *engine) hasAsked(id int64) bool { return e.asked.Contains(uint64(id)) }

// widen looks at more records at once as long as others have, or have done,
// what it finds: a run that is behind the others catches up.
func (e *engine) widen(busy, left int, now time.Time) {
	e.window = min(2*max(e.window, left), aheadMax)
	if left == 0 {
		e.window = 0
	}
	if left > busy {
		e.idleSince = time.Time{} // something has moved
		e.backlog.moved(now)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// hand gives a claim to the workers.
func (e *engine) hand(en ledger.Entry) {
	e.backlog.claimed(en.ID)
	e.unsettled[en.ID] = en
	e.begun.Add(uint64(en.ID))
	e.inHand++
	if e.rate != nil {
		e.rate.AllowN(e.now(), 1)
	}
	e.solo = e.solo || ledger.Alone(en)
	if en.Phase == ledger.Check {
		e.asked.Add(uint64(en.ID))
	}
	e.idleSince = time.Time{}
	e.work <- en
}

// sort puts a record where it belongs until it is looked at again.
func (e *engine) sort(j ledger.Judged, id int64, now time.Time) {
	switch {
	case j.Do == ledger.Nothing || j.Do == ledger.Hold || e.AskOnly && j.Do != ledger.StartCheck && j.Do != ledger.Busy:
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
