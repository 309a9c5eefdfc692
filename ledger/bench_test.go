package ledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"runner/ledger"
	"runner/ledger/sqlite"
)

const (
	task = "grant"
	date = "2026-11-28"
)

var (
	noon    = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	plain   = ledger.Policy{Attempts: 3, Backoff: 10 * time.Second, MaxBackoff: time.Minute, MaxLater: time.Hour}
	checked = ledger.Policy{Attempts: 3, Backoff: 10 * time.Second, MaxBackoff: time.Minute, MaxLater: time.Hour, Check: true}
)

// bench is a ledger in a file, with a clock that stands still.
type bench struct {
	*ledger.Ledger
	t    *testing.T
	path string
	now  time.Time
	run  ledger.Run
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, path: filepath.Join(t.TempDir(), "ledger.db"), now: noon}
	st, err := sqlite.Open(t.Context(), b.path, sqlite.Options{Create: true, AllowNetworkFS: true})
	b.must(err)
	b.Ledger = ledger.New(twice{st})
	b.Now = func() time.Time { return b.now }
	b.Rand = func() float64 { return 0.5 }
	t.Cleanup(func() { b.must(b.Close()) })
	b.run = b.begin("r1", false)
	return b
}

// twice undoes the first try of each transaction and makes another, as stores do
// where it was lost to another hand, or the disk was full.
type twice struct{ ledger.Store }

var errUndone = errors.New("undone on purpose")

func (s twice) Update(ctx context.Context, fn func(ledger.Tx) error) error {
	err := s.Store.Update(ctx, func(tx ledger.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errUndone
	})
	if !errors.Is(err, errUndone) {
		return err
	}
	return s.Store.Update(ctx, fn)
}

// uncommitted fails at each commit.
type uncommitted struct{ ledger.Store }

func (s uncommitted) Update(ctx context.Context, fn func(ledger.Tx) error) error {
	return s.Store.Update(ctx, func(tx ledger.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errUndone
	})
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) begin(id string, plan bool) ledger.Run {
	b.t.Helper()
	r := ledger.Run{ID: id, TaskName: task, ExecuteDate: date, StartedAt: b.now}
	b.must(b.Begin(context.Background(), &r, plan))
	return r
}

// as is a run by another name on the same batch.
func (b *bench) as(id string) ledger.Run {
	return ledger.Run{ID: id, TaskName: task, ExecuteDate: date, StartedAt: b.now}
}

func inputs(ids ...string) []ledger.Input {
	in := make([]ledger.Input, len(ids))
	for i, id := range ids {
		in[i] = ledger.Input{BizID: id, Payload: []byte(`{"id":"` + id + `"}`)}
	}
	return in
}

// plan enters records, and gives their numbers.
func (b *bench) plan(ids ...string) []int64 {
	b.t.Helper()
	planned, err := b.Plan(context.Background(), b.run.BatchID, inputs(ids...), ledger.PlanOptions{})
	b.must(err)
	numbers := make([]int64, len(planned))
	for i, p := range planned {
		numbers[i] = p.ID
	}
	return numbers
}

func (b *bench) work(w ledger.Work) ledger.Worked {
	b.t.Helper()
	out, err := b.Work(context.Background(), w)
	b.must(err)
	return out
}

// claim claims all of the records for a run.
func (b *bench) claim(run string, p ledger.Policy, ids ...int64) []ledger.Entry {
	b.t.Helper()
	out := b.work(ledger.Work{Run: b.as(run), Policy: p, Candidates: ids, Max: len(ids)})
	if len(out.Claimed) != len(ids) {
		b.t.Fatalf("claimed %d of %d: %+v", len(out.Claimed), len(ids), out.Left)
	}
	return out.Claimed
}

func end(e ledger.Entry, o ledger.Outcome, fns ...func(*ledger.Report)) ledger.Report {
	r := ledger.Report{RecordID: e.ID, Fence: e.Fence, Phase: e.Phase, RunID: e.RunID, Outcome: o, StartedAt: noon, EndedAt: noon.Add(time.Second)}
	for _, fn := range fns {
		fn(&r)
	}
	return r
}

func (b *bench) settle(p ledger.Policy, r ...ledger.Report) []ledger.Settled {
	b.t.Helper()
	return b.work(ledger.Work{Run: b.as("r1"), Policy: p, Reports: r}).Settled
}

// ended claims a record and settles it at once.
func (b *bench) ended(run string, p ledger.Policy, id int64, o ledger.Outcome, fns ...func(*ledger.Report)) ledger.Settled {
	b.t.Helper()
	return b.settle(p, end(b.claim(run, p, id)[0], o, fns...))[0]
}

func (b *bench) get(id int64) (e ledger.Entry) {
	b.t.Helper()
	b.must(b.Store().View(context.Background(), func(r ledger.Reader) error {
		list, err := r.Get([]int64{id})
		if err == nil && len(list) == 1 {
			e = list[0]
		}
		return err
	}))
	return e
}

func (b *bench) batch() (batch ledger.Batch) {
	b.t.Helper()
	b.must(b.Store().View(context.Background(), func(r ledger.Reader) (err error) {
		batch, err = r.Batch(task, date)
		return err
	}))
	return batch
}

// bytes is what the ledger's files hold.
func (b *bench) bytes() map[string]string {
	b.t.Helper()
	m := map[string]string{}
	for _, suffix := range []string{"", "-wal"} {
		c, err := os.ReadFile(b.path + suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			b.t.Fatal(err)
		}
		m[suffix] = string(c)
	}
	return m
}
