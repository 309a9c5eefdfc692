package runner

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"runner/ledger"
)

// plan is what is drawn for one run.
type plan struct {
	input     []string
	records   []int64 // of a rerun, instead
	all       bool    // include what the input doesn't hold
	jobs      int
	limit     int
	askOnly   bool
	contained bool // in a container that others can't look into
	deeds     []deed
	takes     time.Duration // an action
	maxWait   time.Duration // 0: as a task has it that says nothing
	doom      doom
	during    *event
}

// GoString is what rapid shows of it.
func (p plan) GoString() string {
	s := []string{strings.Join(p.input, "")}
	add := func(yes bool, format string, args ...any) {
		if yes {
			s = append(s, fmt.Sprintf(format, args...))
		}
	}
	add(p.all, "and absent")
	add(p.jobs > 1, "jobs %d", p.jobs)
	add(p.limit > 0, "limit %d", p.limit)
	add(p.askOnly, "only ask")
	add(p.contained, "in a container")
	add(len(p.deeds) > 0, "deeds %v", p.deeds)
	add(p.takes > 0, "each takes %v", p.takes)
	add(p.doom.at != nowhere, "doom: %s", p.doom)
	if p.during != nil {
		s = append(s, fmt.Sprintf("during start %d: %#v", p.during.nth, *p.during))
	}
	return strings.Join(s, ", ")
}

// place is where a process meets its doom.
type place int

const (
	nowhere place = iota
	dieBeforeCommit
	dieInCommit // rolled back
	dieAfterCommit
	dieBeforeEffect
	dieAfterEffect
	failBefore
	failInCommit
	failAfterCommit // it is durable, and said to have failed
	journalFull
	asked
	askedTwice
	placeCount
)

func (p place) String() string {
	return [...]string{"nowhere", "before commit", "in commit", "after commit", "before the effect of start", "after the effect of start",
		"write fails at", "commit fails at", "commit is durable and fails at", "journal is full at start", "asked to stop at start", "asked twice to stop at start"}[p]
}

// duringStart tells whether it is met at a start of an action, not at a commit.
func (p place) duringStart() bool {
	return p == dieBeforeEffect || p == dieAfterEffect || p >= journalFull
}

// lasts tells whether it can go on.
func (p place) lasts() bool { return p >= failBefore && p <= failAfterCommit }

type doom struct {
	at       place
	n        int  // of the commit or start
	stays    bool // a fault stays
	survives bool // a running action outlives its runner
	reboots  bool // and the machine with it
	torn     int  // bytes of the journal that the machine hadn't written
}

func (d doom) String() string {
	s := fmt.Sprintf("%s %d", d.at, d.n)
	if d.at.lasts() && d.stays {
		s += " and from then on"
	}
	if d.reboots {
		return s + fmt.Sprintf(" with the machine, and %d bytes", d.torn)
	}
	if d.survives && !d.at.lasts() {
		s += ", actions survive"
	}
	return s
}

// drawPlan draws a run. Everything shrinks to a plain run of one record.
func drawPlan(t *rapid.T, nested bool) plan {
	p := plan{
		input: rapid.SliceOfNDistinct(rapid.SampledFrom(bizIDs), 1, len(bizIDs), rapid.ID).Draw(t, "input"),
		all:   rarely(t, 4), jobs: 1 + rapid.IntRange(0, 2).Draw(t, "jobs"), askOnly: rarely(t, 10),
		deeds: rapid.SliceOfN(drawDeed, 0, 6).Draw(t, "deeds"),
		takes: rapid.SampledFrom([]time.Duration{0, 0, time.Second, 40 * time.Second}).Draw(t, "takes"),
	}
	if rarely(t, 5) {
		p.limit = rapid.IntRange(1, 2).Draw(t, "limit")
	}
	if rapid.Bool().Draw(t, "doomed") {
		p.doom.at = place(rapid.IntRange(0, int(placeCount)-1).Draw(t, "place"))
		p.doom.n = rapid.IntRange(1, 9).Draw(t, "n")
		if p.doom.at.duringStart() {
			p.doom.n = (p.doom.n + 1) / 2
		}
		p.doom.stays, p.doom.survives = rapid.Bool().Draw(t, "stays"), rapid.Bool().Draw(t, "survives")
		if !nested && rarely(t, 4) {
			p.doom.reboots, p.doom.torn = true, rapid.IntRange(0, 200).Draw(t, "torn")
		}
		p.contained = rarely(t, 5)
	}
	if !nested && rarely(t, 4) {
		p.during = drawEvent(t, true)
		p.during.nth = rapid.IntRange(1, 3).Draw(t, "nth")
		p.doom.reboots = false // the other process would have to die too
	}
	return p
}

// drawDeed draws rather what leaves a doubt.
var drawDeed = rapid.SampledFrom([]deed{
	succeeds, succeeds, succeeds, vanishes, vanishes, vanishes, stops, stops, fails, fails,
	halves, postpones, gives, cantStart, hangs, hangs, idles,
})

func rarely(t *rapid.T, n int) bool { return rapid.IntRange(0, n-1).Draw(t, "rarely") == n-1 }

func drawPolicy(t *rapid.T) ledger.Policy {
	p := ledger.DefaultPolicy()
	kind := rapid.SampledFrom([]string{"hold", "idempotent", "check", "check", "both"}).Draw(t, "kind")
	p.Idempotent = kind == "idempotent" || kind == "both"
	p.Check = kind == "check" || kind == "both"
	p.Compensate = p.Check && rapid.Bool().Draw(t, "compensate")
	p.CheckFirst = p.Check && rapid.Bool().Draw(t, "check_first")
	if p.Check {
		p.CheckAfter = rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "check_after")
	}
	p.Attempts = rapid.IntRange(1, 3).Draw(t, "attempts")
	p.Backoff = rapid.SampledFrom([]time.Duration{time.Second, time.Hour}).Draw(t, "backoff")
	p.MaxBackoff = p.Backoff
	return p
}
