package runner

import (
	"os"
	"time"

	"runner/ledger"
)

// grave is a dead run and what its journal says.
type grave struct {
	run     ledger.Run
	live    liveness
	watched bool // a watchdog ends what acts for it when its lease ends
	def     Definition
	claims  map[int64]claimed // by record
	head    head
	hasHead bool
	batch   []ledger.Report // ends of other claims, not yet replayed
}

// claimed is a claim of a dead run with what its journal says of it.
type claimed struct {
	entry   ledger.Entry
	started *startLine
	pid     int
	ended   *ledger.Report
}

// left looks for processes of the attempts that may have outlived their
// runner.
func (g *grave) left(here host, believed, rebooted bool) (found processes) {
	if rebooted {
		return found
	}
	var maybe []suspectProcess
	for _, c := range g.claims {
		if c.ended == nil && (c.started != nil || !believed) {
			maybe = append(maybe, suspectProcess{attemptID(g.run.ID, c.entry), c.pid})
		}
	}
	if len(maybe) == 0 {
		return found
	}
	found = findProcesses(maybe)
	if g.watched { // what can't be seen from here has been ended there
		found.blind = false
		return found
	}
	if g.hasHead {
		found.blind = found.blind || g.head.PIDNS != here.PIDNS
	} else {
		found.blind = found.blind || g.run.Host != here.Name // a container has a name of its own
	}
	return found
}

func (g *grave) survivor(c claimed, found processes, believed bool, now time.Time) (Survivor, bool) {
	s := Survivor{Key: c.entry.Key, RecordID: c.entry.ID, RunID: g.run.ID, StartedAt: g.run.StartedAt}
	if c.started != nil {
		s.StartedAt = micro(c.started.At)
	}
	if c.ended != nil || c.started == nil && believed {
		return s, false
	}
	t := g.def.Policy.TimeoutOf(c.entry.Phase)
	if t > 0 {
		s.Due = s.StartedAt.Add(t + 2*KillAfter)
	}
	if m, ok := found.alive[attemptID(g.run.ID, c.entry)]; ok {
		s.PID, s.Group = m.pid, m.group
		return s, true
	}
	if !found.blind {
		return s, false
	}
	if t > 0 {
		since := s.StartedAt
		if c.started == nil { // it may have started as late as its runner's last sign of life
			since = g.lastSign()
		}
		s.Until = since.Add(t + 2*KillAfter)
		return s, now.Before(s.Until)
	}
	return s, true
}

// lastSign is when the runner was certainly alive for the last time.
func (g *grave) lastSign() time.Time {
	if info, err := os.Stat(g.run.File); err == nil {
		return info.ModTime()
	}
	return g.run.StartedAt
}

// report is what became of a claim of which nothing is left.
func (g *grave) report(c claimed, believed bool, now time.Time) ledger.Report {
	if c.ended != nil {
		return *c.ended
	}
	r := ledger.Report{
		RecordID: c.entry.ID, Fence: c.entry.Fence, Phase: c.entry.Phase, RunID: g.run.ID,
		StartedAt: g.run.StartedAt, EndedAt: now,
	}
	switch {
	case c.started != nil:
		r.Outcome, r.CutOff = ledger.Unknown, true
		r.StartedAt = micro(c.started.At)
		r.Error = "its runner died during the attempt"
	case believed:
		r.Outcome = ledger.NotStarted
	default:
		r.Outcome, r.CutOff = ledger.Unknown, true
		r.Error = "its runner died, and whether the attempt had started is not known"
	}
	return r
}
