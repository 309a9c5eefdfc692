package runner

import (
	"context"
	"errors"
	"os"
	"slices"

	"pgregory.net/rapid"

	"runner/ledger"
)

// check compares the ledger with the world. No run is alive.
func (m *model) check(t *rapid.T) {
	m.expire()
	open := m.openRuns()
	entries := m.entries()
	var counts ledger.Counts
	for _, biz := range bizIDs {
		e, ok := entries[biz]
		if !ok {
			continue
		}
		counts[e.Status]++
		f := m.facts[biz]
		m.checkEntry(f, e)
		m.checkOutcomes(f, e, open)
		f.seen = e
	}
	b, err := m.batch()
	if err == nil && b.Counts != counts {
		m.complain("the batch counts %v, and holds %v", b.Counts, counts)
	}
	m.judge(t)
}

// judge ends the check if anything was wrong.
func (m *model) judge(t *rapid.T) {
	for _, w := range m.wrong {
		t.Logf("WRONG: %s", w)
	}
	if len(m.wrong) > 0 {
		panic(errBroken)
	}
}

func (m *model) batch() (b ledger.Batch, err error) {
	err = m.st.View(context.Background(), func(r ledger.Reader) (err error) {
		b, err = r.Batch("grant", "2026-11-28")
		return err
	})
	if !errors.Is(err, ledger.ErrNotFound) {
		must2(err)
	}
	return b, err
}

func (m *model) openRuns() map[string]bool {
	runs, err := m.led.OpenRuns(context.Background())
	must2(err)
	open := map[string]bool{}
	for _, r := range runs {
		open[r.ID] = true
	}
	return open
}

// checkEntry: what the ledger says is true.
func (m *model) checkEntry(f *fact, e ledger.Entry) {
	there := f.whole[e.Generation] > 0
	sure := e.Detail != ledger.DetailMarked && !f.excused[e.Generation]
	was := f.seen
	switch {
	case e.Fence < was.Fence:
		m.complain("%s: fence %d after %d", e.BizID, e.Fence, was.Fence)
	case e.Attempts < 0 || e.Attempts > m.policy.Attempts:
		m.complain("%s: %d attempts of %d", e.BizID, e.Attempts, m.policy.Attempts)
	case was.Status == ledger.Done && (e.Status != ledger.Done || e.Generation != was.Generation) && e.Generation <= was.Generation:
		m.complain("%s was done, and is %s in generation %d (promise 2)", e.BizID, e.Status, e.Generation)
	case e.Status == ledger.Done && e.Detail != ledger.DetailMarked && !there:
		m.complain("%s is done without its effect (promise 4)", e.BizID)
	case e.Status == ledger.Failed && sure && !m.policy.Idempotent && (there || f.half[e.Generation]):
		m.complain("%s is failed, and its effect is there (promise 4)", e.BizID)
	case m.hold() && f.unknown && !slices.Contains([]ledger.Status{ledger.InDoubt, ledger.Running, ledger.Skipped}, e.Status):
		m.complain("%s is %s, and nobody knows how its attempt ended (promise 4)", e.BizID, e.Status)
	case m.policy.Check && !m.policy.Idempotent && !f.excused[e.Generation] && f.whole[e.Generation] > 1:
		m.complain("%s took effect %d times", e.BizID, f.whole[e.Generation])
	}
	for _, tr := range f.trials {
		if tr.living && e.Status != ledger.Running {
			m.complain("%s is %s, and the %s of run %d is still at it (promise 1)", e.BizID, e.Status, tr.phase, tr.proc.no)
		}
	}
}

// checkOutcomes: no certain outcome of the action is lost once its run is
// over, and the newest decides what becomes of the record (promise 5).
func (m *model) checkOutcomes(f *fact, e ledger.Entry, open map[string]bool) {
	_, story, err := m.led.Story(context.Background(), e.Key)
	must2(err)
	var newest *trial
	for _, tr := range f.trials {
		if tr.phase != ledger.Check {
			newest = tr
		}
		if tr.phase != ledger.Act || !tr.known || !tr.outcome.Certain() || open[tr.proc.e.sum.RunID] {
			continue
		}
		if !slices.ContainsFunc(story, func(a ledger.Attempt) bool {
			return a.Fence == tr.fence && (a.Status != ledger.InDoubt || a.Late != "")
		}) {
			m.complain("%s: nothing tells that the attempt with fence %d %s (promise 5)", e.BizID, tr.fence, tr.outcome)
		}
	}
	if newest == nil || newest.phase != ledger.Act || !newest.known || open[newest.proc.e.sum.RunID] || f.decided > newest.fence {
		return
	}
	switch {
	case newest.outcome == ledger.Succeeded && e.Status != ledger.Done, newest.outcome == ledger.FailedForGood && e.Status != ledger.Failed:
		m.complain("%s is %s, and its newest attempt %s (promise 5)", e.BizID, e.Status, newest.outcome)
	}
}

// settled: after an undisturbed run nothing is left that it could have done.
func (m *model) settled() {
	for biz, e := range m.entries() {
		f := m.facts[biz]
		switch e.Status {
		case ledger.Pending, ledger.Running:
			m.complain("%s is still %s", biz, e.Status)
		case ledger.InDoubt:
			switch {
			case m.policy.Check && !f.half[e.Generation]:
				m.complain("%s is in doubt (%s), and a check can tell", biz, e.Detail)
			case m.policy.Idempotent && !m.policy.Check && e.Attempts < m.policy.Attempts:
				m.complain("%s is in doubt after %d attempts of %d, and could be repeated", biz, e.Attempts, m.policy.Attempts)
			}
		}
	}
	if open := m.openRuns(); len(open) > 0 {
		m.complain("%d runs are still open", len(open))
	}
	if b, _ := m.batch(); b.OpenPlanRun != "" {
		m.complain("a plan is still open")
	}
	files, err := os.ReadDir(m.st.RunsDir())
	if err == nil && len(files) > 0 {
		m.complain("%d run files are left", len(files))
	}
}
