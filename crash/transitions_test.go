//go:build linux

package crash

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

// The transitions of one record, as they can be told from what is left.
const (
	noLedger   = "while the ledger was made"
	notBegun   = "before any claim's commit"
	isClaimed  = "between the claim's commit and the journal"
	isStarted  = "between the journal and the effect"
	hasEffect  = "between the effect and its end in the journal"
	hasEnded   = "between the end in the journal and the settle commit"
	isSettled  = "between a settle commit and the next claim" // rare: mostly they are one
	allSettled = "after the last settle commit"
)

// needStrace gives a strace that follows the threads of the program and none
// of its actions.
func needStrace(t testing.TB, inject ...string) []string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	front := []string{path, "-f", "-b", "execve", "-qqq", "-o", "/dev/null"}
	for _, i := range inject {
		calls, _, _ := strings.Cut(i, ":")
		front = append(front, "-e", "trace="+calls, "-e", "inject="+i)
	}
	if out, err := exec.Command(path, "-f", "-b", "execve", "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		t.Skipf("strace can't trace here: %s", out)
	}
	return front
}

// TestARunnerKilledAtAnySystemCallIsPutRight walks over the system calls of a
// run: it is killed at the first, at the second and so on, of each thread.
// The walk must have met every transition.
func TestARunnerKilledAtAnySystemCallIsPutRight(t *testing.T) {
	needStrace(t)
	var mu sync.Mutex
	seen := map[string]int{}
	var all tally
	began := time.Now()
	t.Run("walk", func(t *testing.T) {
		for _, call := range []string{"pwrite64", "fsync,fdatasync", "write", "clone,clone3", "ftruncate,unlinkat,renameat", "waitid,wait4,pipe2"} {
			for _, m := range []mode{hold, checked} {
				t.Run(m.String()+"/"+call, func(t *testing.T) {
					t.Parallel()
					if m == checked && !hasCheck(t) {
						t.Skip("this runner takes no check: yet")
					}
					walk(t, m, call, func(at string, one tally) {
						mu.Lock()
						defer mu.Unlock()
						seen[at]++
						all.add(one)
					})
				})
			}
		}
	})
	var lines []string
	for at, n := range seen {
		lines = append(lines, fmt.Sprintf("%4d %s", n, at))
	}
	sort.Strings(lines)
	t.Logf("%v in %v, killed\n%s", all, time.Since(began).Round(time.Second), strings.Join(lines, "\n"))
	fmt.Printf("crash: system calls: %v in %v\n", all, time.Since(began).Round(time.Second))
	for _, at := range []string{noLedger, notBegun, isClaimed, isStarted, hasEffect, hasEnded, allSettled} {
		if seen[at] == 0 {
			t.Errorf("no run was killed %s", at)
		}
	}
}

// walk kills at the n-th call for each n, until no thread calls so often.
func walk(t *testing.T, m mode, call string, note func(string, tally)) {
	step := 1
	if call == "pwrite64" && *forFlag == 0 {
		step = 3 // SQLite's, several for each transaction
	}
	first := 1 + int(*seedFlag%uint64(step))
	for n, survived := first, 0; survived < 2 && !t.Failed(); n += step {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			options := []string{}
			if m == checked {
				options = append(options, checkLine)
			}
			b := newBed(t, 6, options...)
			front := needStrace(t, fmt.Sprintf("%s:signal=KILL:when=%d", call, n))
			p := b.start(front, []string{"GOMAXPROCS=1"}, "run", task, "--date", date, "-j", "1")
			if p.code() != -1 {
				b.expect(p, 0, 3)
				survived++
			}
			at := b.death()
			b.quiet()
			b.plain(0, 3)
			one := b.verify(m)
			if one.inDoubt > 1 {
				t.Errorf("%d records are in doubt: with -j 1 one attempt was cut off at most", one.inDoubt)
			}
			if p.ProcessState.ExitCode() == -1 {
				one.kills = 1
				note(at, one)
			}
		})
	}
}

// death tells in which transition a run died. It reads a copy: looking may
// change a ledger.
func (b *bed) death() string {
	b.t.Helper()
	c := &bed{t: b.t, dir: b.t.TempDir(), ids: b.ids}
	b.must(os.CopyFS(c.dir, os.DirFS(b.dir)))
	if info, err := os.Stat(c.ledger() + "-journal"); err == nil && info.Size() > 0 {
		return noLedger
	}
	if info, err := os.Stat(c.ledger()); err != nil || info.Size() < 4096 {
		return noLedger
	}
	db := c.db()
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'record'").Scan(&tables); err != nil || tables == 0 {
		db.Close()
		return noLedger
	}
	db.Close()
	settled := 0
	effects, journal := c.count("effects"), c.journal()
	for id, status := range c.statuses() {
		switch {
		case status != running && status != pending:
			settled++
		case status == pending:
		case journal[id].ended:
			return hasEnded
		case effects[id] > 0:
			return hasEffect
		case journal[id].started:
			return isStarted
		default:
			return isClaimed
		}
	}
	switch settled {
	case 0:
		return notBegun
	case len(c.ids):
		return allSettled
	}
	return isSettled
}

type said struct{ started, ended bool }

// journal reads the run files: what they say of each record.
func (b *bed) journal() map[string]said {
	m := map[string]said{}
	files, _ := filepath.Glob(b.ledger() + ".runs/*")
	for _, f := range files {
		text, err := os.ReadFile(f)
		b.must(err)
		for l := range strings.Lines(string(text)) {
			var line struct {
				B    string
				S, E json.RawMessage
			}
			if len(l) < 10 || json.Unmarshal([]byte(l[9:]), &line) != nil || line.B == "" {
				continue
			}
			s := m[line.B]
			s.started = s.started || line.S != nil
			s.ended = s.ended || line.E != nil
			m[line.B] = s
		}
	}
	return m
}
