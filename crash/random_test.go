//go:build linux

package crash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"runner/internal/dbtest"
)

// TestNothingIsDoneTwiceOrLostHoweverItIsKilled lets runs live and die at
// random moments: one or several at once, killed alone, with their actions or
// after a stop, joined by others, with reruns between. When nothing is alive
// any more, a plain run must have put right what can be.
func TestNothingIsDoneTwiceOrLostHoweverItIsKilled(t *testing.T) {
	lives(t, "sqlite", *killsFlag, func(testing.TB) string { return "" })
}

// The same lives, with a ledger on PostgreSQL: the watchdogs are killed with
// the actions, and the runners then must end by themselves.
func TestNothingOnAServerIsDoneTwiceOrLostHoweverItIsKilled(t *testing.T) {
	dbtest.SharedPostgres(t)
	lives(t, "postgres", *killsFlag/3, dbtest.Postgres)
}

func lives(t *testing.T, kind string, kills int, ledger func(testing.TB) string) {
	for _, m := range []mode{hold, idempotent, checked} {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			if m == checked && !hasCheck(t) {
				t.Skip("this runner takes no check: yet")
			}
			var all tally
			began := time.Now()
			for i := uint64(0); all.kills < kills || time.Since(began) < *forFlag; i++ {
				seed := *seedFlag + i
				t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
					defer func() {
						if t.Failed() {
							t.Logf("again: go test ./crash -run '%s/%s' -crash.kills 1 -crash.seed %d", strings.Split(t.Name(), "/")[0], m, seed)
						}
					}()
					all.add(live(t, ledger(t), m, seed))
				})
				if t.Failed() {
					break
				}
			}
			fmt.Printf("crash: %s, %s: seed %d: %v in %v\n", kind, m, *seedFlag, all, time.Since(began).Round(time.Second))
		})
	}
}

func hasCheck(t *testing.T) bool {
	b := newBed(t, 1, checkLine)
	p := b.start(nil, nil, "tasks", "validate")
	return p.code() == 0
}

const checkLine = `check: [sh, check.sh, "{{.biz_id}}"]`

// life is what one ledger goes through.
type life struct {
	*bed
	mode mode
	r    *rand.Rand
	live []*proc
	tally
}

func live(t *testing.T, ledger string, m mode, seed uint64) tally {
	r := rand.New(rand.NewPCG(seed, uint64(m)))
	l := &life{mode: m, r: r}
	l.bed = newBedOn(t, ledger, 20+r.IntN(60), l.options()...)
	for i := r.IntN(4); i > 0; i-- {
		l.write("fail/"+l.ids[r.IntN(len(l.ids))], "")
	}
	for round := 5 + r.IntN(15); round > 0 && !l.over(); round-- {
		l.round()
	}
	l.settle()
	l.add(l.verify(m))
	return l.tally
}

func (l *life) options() []string {
	attempts := 2 + l.r.IntN(4)
	if l.mode == idempotent {
		attempts = 400 // each kill may take one; when they are used up, a person has to decide
	}
	o := []string{"timeout: 30s", fmt.Sprintf("retry: {attempts: %d, backoff: 1ms, max_backoff: 4ms}", attempts)}
	switch l.mode {
	case idempotent:
		o = append(o, "idempotent: true")
	case checked:
		// Not idempotent besides: a check that is killed can't tell, and then a
		// record that may be repeated is.
		o = append(o, checkLine)
		if l.chance(3) {
			o = append(o, "check_first: true")
		}
	}
	return o
}

// chance is true once in n times.
func (l *life) chance(n int) bool { return l.r.IntN(n) == 0 }

// over tells whether no record is left for a run.
func (l *life) over() bool { return len(l.count("effects")) == len(l.ids) && l.chance(3) }

// round starts runs, waits for a moment and kills.
func (l *life) round() {
	l.live = slices.DeleteFunc(l.live, l.ended)
	for i := l.runs(); i > 0 && len(l.live) < 3; i-- {
		l.live = append(l.live, l.startOne())
	}
	l.moment()
	victim := l.live[l.r.IntN(len(l.live))]
	if l.chance(6) { // stopped for a while, and others go on
		_ = victim.Process.Signal(syscall.SIGSTOP)
		l.moment()
		if l.chance(2) {
			_ = victim.Process.Signal(syscall.SIGCONT)
			l.moment()
		}
	}
	if l.chance(6) {
		l.killActions()
	}
	if victim.kill(l.chance(3)) {
		l.kills++
	}
	if l.chance(4) { // as when a container ends
		l.killActions()
	}
	if l.chance(4) {
		for _, p := range l.live {
			if p != victim && p.kill(false) {
				l.kills++
			}
		}
	}
}

func (l *life) runs() int {
	if l.chance(3) {
		return 2 + l.r.IntN(2)
	}
	return 1
}

// startOne starts a run, or now and then a rerun of what failed.
func (l *life) startOne() *proc {
	naps := []string{"", "", "0.001", "0.005", "0.02"}
	env := []string{"BEFORE=" + naps[l.r.IntN(len(naps))], "AFTER=" + naps[l.r.IntN(len(naps))]}
	args := []string{"run", task, "--date", date, "-j", strconv.Itoa(1 + l.r.IntN(8))}
	switch {
	case l.chance(8) && l.size("started") > 0: // without a ledger it ends with 7
		args = []string{"rerun", task, "--date", date, "--status", "failed"}
	case l.chance(10) && l.size("started") > 0:
		args = []string{"recover"}
	}
	return l.start(nil, env, args...)
}

// ended takes the end of a process: nothing unforeseen may be in it.
func (l *life) ended(p *proc) bool {
	if p.ended() {
		l.expect(p, l.codes()...)
	}
	return p.ended()
}

// codes are how a process may end that is not killed itself.
func (l *life) codes() []int {
	codes := []int{-1, 0, 1, 3, 5}
	if l.address != "" { // its watchdog may have been killed
		codes = append(codes, 7)
	}
	return codes
}

// moment waits for a random time, or until some more attempts have started
// or taken effect.
func (l *life) moment() {
	end := time.Now().Add(time.Duration(l.r.IntN(60)) * time.Millisecond)
	name, more := "started", int64(-1)
	if l.chance(2) {
		name = "effects"
	}
	if l.chance(2) {
		more = int64(1 + l.r.IntN(8))
		end = time.Now().Add(300 * time.Millisecond)
	}
	for before := l.size(name); time.Now().Before(end); time.Sleep(500 * time.Microsecond) {
		if more >= 0 && l.size(name)-before >= more*50 { // a line is about that long
			return
		}
	}
}

// killActions kills actions and whatever else of them, not their runners.
func (l *life) killActions() {
	ours := map[int]bool{}
	for _, p := range l.live {
		ours[p.Process.Pid] = true
	}
	for _, pid := range l.processes() {
		if !ours[pid] {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// settle lets everything end, and does what a person would.
func (l *life) settle() {
	for _, p := range l.live {
		_ = p.Process.Signal(syscall.SIGCONT)
		l.expect(p, l.codes()...)
	}
	l.quiet()
	l.must(os.RemoveAll(l.path("fail")))
	l.must(os.Mkdir(l.path("fail"), 0o700))
	l.plain(0, 1, 3)
	l.run([]int{0, 3}, "rerun", task, "--date", date, "--status", "failed")
	l.quiet()
}
