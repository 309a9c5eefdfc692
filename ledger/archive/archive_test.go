package archive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"runner/ledger"
	"runner/ledger/archive"
	"runner/ledger/sqlite"

	"github.com/google/go-cmp/cmp"
)

var ctx = context.Background()

const (
	task = "grant-coupon"
	date = "2026-08-11"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) *ledger.Ledger {
	t.Helper()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "ledger.db"), sqlite.Options{Create: true, AllowNetworkFS: true})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return ledger.New(s)
}

func folder(dir string) *archive.Folder {
	d := filepath.Join(dir, "ledger.db.archive")
	return &archive.Folder{Dir: d, Home: d}
}

// world is all that a ledger says of a batch.
type world struct {
	Batch   ledger.Batch
	Records []ledger.Entry
	Stories []ledger.Attempt
}

func look(t testing.TB, led *ledger.Ledger) (w world) {
	t.Helper()
	must(t, led.Store().View(ctx, func(r ledger.Reader) (err error) {
		if w.Batch, err = r.Batch(task, date); err != nil {
			return err
		}
		if w.Records, err = r.List(ledger.Query{TaskName: task, ExecuteDate: date, Ascending: true}); err != nil {
			return err
		}
		var ids []int64
		for _, e := range w.Records {
			ids = append(ids, e.ID)
		}
		w.Stories, err = r.Stories(ids)
		return err
	}))
	return w
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// fill makes a complete batch of records that change makes of planned ones.
func fill(t testing.TB, led *ledger.Ledger, task string, ids []string, change func(i int, e *ledger.Entry) []ledger.Attempt) {
	t.Helper()
	must(t, led.Store().Update(ctx, func(tx ledger.Tx) error {
		b := ledger.Batch{TaskName: task, ExecuteDate: date, CreatedAt: time.Now().UTC().Truncate(time.Microsecond)}
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		var in []ledger.Input
		for _, id := range ids {
			in = append(in, ledger.Input{BizID: id})
		}
		if _, err := tx.Insert(b.ID, in); err != nil {
			return err
		}
		list, err := tx.List(ledger.Query{TaskName: task, ExecuteDate: date, Ascending: true})
		if err != nil {
			return err
		}
		var changes []ledger.Change
		var lines []ledger.Attempt
		for i, e := range list {
			n := e
			n.Status = ledger.Done
			lines = append(lines, change(i, &n)...)
			changes = append(changes, ledger.Change{Old: e, New: n})
		}
		if err := tx.Swap(changes); err != nil {
			return err
		}
		return tx.AddAttempts(lines)
	}))
}

func plain(i int, e *ledger.Entry) []ledger.Attempt {
	e.Attempts, e.Fence, e.ActFence, e.Detail, e.RunID = 1, 1, 1, ledger.DetailApplied, "run-1"
	if i%3 == 0 {
		return []ledger.Attempt{{RecordID: e.ID, Fence: 1, Number: 1, Error: "HTTP 503", Output: "no\nluck"}}
	}
	return nil
}

func serial(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("u%05d", i))
	}
	return ids
}

func TestNothingOfASealedBatchIsPlannedClaimedOrDecided(t *testing.T) {
	dir := t.TempDir()
	led := open(t, dir)
	fill(t, led, task, serial(3), plain)
	records := look(t, led).Records
	_, err := folder(dir).Archive(ctx, led, task, date)
	must(t, err)
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ledger.ErrSealed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	run := ledger.Run{ID: "run-9", TaskName: task, ExecuteDate: date, StartedAt: time.Now()}
	refused("a run begins", led.Begin(ctx, &run, true))
	refused("a rerun begins", led.Begin(ctx, &run, false))
	_, err = led.Plan(ctx, look(t, led).Batch.ID, []ledger.Input{{BizID: "new"}}, ledger.PlanOptions{})
	refused("a plan", err)
	_, err = led.Work(ctx, ledger.Work{Run: run, Candidates: []int64{records[0].ID}, Max: 1})
	refused("a claim", err)
	ids := []int64{records[0].ID}
	_, err = led.Rerun(ctx, ids, ledger.Decision{Insist: true, Generation: 1}, ledger.Policy{})
	refused("a rerun", err)
	_, err = led.Mark(ctx, ids, ledger.Failed, ledger.Decision{Reason: "r"})
	refused("a mark", err)
	refused("a selection", led.Select(ctx, ledger.Selection{TaskName: task, ExecuteDate: date, Statuses: []ledger.Status{ledger.Done}}, nil))
}

func TestWhatIsNotCompleteIsKeptWithWhy(t *testing.T) {
	for why, change := range map[string]func(led *ledger.Ledger) error{
		"it is not complete": func(led *ledger.Ledger) error {
			b := look(t, led).Batch
			_, err := led.Plan(ctx, b.ID, []ledger.Input{{BizID: "new"}}, ledger.PlanOptions{})
			return err
		},
		"a run works on it, or left something behind": func(led *ledger.Ledger) error {
			return led.Begin(ctx, &ledger.Run{ID: "run-9", TaskName: task, ExecuteDate: date, StartedAt: time.Now()}, false)
		},
		"its plan was cut off": func(led *ledger.Ledger) error {
			r := ledger.Run{ID: "run-9", TaskName: task, ExecuteDate: date, StartedAt: time.Now()}
			err := led.Begin(ctx, &r, true)
			r.EndedAt = time.Now()
			return errors.Join(err, led.End(ctx, &r))
		},
	} {
		dir := t.TempDir()
		led := open(t, dir)
		fill(t, led, task, serial(3), plain)
		must(t, change(led))
		m, err := folder(dir).Archive(ctx, led, task, date)
		if err != nil || m.Why != why || m.Batch.Sealed() {
			t.Errorf("%v, kept because %q, want %q", err, m.Why, why)
		}
	}
}

// cutting is a store whose transactions fail from a certain one on.
type cutting struct {
	ledger.Store
	left *int
}

var errCut = errors.New("cut off")

func (c cutting) View(ctx context.Context, fn func(ledger.Reader) error) error {
	return c.next(func() error { return c.Store.View(ctx, fn) })
}

func (c cutting) Update(ctx context.Context, fn func(ledger.Tx) error) error {
	return c.next(func() error { return c.Store.Update(ctx, fn) })
}

func (c cutting) next(fn func() error) error {
	if *c.left--; *c.left < 0 {
		return errCut
	}
	return fn()
}

func TestAMoveThatIsCutOffBetweenTransactionsGoesOn(t *testing.T) {
	dir := t.TempDir()
	led := open(t, dir)
	fill(t, led, task, serial(2300), plain)
	before := look(t, led)
	d := folder(dir)
	for _, move := range []func(led *ledger.Ledger) error{
		func(led *ledger.Ledger) error { _, err := d.Archive(ctx, led, task, date); return err },
		func(cut *ledger.Ledger) error { return d.Restore(ctx, cut, look(t, led).Batch) },
	} {
		for n := 0; ; n++ {
			left := n
			err := move(ledger.New(cutting{led.Store(), &left}))
			w := look(t, led)
			if !w.Batch.Sealed() {
				same(t, "what isn't sealed", w, before)
			} else {
				must(t, d.Check(led, w.Batch))
			}
			if err == nil {
				break
			}
			if !errors.Is(err, errCut) {
				t.Fatal(err)
			}
		}
	}
	same(t, "what came back", look(t, led), before)
}

func TestAFileThatIsNotTheOneChangesNothing(t *testing.T) {
	dir := t.TempDir()
	led := open(t, dir)
	fill(t, led, task, serial(50), plain)
	d := folder(dir)
	_, err := d.Archive(ctx, led, task, date)
	must(t, err)
	b := look(t, led).Batch
	path := d.Path(b)
	whole, err := os.ReadFile(path)
	must(t, err)
	flipped := slices.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for what, text := range map[string][]byte{"cut off": whole[:len(whole)-9], "flipped": flipped, "empty": {}, "longer": append(slices.Clone(whole), whole...), "text": []byte("{}\n")} {
		must(t, os.WriteFile(path, text, 0o600))
		var wrong *archive.FileError
		if err := d.Restore(ctx, led, b); !errors.As(err, &wrong) {
			t.Errorf("%s: restored with %v", what, err)
		}
		if err := d.Check(led, b); !errors.As(err, &wrong) {
			t.Errorf("%s: checked with %v", what, err)
		}
		if w := look(t, led); len(w.Records) > 0 || !w.Batch.Sealed() {
			t.Errorf("%s: something came back", what)
		}
	}
	must(t, os.Remove(path))
	if err := d.Restore(ctx, led, b); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
}
