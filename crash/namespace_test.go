//go:build linux

package crash

import (
	"database/sql"
	"errors"
	"os/exec"
	"syscall"
	"testing"

	"runner/internal/dbtest"
)

// pidNamespace is what stands in front of a program that is to see no processes
// but its own.
func pidNamespace(t *testing.T) []string {
	t.Helper()
	front := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	if out, err := exec.Command(front[0], append(front[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no pid namespace can be made here: %s", out)
	}
	return front
}

// Case 73: two containers share the volume and the boot id, and neither sees
// the other's processes.
func TestCase73ARunInAnotherPidNamespaceIsNotDead(t *testing.T) {
	t.Parallel()
	front := pidNamespace(t)
	b := newBed(t, 2)
	env, open := b.gate()
	p := b.start(front, env, "run", task, "--date", date, "-j", "2")
	b.upTo("started", 2)
	for _, ns := range [][]string{front, nil} {
		q := b.start(ns, nil, "run", task, "--date", date, "-o", "json", "--wait", "0s")
		b.expect(q, 5)
		if s := q.summary(); s.Result != "busy" || s.Executed != 0 || len(s.HeldBy) != 1 {
			t.Errorf("%+v", s)
		}
	}
	open()
	b.expect(p, 0)
	b.verify(hold)
}

// What a dead run in another namespace left can't be seen: its records stay
// running until nothing of it can be alive any more.
func TestCase73ASurvivorThatCantBeSeenIsNotDoubled(t *testing.T) {
	t.Parallel()
	front := pidNamespace(t)
	b := newBed(t, 1, "timeout: 2s")
	b.survives(b.begin("1", ""), front)
}

// survives kills a run that has one record, and starts another one where what is
// left of it can't be seen.
func (b *bed) survives(p *proc, front []string) {
	b.t.Helper()
	b.upTo("started", 1)
	p.kill(false)
	q := b.start(front, nil, "run", task, "--date", date, "-o", "json", "--wait", "0s")
	b.expect(q, 5)
	if s := q.summary(); s.Executed != 0 || s.Counts["running"] != 1 {
		b.t.Errorf("%+v", s)
	}
	b.quiet()
	b.plain(3) // from here it is seen that nothing is left
	b.verify(hold)
}

// On a server a free lock proves the death of a run only where its processes
// can be seen: its watchdog may still be at ending them.
func TestCase73ARunOnAServerInAnotherPidNamespaceIsDeadWhenItsLeaseEnds(t *testing.T) {
	front := pidNamespace(t)
	dbtest.SharedPostgres(t)
	t.Parallel()
	b := newBedOn(t, dbtest.Postgres(t), 1)
	b.write("act.sh", "trap '' TERM\n"+act)
	b.survives(b.begin("3", ""), front)
}

// Case 74: what the ledger holds of a process is for people.
func TestCase74NoClockAndNoPidDecidesWhetherARunIsAlive(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2)
	p, open := b.beginAtGate()
	b.upTo("started", 2)
	db, err := sql.Open("sqlite", "file:"+b.ledger()+"?_pragma=busy_timeout(5000)")
	b.must(err)
	_, err = db.Exec("UPDATE run SET process_started_at = 1, started_at = started_at + 86400000000, pid = 999999, host = 'elsewhere'")
	b.must(errors.Join(err, db.Close()))
	b.must(p.Process.Signal(syscall.SIGSTOP))
	open()
	b.upTo("effects", 2)
	if s := b.now(5); s.Result != "busy" || s.Executed != 0 {
		t.Errorf("%+v", s)
	}
	b.must(p.Process.Signal(syscall.SIGCONT))
	b.expect(p, 0)
	b.plain(0)
	b.verify(hold)
}
