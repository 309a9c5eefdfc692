//go:build linux

package crash

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// durable verifies that nothing has started without a claim in the ledger,
// looking at a copy.
func (b *bed) durable() {
	b.t.Helper()
	c := &bed{t: b.t, dir: b.t.TempDir()}
	b.must(os.CopyFS(c.dir, os.DirFS(b.dir)))
	db := c.db()
	defer db.Close()
	for id := range c.count("started") {
		var fence int
		if err := db.QueryRow("SELECT fence FROM record WHERE biz_id = ?", id).Scan(&fence); err != nil || fence == 0 {
			b.t.Errorf("%s has started without a claim: %v", id, err)
		}
	}
}

// unusable verifies how a run ended whose ledger failed.
func (b *bed) unusable(p *proc) {
	b.t.Helper()
	b.expect(p, 7)
	if text := p.stderr(); !strings.Contains(text, b.path(".runner")) || !strings.Contains(text, "ledger") {
		b.t.Errorf("it doesn't say which ledger failed:\n%s", text)
	}
}

// exact verifies that a plain run puts everything right, and that nothing is
// in doubt but what the failed run said that it couldn't write down.
func (b *bed) exact(p *proc) {
	b.t.Helper()
	b.quiet()
	b.plain(0, 3)
	b.verify(hold)
	for id, status := range b.statuses() {
		if status == inDoubt && !strings.Contains(p.stderr(), id) {
			b.t.Errorf("the outcome of %s was lost in silence:\n%s", id, p.stderr())
		}
	}
}

// upTo waits until some actions have started or taken effect.
func (b *bed) upTo(name string, n int) {
	b.t.Helper()
	for end := time.Now().Add(patience); len(b.lines(name)) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%d lines in %s, want %d; kept in %s", len(b.lines(name)), name, n, b.keep())
		}
	}
}

// TestALedgerWhoseWritesFail makes every write, or every sync, of a thread
// fail from the n-th on.
func TestALedgerWhoseWritesFail(t *testing.T) {
	for _, fault := range []string{"pwrite64:error=ENOSPC", "pwrite64:error=EIO", "fsync,fdatasync:error=EIO"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			needStrace(t)
			failed := 0
			for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 11, 15, 22, 30, 40} {
				b := newBed(t, 12)
				b.run([]int{0}, "run", task, "--date", date, "--limit", "1", "-o", "json")
				front := needStrace(t, fmt.Sprintf("%s:when=%d+", fault, n))
				p := b.start(front, []string{"GOMAXPROCS=1"}, "run", task, "--date", date, "-j", "2")
				if p.code() == 0 {
					continue // it didn't write so often
				}
				failed++
				b.unusable(p)
				b.durable()
				b.exact(p)
				for id, status := range b.statuses() {
					if status != done {
						t.Errorf("from the %d-th on: %s has status %d: its outcome was in the run file", n, id, status)
					}
				}
			}
			if failed < 3 {
				t.Errorf("only %d runs failed", failed)
			}
		})
	}
}

// smallDisk mounts a file system of 2 MB for the ledger.
func (b *bed) smallDisk() {
	b.t.Helper()
	if os.Getuid() != 0 {
		b.t.Skip("only root can mount a small file system")
	}
	b.must(os.Mkdir(b.path(".runner"), 0o700))
	if err := syscall.Mount("tmpfs", b.path(".runner"), "tmpfs", 0, "size=2m"); err != nil {
		b.t.Skipf("can't mount a tmpfs: %v", err)
	}
	b.t.Cleanup(func() { _ = syscall.Unmount(b.path(".runner"), syscall.MNT_DETACH) })
}

// fill takes all space there is.
func (b *bed) fill() {
	b.t.Helper()
	f := b.create(".runner/filler")
	defer f.Close()
	for chunk := 1 << 16; chunk > 0; {
		if _, err := f.Write(make([]byte, chunk)); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				b.t.Fatal(err)
			}
			chunk /= 2
		}
	}
}

// Case 47. When both the ledger and the run file are full, what can't be
// written down is said.
func TestAFullDiskStartsNothingAndAfterFreeingItIsExact(t *testing.T) {
	for _, jobs := range []int{1, 4, 16} {
		t.Run(fmt.Sprint(jobs), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, 60)
			b.smallDisk()
			p, open := b.beginAtGate("-j", fmt.Sprint(jobs))
			b.upTo("started", jobs)
			b.fill()
			open()
			b.unusable(p)
			if n := len(b.lines("started")); n > 5*jobs {
				t.Errorf("%d attempts were started on a full disk", n-jobs)
			}
			q := b.start(nil, nil, "run", task, "--date", date)
			before := len(b.lines("started"))
			b.unusable(q)
			if n := len(b.lines("started")); n > before {
				t.Errorf("%d attempts were started by a run on a full disk", n-before)
			}
			b.must(os.Remove(b.path(".runner/filler")))
			b.durable()
			b.exact(p)
			t.Logf("%d of %d attempts are in doubt; it said:\n%s", b.verify(hold).inDoubt, len(b.lines("started")), p.stderr())
		})
	}
}

// The file system goes read-only between two runs.
func TestAReadOnlyLedgerIsSaidBeforeAnythingStarts(t *testing.T) {
	b := newBed(t, 3)
	b.smallDisk()
	b.run([]int{0}, "run", task, "--date", date, "--limit", "1", "-o", "json")
	at := b.path(".runner")
	b.must(syscall.Mount("", at, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	p := b.start(nil, nil, "run", task, "--date", date)
	b.unusable(p)
	if !strings.Contains(p.stderr(), "read-only") || !strings.Contains(p.stderr(), "hint:") {
		t.Errorf("it doesn't say what to do:\n%s", p.stderr())
	}
	if n := len(b.lines("started")); n != 1 {
		t.Errorf("%d attempts were started without a ledger", n-1)
	}
	b.must(syscall.Mount("", at, "", syscall.MS_REMOUNT, "size=2m"))
	b.exact(p)
}

// Case 46. Another process keeps the ledger locked longer than anyone waits:
// what ended meanwhile is in the run file, and is not done again.
func TestOutcomesOutliveALedgerThatIsLockedForTooLong(t *testing.T) {
	t.Parallel()
	b := newBed(t, 8)
	p, open := b.beginAtGate()
	b.upTo("started", 2)
	unlock := b.lockLedger()
	open()
	b.unusable(p)
	unlock()
	b.durable()
	b.exact(p)
	for id, status := range b.statuses() {
		if status != done {
			t.Errorf("%s has status %d", id, status)
		}
	}
}

// lockLedger does what a person with a tool of SQLite may do, and forget.
func (b *bed) lockLedger() (unlock func()) {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.ledger()+"?_pragma=busy_timeout(5000)")
	b.must(err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("BEGIN IMMEDIATE")
	b.must(err)
	return func() {
		_, err := db.Exec("ROLLBACK")
		b.must(errors.Join(err, db.Close()))
	}
}

// The side lock is for fairness: a stopped process that holds it delays
// others, and stops nobody.
func TestAStoppedProcessWithTheSideLockStopsNobody(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1)
	p, open := b.beginAtGate("-o", "json")
	b.upTo("started", 1)
	f, err := os.OpenFile(b.ledger()+".lock", os.O_RDWR, 0)
	b.must(err)
	defer f.Close()
	b.must(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	open()
	began := time.Now()
	b.expect(p, 0)
	took := time.Since(began)
	t.Logf("settling one record and ending took %v", took.Round(time.Second))
	if took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	b.must(f.Close())
	b.exact(p)
}

// A ledger that is deleted under a live run: the run says so, and nobody
// begins anew beside it, neither then nor when it has ended.
func TestALedgerDeletedUnderALiveRunIsNoticed(t *testing.T) {
	t.Parallel()
	b := newBed(t, 8)
	p, open := b.beginAtGate()
	b.upTo("started", 2)
	for _, end := range []string{"", "-wal", "-shm"} {
		b.must(os.Remove(b.ledger() + end))
	}
	before := len(b.lines("started"))
	b.lost(before)
	open()
	b.unusable(p)
	n := len(b.lines("started"))
	if n > before+4 {
		t.Errorf("%d attempts were started without a ledger", n-before)
	}
	b.lost(n)
	for _, l := range b.lines("overlaps") {
		t.Errorf("started twice at once: %s", l)
	}
}

// lost verifies that a run without its ledger starts nothing, and makes none.
func (b *bed) lost(started int) {
	b.t.Helper()
	b.unusable(b.start(nil, nil, "run", task, "--date", date))
	if _, err := os.Stat(b.ledger()); !errors.Is(err, fs.ErrNotExist) {
		b.t.Errorf("a new ledger is in its place: %v", err)
	}
	if n := len(b.lines("started")); n > started {
		b.t.Errorf("%d attempts were started without a ledger", n-started)
	}
}
