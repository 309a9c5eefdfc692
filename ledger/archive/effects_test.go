package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"runner/ledger"
	"runner/ledger/archive"
)

func TestTheEffectsOfASealedBatchComeInPartsWhileNoRestoreBegins(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	led := open(t, dir)
	var want []archive.Effect
	fill(t, led, task, serial(250), func(i int, e *ledger.Entry) []ledger.Attempt {
		if i%5 == 4 {
			e.Status = ledger.Skipped
			return nil
		}
		e.Generation = 1 + i%2
		want = append(want, archive.Effect{BizID: e.BizID, Generation: e.Generation})
		return nil
	})
	d := folder(dir)
	to := &archive.Folder{Dir: elsewhere, Home: d.Home}
	_, err := to.Archive(ctx, led, task, date)
	must(t, err)
	must(t, d.Lock())
	defer d.Unlock()
	b := look(t, led).Batch
	var got []archive.Effect
	var sizes []int
	must(t, d.Effects(ctx, led, b, 80, func(part []archive.Effect) error {
		got, sizes = append(got, part...), append(sizes, len(part))
		for _, dir := range []string{d.Dir, elsewhere} {
			if err := (&archive.Folder{Dir: dir}).Lock(); !errors.Is(err, archive.ErrBusy) {
				t.Errorf("%s: got %v", dir, err)
			}
		}
		return nil
	}))
	same(t, "effects", got, want)
	same(t, "parts", sizes, []int{80, 80, 40})

	stop := errors.New("stop")
	if err := d.Effects(ctx, led, b, 80, func([]archive.Effect) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	must(t, to.Lock()) // it was let go
	if err := d.Effects(ctx, led, b, 80, nil); !errors.Is(err, archive.ErrBusy) {
		t.Errorf("got %v", err)
	}
	to.Unlock()
	whole, err := os.ReadFile(d.Path(b))
	must(t, err)
	flipped := slices.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	must(t, os.WriteFile(d.Path(b), flipped, 0o600))
	var wrong *archive.FileError
	if err := d.Effects(ctx, led, b, 80, func([]archive.Effect) error { t.Error("those of another file"); return nil }); !errors.As(err, &wrong) {
		t.Errorf("got %v", err)
	}
}

// Its file is that of its next seal by then, which is nothing wrong with it.
func TestABatchThatWasRestoredOrSealedAgainHasMoved(t *testing.T) {
	dir := t.TempDir()
	led := open(t, dir)
	fill(t, led, task, serial(3), plain)
	d := folder(dir)
	_, err := d.Archive(ctx, led, task, date)
	must(t, err)
	b := look(t, led).Batch
	moved := func() {
		t.Helper()
		for _, err := range []error{
			d.Effects(ctx, led, b, 80, func([]archive.Effect) error { t.Error("effects"); return nil }),
			led.GuardsBegun(ctx, b), led.GuardsRemoved(ctx, b), led.StillSealed(ctx, b),
		} {
			if !errors.Is(err, ledger.ErrMoved) {
				t.Errorf("got %v", err)
			}
		}
	}
	must(t, d.Restore(ctx, led, b))
	moved()
	_, err = d.Archive(ctx, led, task, date)
	must(t, err)
	moved()
}

func TestAFolderIsNotLockedAgainstItself(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	d := &archive.Folder{Dir: filepath.Join(dir, "real")}
	must(t, d.Lock())
	defer d.Unlock()
	must(t, os.Symlink(d.Dir, link))
	for _, at := range []string{d.Dir, link, filepath.Join(dir, "none")} {
		unlock, err := d.LockPlace(filepath.Join(at, task, date+".jsonl.zst"))
		must(t, err)
		unlock()
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
	if err := (&archive.Folder{Dir: d.Dir}).Lock(); !errors.Is(err, archive.ErrBusy) {
		t.Errorf("the lock is gone: %v", err)
	}
}

// A restored batch may be done again, so its next seal is another one.
func TestGuardsAreLookedForOnceForEachSeal(t *testing.T) {
	dir := t.TempDir()
	led := open(t, dir)
	fill(t, led, task, serial(3), plain)
	d := folder(dir)
	state := func(left, touched bool) {
		t.Helper()
		b := look(t, led).Batch
		l, err := led.GuardsLeft(ctx, b)
		must(t, err)
		r, err := led.GuardsTouched(ctx, b)
		must(t, err)
		same(t, "there may be guards, and may be none", []bool{l, r}, []bool{left, touched})
		must(t, led.Store().View(ctx, func(r ledger.Reader) error {
			text, err := r.Meta("guards_removed " + task + " " + date)
			same(t, "something is remembered", text != "", touched)
			return err
		}))
	}
	state(false, false) // it isn't sealed: they are needed
	for range 2 {
		_, err := d.Archive(ctx, led, task, date)
		must(t, err)
		b := look(t, led).Batch
		state(true, false)
		must(t, led.GuardsBegun(ctx, b))
		state(true, true)
		must(t, led.GuardsRemoved(ctx, b))
		state(false, true)
		must(t, d.Restore(ctx, led, b))
		state(false, false)
	}
}
