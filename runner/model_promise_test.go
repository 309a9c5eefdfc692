package runner

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestNoHistoryBreaksThePromise lets anything happen to a batch that can
// happen to it on one host, in any order, and compares the ledger with the
// world after each step. Runs are whole runs of the engine on an SQLite
// ledger; time is that of a bubble, so nothing waits.
//
// More of it: go test ./runner -run NoHistory -rapid.checks=10000
func TestNoHistoryBreaksThePromise(t *testing.T) {
	base := "/dev/shm" // a machine's death isn't left to the file system here
	if _, err := os.Stat(base); err != nil {
		base = t.TempDir()
	}
	old := findProcesses
	defer func() { findProcesses = old }()
	rapid.Check(t, func(rt *rapid.T) {
		var m *model
		escape := inBubble(t, func() {
			dir, err := os.MkdirTemp(base, "runner-model-")
			must2(err)
			defer os.RemoveAll(dir)
			m = newModel(dir, drawPolicy(rt))
			defer m.close()
			findProcesses = m.processTable
			rt.Logf("policy: %s", m.words())
			m.live(rt)
		})
		switch {
		case escape == errBroken:
			rt.Fatal(m.wrong[0])
		case escape != nil:
			panic(escape) // by which rapid ends a check
		}
	})
}

// errBroken ends the steps when the promise is broken.
var errBroken = errors.New("the promise is broken")

// inBubble gives the panic that would leave the bubble.
func inBubble(t *testing.T, fn func()) (escape any) {
	synctest.Test(t, func(*testing.T) {
		defer func() { escape = recover() }()
		fn()
	})
	return escape
}

// live takes steps until rapid has enough, and then lets a last run come
// through undisturbed.
func (m *model) live(rt *rapid.T) {
	step := func(name string, fn func(*rapid.T)) func(*rapid.T) {
		return func(t *rapid.T) {
			m.said = nil
			fn(t)
			t.Logf("%s: %s", name, strings.Join(m.said, ", "))
		}
	}
	run := step("run", func(t *rapid.T) { m.start(planned.Draw(t, "run")).run() })
	rt.Repeat(map[string]func(*rapid.T){
		"":    m.check,
		"run": run, "run again": run, "run once more": run,
		"two runs at once": step("two runs", func(t *rapid.T) {
			a, b := m.start(besides.Draw(t, "one")), m.start(besides.Draw(t, "other"))
			var both sync.WaitGroup
			both.Go(a.run)
			both.Go(func() {
				b.stagger("a")
				b.run()
			})
			both.Wait()
		}),
		"operator": step("operator", func(t *rapid.T) { m.obeys(ordered.Draw(t, "order")) }),
		"recover":  step("recover", func(*rapid.T) { m.recovers() }),
		"survivor": step("survivor", func(t *rapid.T) {
			m.ends(rapid.IntRange(0, 3).Draw(t, "which"), rapid.Bool().Draw(t, "applied"))
		}),
		"clock":   step("clock", func(t *rapid.T) { m.skew.Add(int64(drawClock.Draw(t, "by"))) }),
		"input":   step("input", func(t *rapid.T) { m.facts[rapid.SampledFrom(bizIDs).Draw(t, "changes")].version++ }),
		"restart": step("restart", func(*rapid.T) { m.reboot() }),
	})
	for len(m.alive) > 0 {
		m.ends(0, false)
	}
	m.skew.Store(int64(1000 * 24 * time.Hour)) // beyond all that the clock was set to
	m.said = nil
	m.start(plan{input: bizIDs, all: true, jobs: 1, maxWait: 72 * time.Hour}).run()
	rt.Logf("last run: %s", strings.Join(m.said, ", "))
	m.check(rt)
	m.settled()
	m.judge(rt)
}

var (
	planned = rapid.Custom(func(t *rapid.T) plan { return drawPlan(t, false) })
	besides = rapid.Custom(func(t *rapid.T) plan { return drawPlan(t, true) })
	ordered = rapid.Custom(drawOrder)
)

// words tells the policy.
func (m *model) words() string {
	var s []string
	for _, w := range []struct {
		yes  bool
		name string
	}{
		{m.hold(), "hold"}, {m.policy.Idempotent, "idempotent"}, {m.policy.Check, "check"}, {m.policy.Compensate, "compensate"}, {m.policy.CheckFirst, "check_first"},
	} {
		if w.yes {
			s = append(s, w.name)
		}
	}
	return strings.Join(s, " ")
}
