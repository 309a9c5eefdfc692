package runner

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"runner/ledger"
	"runner/ledger/sqlite"
)

// items is a source of what it holds.
type items []Item

func (s items) Name() string { return "items" }
func (s items) Close() error { return nil }
func (s items) Records() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for _, i := range s {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func ids(n int) items {
	s := make(items, n)
	for i := range s {
		s[i] = Item{BizID: fmt.Sprintf("u%06d", i+1), Line: int64(i + 1)}
	}
	return s
}

// action is an Action that is a function.
type action func(context.Context, Attempt) Result

func (a action) Prepare() error                             { return nil }
func (a action) Act(ctx context.Context, at Attempt) Result { return a(ctx, at) }
func succeed(context.Context, Attempt) Result               { return Result{Outcome: ledger.Succeeded} }

// book counts the attempts of each record.
type book struct {
	mu sync.Mutex
	n  map[string]int
}

func (b *book) note(id string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == nil {
		b.n = map[string]int{}
	}
	b.n[id]++
	return b.n[id]
}

type bench struct {
	t    testing.TB
	path string
	led  *ledger.Ledger
	st   *sqlite.Store
	seen book
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, path: filepath.Join(t.TempDir(), "ledger.db")}
	b.led, b.st = b.open()
	return b
}

func (b *bench) open() (*ledger.Ledger, *sqlite.Store) {
	b.t.Helper()
	st, err := sqlite.Open(context.Background(), b.path, sqlite.Options{Create: true})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = st.Close() })
	return ledger.New(st), st
}

func (b *bench) options(src items, p ledger.Policy, act action) Options {
	return Options{
		Ledger: b.led, RunsDir: b.st.RunsDir(), Date: "2026-11-28", Zone: "UTC", Command: "run", Source: src,
		Task: Task{Name: "grant", Policy: p, Jobs: 4, Definition: Definition{Kind: "test", Action: []byte("{}"), Policy: p}, Action: action(func(ctx context.Context, at Attempt) Result {
			b.seen.note(at.BizID)
			return act(ctx, at)
		})},
	}
}

func (b *bench) run(o Options) Summary {
	b.t.Helper()
	s, err := b.try(o)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) try(o Options) (Summary, error) {
	b.t.Helper()
	if o.Source != nil {
		var err error
		if o.Survey, err = ReadThrough(o.Source, Shard{}, false); err != nil {
			b.t.Fatal(err)
		}
	}
	return Run(context.Background(), o)
}

func quick() ledger.Policy {
	p := ledger.DefaultPolicy()
	p.Backoff, p.MaxBackoff = time.Microsecond, time.Microsecond
	return p
}

func TestEveryRecordIsRunOnceAndThenSkipped(t *testing.T) {
	for _, idem := range []bool{false, true} {
		b := newBench(t)
		p := quick()
		p.Idempotent = idem
		o := b.options(ids(5000), p, succeed)
		s := b.run(o)
		if s.Result != Complete || s.Executed != 5000 || s.New != 5000 || s.Counts[ledger.Done] != 5000 {
			t.Fatalf("first run: %+v", s)
		}
		s = b.run(o)
		if s.Result != Complete || s.Executed != 0 || s.AlreadyDone != 5000 || s.Counts[ledger.Done] != 5000 {
			t.Fatalf("second run: %+v", s)
		}
		for id, n := range b.seen.n {
			if n != 1 {
				t.Fatalf("%s had %d attempts", id, n)
			}
		}
	}
}
