//go:build linux

package crash

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	task = "grant"
	date = "2026-11-28"
)

// act appends one line to each of the effect files: that it has started, and
// its effect. A record with a file in fail/ fails before its effect,
// one with a file in slow/ takes its time, and where there is a gate (see gate)
// all wait for it. Two attempts of a record at once are told in overlaps: the
// lock is held by whatever is left of an attempt.
const act = `exec 9>>"lock/$1"
flock -n 9 || echo "$1 $RUNNER_ATTEMPT_ID" >>overlaps
echo "$1 $RUNNER_ATTEMPT_ID" >>started
[ -z "$BEFORE" ] || sleep $BEFORE
[ -z "$GATE" ] || : <"$GATE"
[ ! -e "slow/$1" ] || sleep 3
[ ! -e "fail/$1" ] || exit 1
echo "$1 $RUNNER_ATTEMPT_ID" >>effects
[ -z "$AFTER" ] || sleep $AFTER
`

// probe tells the truth about an effect.
const probe = `[ -z "$BEFORE" ] || sleep $BEFORE
grep -q "^$1 " effects`

// bed is a folder with a task, a ledger and effect files.
type bed struct {
	t       testing.TB
	dir     string
	tmp     string // of its processes
	address string // of a ledger on PostgreSQL; empty: it is a file in the folder
	ids     []string
	n       int // processes started
}

// newBed makes a task of n records; options are lines of its definition.
func newBed(t testing.TB, n int, options ...string) *bed {
	t.Helper()
	return newBedOn(t, "", n, options...)
}

// lease is the shortest one. Whatever a run does that dies on another host is
// taken over after so long.
const lease = 14 * time.Second

// newBedOn makes a task whose ledger lies at an address.
func newBedOn(t testing.TB, address string, n int, options ...string) *bed {
	t.Helper()
	b := &bed{t: t, dir: t.TempDir(), tmp: t.TempDir(), address: address}
	for i := range n {
		b.ids = append(b.ids, fmt.Sprintf("u%05d", i))
	}
	text := ""
	if address != "" {
		text = fmt.Sprintf("ledger: %q\nlease: %s\n", address, lease)
	}
	text += "tasks:\n  " + task + ":\n    records: {lines: ids}\n    run: [sh, act.sh, \"{{.biz_id}}\"]\n"
	for _, o := range options {
		text += "    " + o + "\n"
	}
	b.write("runner.yaml", text)
	b.write("ids", strings.Join(b.ids, "\n")+"\n")
	b.write("act.sh", act)
	b.write("check.sh", probe)
	for _, f := range []string{"started", "effects", "overlaps"} {
		b.write(f, "")
	}
	for _, d := range []string{"fail", "slow", "lock", "out"} {
		b.must(os.Mkdir(b.path(d), 0o700))
	}
	// Nothing of this test is left when its folder goes.
	t.Cleanup(func() {
		for _, p := range b.processes() {
			_ = syscall.Kill(p, syscall.SIGKILL)
		}
		b.quiet()
	})
	return b
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bed) ledger() string { return b.path(".runner/ledger.db") }

// runs is the folder of run files.
func (b *bed) runs() string {
	if b.address != "" {
		return b.path(".runner/runs")
	}
	return b.ledger() + ".runs"
}

func (b *bed) write(name, text string) {
	b.t.Helper()
	b.must(os.WriteFile(b.path(name), []byte(text), 0o600))
}

func (b *bed) lines(name string) []string {
	b.t.Helper()
	text, err := os.ReadFile(b.path(name))
	b.must(err)
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// size is a cheap measure of how far the actions are.
func (b *bed) size(name string) int64 {
	info, err := os.Stat(b.path(name))
	b.must(err)
	return info.Size()
}

// start starts the program, with more environment or in front of it, such as
// strace, more words.
func (b *bed) start(front, env []string, args ...string) *proc {
	b.t.Helper()
	return b.startIn(front, env, false, args...)
}

func (b *bed) startIn(front, env []string, away bool, args ...string) *proc {
	b.t.Helper()
	b.n++
	argv := append(append(front[:len(front):len(front)], program), args...)
	p := &proc{Cmd: exec.Command(argv[0], argv[1:]...), b: b, name: fmt.Sprintf("out/%03d", b.n), done: make(chan struct{}), away: away}
	p.Dir = b.dir
	p.Env = append(os.Environ(), "TZ=UTC", "HOME="+b.dir, "TMPDIR="+b.tmp, "CRASH_BED="+b.dir)
	p.Env = append(p.Env, env...)
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, f := range []struct {
		to   *os.File
		name string
	}{{b.create(p.name), "stdout"}, {b.create(p.name + "e"), "stderr"}} {
		defer f.to.Close()
		if f.name == "stdout" {
			p.Stdout = f.to
		} else {
			p.Stderr = f.to
		}
	}
	b.must(p.Start())
	go func() {
		p.err = p.Wait()
		close(p.done)
	}()
	return p
}

func (b *bed) create(name string) *os.File {
	b.t.Helper()
	f, err := os.Create(b.path(name))
	b.must(err)
	return f
}

// run runs the program to its end: it ends with one of these codes.
func (b *bed) run(codes []int, args ...string) *proc {
	b.t.Helper()
	p := b.start(nil, nil, args...)
	b.expect(p, codes...)
	return p
}

func (b *bed) expect(p *proc, codes ...int) {
	b.t.Helper()
	got := p.code()
	if sane(p.stderr()) {
		for _, c := range codes {
			if c == got {
				return
			}
		}
	}
	b.t.Fatalf("%v: exit code %d, want one of %v\n%s%s", p.Args[1:], got, codes, p.stdout(), p.stderr())
}

// sane tells whether a program printed nothing that it should never print.
func sane(text string) bool {
	for _, bad := range []string{"panic", "DATA RACE", "internal error", "goroutine "} {
		if strings.Contains(text, bad) {
			return false
		}
	}
	return true
}

// plain is what a person types after whatever happened.
func (b *bed) plain(codes ...int) *proc {
	b.t.Helper()
	return b.run(codes, "run", task, "--date", date, "-o", "json", "--wait", "20s")
}

// processes lists what of this bed is alive, actions and runners.
func (b *bed) processes() (pids []int) {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		var pid int
		if _, err := fmt.Sscan(d.Name(), &pid); err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + d.Name() + "/environ")
		if err == nil && bytes.Contains(env, []byte("CRASH_BED="+b.dir+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// quiet waits until nothing of the bed is alive.
func (b *bed) quiet() {
	b.t.Helper()
	for end := time.Now().Add(patience); len(b.processes()) > 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Errorf("processes %v are still alive", b.processes())
			return
		}
	}
}
