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

func TestTheIDsOfASealedBatchComeInPartsWhileNoRestoreBegins(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	led := open(t, dir)
	fill(t, led, task, serial(250), plain)
	d := folder(dir)
	to := &archive.Folder{Dir: elsewhere, Home: d.Home}
	_, err := to.Archive(ctx, led, task, date)
	must(t, err)
	must(t, d.Lock())
	defer d.Unlock()
	b := look(t, led).Batch
	var got []string
	var sizes []int
	must(t, d.IDs(led, b, 100, func(ids []string) error {
		got, sizes = append(got, ids...), append(sizes, len(ids))
		for _, dir := range []string{d.Dir, elsewhere} {
			if err := (&archive.Folder{Dir: dir}).Lock(); !errors.Is(err, archive.ErrBusy) {
				t.Errorf("%s: got %v", dir, err)
			}
		}
		return nil
	}))
	same(t, "ids", got, serial(250))
	same(t, "parts", sizes, []int{100, 100, 50})

	stop := errors.New("stop")
	if err := d.IDs(led, b, 100, func([]string) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	must(t, to.Lock()) // it was let go
	if err := d.IDs(led, b, 100, nil); !errors.Is(err, archive.ErrBusy) {
		t.Errorf("got %v", err)
	}
	to.Unlock()
	whole, err := os.ReadFile(d.Path(b))
	must(t, err)
	flipped := slices.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	must(t, os.WriteFile(d.Path(b), flipped, 0o600))
	var wrong *archive.FileError
	if err := d.IDs(led, b, 100, func([]string) error { t.Error("ids of another file"); return nil }); !errors.As(err, &wrong) {
		t.Errorf("got %v", err)
	}
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
	left := func(want bool) {
		t.Helper()
		got, err := led.GuardsLeft(ctx, look(t, led).Batch)
		must(t, err)
		same(t, "there may be guards", got, want)
	}
	left(false) // it isn't sealed: they are needed
	var before ledger.Batch
	for range 2 {
		_, err := d.Archive(ctx, led, task, date)
		must(t, err)
		b := look(t, led).Batch
		left(true)
		if err := led.GuardsRemoved(ctx, before); !errors.Is(err, ledger.ErrMoved) && before.ID != 0 {
			t.Errorf("of an earlier seal: %v", err)
		}
		left(true)
		must(t, led.GuardsRemoved(ctx, b))
		left(false)
		must(t, d.Restore(ctx, led, b))
		left(false)
		if err := led.GuardsRemoved(ctx, b); !errors.Is(err, ledger.ErrMoved) {
			t.Errorf("of a batch that isn't sealed: %v", err)
		}
		before = b
	}
}
