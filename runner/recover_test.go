package runner

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"runner/ledger"
)

// deadRun leaves what a killed run leaves: claims of all records of the
// batch, and a journal that says what say writes into it.
type deadRun struct {
	row    ledger.Run
	claims []ledger.Entry
	path   string
}

func (b *bench) dieRunning(n int, p ledger.Policy, h host, say func(*runFile, []ledger.Entry)) deadRun {
	b.t.Helper()
	ctx := context.Background()
	id := "0190aaaa-0000-7000-8000-000000000001"
	file, err := createRunFile(b.st.RunsDir(), head{Ledger: b.st.ID(), Run: id, host: h})
	if err != nil {
		b.t.Fatal(err)
	}
	def := Definition{Kind: "test", Action: []byte("{}"), Policy: p}
	text, digest := def.Encode()
	d := deadRun{path: file.path, row: ledger.Run{
		ID: id, TaskName: "grant", ExecuteDate: "2026-11-28", File: file.path, BootID: h.Boot, Host: h.Name,
		Definition: text, Digest: digest, StartedAt: time.Now().UTC().Truncate(time.Microsecond),
	}}
	if err := b.led.Begin(ctx, &d.row, false); err != nil {
		b.t.Fatal(err)
	}
	var in []ledger.Input
	for _, i := range ids(n) {
		in = append(in, ledger.Input{BizID: i.BizID})
	}
	planned, err := b.led.Plan(ctx, d.row.BatchID, in, ledger.PlanOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	w := ledger.Work{Run: d.row, Policy: p, Max: n}
	for _, pl := range planned {
		w.Candidates = append(w.Candidates, pl.ID)
	}
	out, err := b.led.Work(ctx, w)
	if err != nil {
		b.t.Fatal(err)
	}
	d.claims = out.Claimed
	if say != nil {
		say(file, d.claims)
	}
	file.keep()
	return d
}

func (b *bench) statuses() map[string]ledger.Entry {
	b.t.Helper()
	m := map[string]ledger.Entry{}
	err := b.led.Store().View(context.Background(), func(r ledger.Reader) error {
		list, err := r.List(ledger.Query{})
		for _, e := range list {
			m[e.BizID] = e
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noProcesses says that nothing of any attempt is left.
func noProcesses(t *testing.T) {
	old := findProcesses
	findProcesses = func([]suspectProcess) processes { return processes{} }
	t.Cleanup(func() { findProcesses = old })
}

func TestRecoveryBelievesTheJournalOnlyAsFarAsItCan(t *testing.T) {
	here := thisHost()
	if here.Boot == "" {
		t.Skip("this system has no boot id: no journal is believed about what it doesn't say")
	}
	elsewhen := here
	elsewhen.Boot = "another boot"
	noBoot := here
	noBoot.Boot = ""
	at := time.Now().UTC().Truncate(time.Microsecond)

	// u1 was never started, u2 started, u3 started with its pid, u4 ended well, u5 ended badly.
	say := func(f *runFile, c []ledger.Entry) {
		for _, e := range c[1:] {
			must(t, f.started(e, at))
		}
		must(t, f.pid(c[2], 1<<30))
		end := ledger.Report{RecordID: c[3].ID, Fence: c[3].Fence, Outcome: ledger.Succeeded, Result: "ok", StartedAt: at, EndedAt: at}
		must(t, f.ended(end, c[3].BizID))
		end.RecordID, end.Fence, end.Outcome, end.Error = c[4].ID, c[4].Fence, ledger.FailedAttempt, "exit status 1"
		must(t, f.ended(end, c[4].BizID))
	}
	type want struct {
		status   ledger.Status
		attempts int
		alone    bool
	}
	doubt := want{ledger.InDoubt, 1, true}
	tests := []struct {
		name    string
		host    host
		spoil   func(path string)
		u1, u2  want
		u4done  bool
		u5tried bool
	}{
		{"of the same boot", here, nil, want{ledger.Pending, 0, false}, doubt, true, true},
		{"of another boot", elsewhen, nil, doubt, doubt, true, true},
		{"without a boot id", noBoot, nil, doubt, doubt, true, true},
		{"that is gone", here, func(p string) { must(t, os.Remove(p)) }, doubt, doubt, false, false},
		{"without a head", here, func(p string) { must(t, os.WriteFile(p, []byte("#"), 0o600)) }, doubt, doubt, false, false},
		{"with torn and foreign lines", here, func(p string) {
			text, err := os.ReadFile(p)
			must(t, err)
			must(t, os.WriteFile(p, append(text, []byte("deadbeef {\"id\":1}\nhalf a li")...), 0o600))
		}, want{ledger.Pending, 0, false}, doubt, true, true},
	}
	for _, tt := range tests {
		t.Run("a journal "+tt.name, func(t *testing.T) {
			noProcesses(t)
			b := newBench(t)
			d := b.dieRunning(5, quick(), tt.host, say)
			if tt.spoil != nil {
				tt.spoil(d.path)
			}
			rec, err := Recover(context.Background(), b.led, b.st.RunsDir())
			must(t, err)
			if len(rec.Runs) != 1 || len(rec.Survivors) != 0 {
				t.Fatalf("buried %v, survivors %v", rec.Runs, rec.Survivors)
			}
			got := b.statuses()
			check := func(id string, w want) {
				e := got[id]
				if e.Status != w.status || e.Attempts != w.attempts || e.Suspect != w.alone {
					t.Errorf("%s is %v after %d attempts, suspect %v; want %+v", id, e.Status, e.Attempts, e.Suspect, w)
				}
			}
			check("u000001", tt.u1)
			check("u000002", tt.u2)
			check("u000003", tt.u2)
			check("u000004", map[bool]want{true: {ledger.Done, 1, false}, false: doubt}[tt.u4done])
			check("u000005", map[bool]want{true: {ledger.Pending, 1, false}, false: doubt}[tt.u5tried])
			if exists(d.path) {
				t.Error("the run file of a run that is over is still there")
			}
			again, err := Recover(context.Background(), b.led, b.st.RunsDir())
			must(t, err)
			if len(again.Runs)+len(again.Settled) != 0 {
				t.Errorf("a second recovery did something: %+v", again)
			}
		})
	}
}

func TestALiveRunIsNeverRecoveredFrom(t *testing.T) {
	b := newBench(t)
	d := b.dieRunning(3, quick(), thisHost(), nil)
	_, lock, err := probe(d.path) // somebody holds its lock
	must(t, err)
	defer lock.Close()
	rec, err := Recover(context.Background(), b.led, b.st.RunsDir())
	must(t, err)
	if len(rec.Runs) != 0 {
		t.Fatalf("buried %v", rec.Runs)
	}
	for id, e := range b.statuses() {
		if e.Status != ledger.Running {
			t.Errorf("%s is %v", id, e.Status)
		}
	}
}

func TestARecordStaysRunningWhileSomethingOfItsAttemptIsLeft(t *testing.T) {
	b := newBench(t)
	here := thisHost()
	d := b.dieRunning(2, quick(), here, func(f *runFile, c []ledger.Entry) {
		for _, e := range c {
			must(t, f.started(e, time.Now()))
		}
	})
	survivor := attemptID(d.row.ID, d.claims[0])
	old := findProcesses
	defer func() { findProcesses = old }()
	findProcesses = func([]suspectProcess) processes {
		return processes{alive: map[string]member{survivor: {pid: 4711, group: 4711}}}
	}

	o := b.options(ids(3), quick(), succeed)
	s := b.run(o)
	if s.Result != IsBusy || len(s.Survivors) != 1 || s.Survivors[0].PID != 4711 || s.Survivors[0].Group != 4711 || s.Executed != 1 {
		t.Fatalf("with a survivor: %+v", s)
	}
	if got := b.statuses(); got["u000001"].Status != ledger.Running || got["u000002"].Status != ledger.InDoubt || got["u000003"].Status != ledger.Done {
		t.Fatalf("with a survivor: %v", got)
	}
	if !exists(d.path) {
		t.Fatal("a survivor's run file is gone")
	}
	noProcesses(t)
	if s = b.run(o); s.Result != SomeInDoubt || s.Counts[ledger.InDoubt] != 2 {
		t.Fatalf("after its end: %+v", s)
	}
}

func TestWhereProcessesCantBeSeenTheTimeoutIsWaitedFor(t *testing.T) {
	old := findProcesses
	defer func() { findProcesses = old }()
	findProcesses = func([]suspectProcess) processes { return processes{blind: true} }
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		ago     time.Duration
		left    int
	}{
		{"its time is not over", time.Hour, time.Minute, 1},
		{"its time is over", time.Minute, 2 * time.Minute, 0},
		{"it has no timeout", 0, 1000 * time.Hour, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			p := quick()
			p.Timeout = tt.timeout
			b.dieRunning(1, p, thisHost(), func(f *runFile, c []ledger.Entry) {
				must(t, f.started(c[0], time.Now().Add(-tt.ago)))
			})
			rec, err := Recover(context.Background(), b.led, b.st.RunsDir())
			must(t, err)
			if len(rec.Survivors) != tt.left {
				t.Errorf("survivors %v, want %d", rec.Survivors, tt.left)
			}
		})
	}
}

func TestRunFilesThatNoRunNeedsAreRemoved(t *testing.T) {
	b := newBench(t)
	dir := b.st.RunsDir()
	must(t, os.MkdirAll(dir, 0o700))
	for _, name := range []string{".x.tmp", "0190aaaa-0000-7000-8000-00000000000a"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#"), 0o600))
	}
	other, err := createRunFile(dir, head{Ledger: "another", Run: "0190aaaa-0000-7000-8000-00000000000b", host: thisHost()})
	must(t, err)
	other.keep()
	_, err = Recover(context.Background(), b.led, dir)
	must(t, err)
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) != 1 || left[0].Name() != filepath.Base(other.path) {
		t.Errorf("left: %v", left)
	}
}

func TestALedgerThatTookThePlaceOfOneInUseIsRefused(t *testing.T) {
	b := newBench(t)
	other, err := createRunFile(b.st.RunsDir(), head{Ledger: "another", Run: "0190aaaa-0000-7000-8000-00000000000b", host: thisHost()})
	must(t, err)
	defer other.keep()
	s, err := b.try(b.options(ids(1), quick(), succeed))
	if err == nil || s.Result != LedgerError || s.Executed != 0 {
		t.Errorf("result %v, error %v", s.Result, err)
	}
}

// A survivor that ends while others are at work isn't told as one.
func TestASurvivorIsLookedAtAgainBeforeItIsTold(t *testing.T) {
	b := newBench(t)
	d := b.dieRunning(1, quick(), thisHost(), func(f *runFile, c []ledger.Entry) { must(t, f.started(c[0], time.Now())) })
	survivor := attemptID(d.row.ID, d.claims[0])
	old := findProcesses
	defer func() { findProcesses = old }()
	looks := 0
	findProcesses = func([]suspectProcess) processes {
		if looks++; looks > 1 {
			return processes{}
		}
		return processes{alive: map[string]member{survivor: {pid: 4711, group: 4711}}}
	}
	s := b.run(b.options(ids(3), quick(), succeed))
	if s.Result != SomeInDoubt || len(s.Survivors) != 0 || s.Executed != 2 || s.Counts[ledger.InDoubt] != 1 {
		t.Errorf("%+v", s)
	}
}
