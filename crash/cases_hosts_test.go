//go:build linux

package crash

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"runner/internal/dbtest"
)

// twoHosts is a bed on a server, with a task that takes part of its time
// before its effect.
func twoHosts(t *testing.T, n int, clock time.Duration, options ...string) (b *bed, one, two *host) {
	needHosts(t)
	dbtest.SharedPostgres(t)
	t.Parallel()
	b = newBedOn(t, dbtest.Postgres(t), n, options...)
	return b, b.host("one", 0), b.host("two", clock)
}

// share starts a run that waits for what others hold.
func (h *host) share(before, after string) *proc {
	h.live = h.start([]string{"BEFORE=" + before, "AFTER=" + after}, "run", task, "--date", date, "-j", "2", "-o", "json", "--wait", "60s")
	return h.live
}

// now is a run that waits for nobody.
func (h *host) now(codes ...int) summary {
	h.b.t.Helper()
	p := h.start(nil, "run", task, "--date", date, "-o", "json", "--wait", "0s")
	h.b.expect(p, codes...)
	return p.summary()
}

// Case 57: a node that is cut off, or stopped, goes on with what others take
// over. It ends its own actions before the lease does; where it can't, its
// watchdog does.
func TestCase57ANodeThatIsCutOffEndsItsActionsBeforeOthersTakeOver(t *testing.T) {
	for name, lose := range map[string]func(h *host){
		"cut off": func(h *host) { h.proxy.SetDown(true) },
		"stopped": func(h *host) { h.signal(syscall.SIGSTOP) },
		"killed":  func(h *host) { h.live.kill(false) },
		"down":    func(h *host) { h.die() },
	} {
		for _, m := range []mode{hold, checked} {
			t.Run(name+"/"+m.String(), func(t *testing.T) {
				options := []string{"timeout: 5m"}
				if m == checked {
					options = append(options, checkLine, "check_after: 0s")
				}
				b, one, two := twoHosts(t, 2, 0, options...)
				p := one.share("100", "")
				b.upTo("started", 2)
				lose(one)
				q := two.share("", "")
				code := 3
				if m == checked {
					code = 0
				}
				b.expect(q, code)
				if s := q.summary(); s.Executed != map[mode]int{hold: 0, checked: 2}[m] {
					t.Errorf("%+v", s)
				}
				one.signal(syscall.SIGCONT)
				one.proxy.SetDown(false)
				b.expect(p, -1, 7)
				b.quiet()
				if one.init == nil {
					one.boot()
				}
				b.expect(one.start(nil, "recover"), 0, 3)
				b.swept(one.runs())
				b.swept(two.runs())
				b.verify(m)
			})
		}
	}
}

// Case 58: a host whose clock is wrong finds no lease over that isn't.
func TestCase58AClockThatIsWrongStealsNoLease(t *testing.T) {
	for _, by := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		t.Run(by.String(), func(t *testing.T) {
			b, one, two := twoHosts(t, 2, by)
			p := one.share("1", "1")
			b.upTo("started", 2)
			if s := two.now(5); s.Result != "busy" || s.Executed != 0 || len(s.HeldBy) != 1 {
				t.Errorf("%+v", s)
			}
			b.expect(two.start(nil, "recover"), 0)
			b.expect(p, 0)
			b.plain(0)
			b.verify(hold)

			// And it is the one whose run the other doesn't take for dead.
			b.write("ids", "v1\nv2\n")
			b.ids = []string{"u00000", "u00001", "v1", "v2"}
			p = two.share("1", "1")
			b.upTo("started", 4)
			if s := one.now(5); s.Result != "busy" || s.Executed != 0 {
				t.Errorf("%+v", s)
			}
			b.expect(p, 0)
			b.plain(0)
			b.verify(hold)
		})
	}
}

// Case 59: a lease that ends before the actions of a lost run can is refused
// at the start. How long actions take doesn't matter: a lease is renewed.
func TestCase59ALeaseThatIsTooShortIsRefusedAndALongActionOutlivesIts(t *testing.T) {
	b, one, two := twoHosts(t, 1, 0, "timeout: 80s")
	config := strings.Join(b.lines("runner.yaml"), "\n")
	b.write("runner.yaml", strings.Replace(config, "lease: 14s", "lease: 13s", 1))
	p := one.share("", "")
	b.expect(p, 2)
	if text := p.stderr(); !strings.Contains(text, "runner.yaml:2:8: ") || !strings.Contains(text, "a lease of 13s is too short") {
		t.Errorf("it says\n%s", text)
	}
	if n := len(b.lines("started")); n != 0 {
		t.Errorf("%d attempts were started", n)
	}
	b.write("runner.yaml", config)
	p = one.share("20", "")
	b.upTo("started", 1)
	q := two.share("", "")
	b.expect(p, 0)
	b.expect(q, 0)
	if s := q.summary(); s.Executed != 0 {
		t.Errorf("%+v", s)
	}
	b.verify(hold)
}

// Case 60: what a host had settled before it went down isn't done again; only
// what it was at is taken over.
func TestCase60OnlyWhatIsNotSettledIsTakenOver(t *testing.T) {
	b, one, two := twoHosts(t, 6, 0, checkLine, "check_after: 0s")
	one.share("", "2")
	b.upTo("effects", 4) // two are settled, two have their effect, two weren't started
	one.die()
	q := two.share("", "")
	b.expect(q, 0)
	if s := q.summary(); s.Executed != 2 {
		t.Errorf("%+v", s)
	}
	b.verify(checked)
	for id, n := range b.count("started") {
		if n != 1 {
			t.Errorf("%s was started %d times", id, n)
		}
	}
}

// Case 61: what a crashed run holds takes no place away from others: each run
// counts its own jobs, and the rest of the batch doesn't wait for the lease.
func TestCase61ACrashedHolderKeepsNoPlace(t *testing.T) {
	b, one, two := twoHosts(t, 6, 0)
	one.share("100", "")
	b.upTo("started", 2)
	one.die()
	began := time.Now()
	q := two.share("", "")
	b.upTo("effects", 4)
	if d := time.Since(began); d > lease-4*time.Second {
		t.Errorf("the others were done after %v", d)
	}
	b.expect(q, 3)
	if s := q.summary(); s.Executed != 4 || s.Counts["in_doubt"] != 2 {
		t.Errorf("%+v", s)
	}
	b.verify(hold)
}
