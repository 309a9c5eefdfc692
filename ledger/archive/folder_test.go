package archive_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"runner/ledger"
	"runner/ledger/archive"
)

func TestTwoLedgersNeverReplaceEachOthersFiles(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, dir), open(t, t.TempDir())
	d := folder(dir)
	fill(t, one, task, serial(5), plain)
	fill(t, two, task, serial(7), plain)
	_, err := d.Archive(ctx, one, task, date)
	must(t, err)
	m, err := d.Archive(ctx, two, task, date)
	must(t, err)
	var wrong *archive.FileError
	if !errors.As(m.Err, &wrong) || m.Why == "" || look(t, two).Batch.Sealed() {
		t.Errorf("got %+v", m)
	}
	must(t, d.Check(one, look(t, one).Batch))
}

func TestOnlyOneMovesBatchesInAFolder(t *testing.T) {
	dir := t.TempDir()
	one, two := folder(dir), folder(dir)
	must(t, one.Lock())
	if err := two.Lock(); !errors.Is(err, archive.ErrBusy) {
		t.Errorf("got %v", err)
	}
	one.Unlock()
	must(t, two.Lock())
	two.Unlock()
}

func TestIDsAreMatchedWithAnArchiveOfAnySize(t *testing.T) {
	for _, small := range []bool{false, true} {
		t.Run(fmt.Sprint("dealt out ", small), func(t *testing.T) {
			if small {
				archive.SmallParts(t)
			}
			dir := t.TempDir()
			led := open(t, dir)
			fill(t, led, task, serial(1000), func(i int, e *ledger.Entry) []ledger.Attempt {
				if i%10 == 0 {
					e.Status = ledger.Skipped
				}
				return nil
			})
			d := folder(dir)
			_, err := d.Archive(ctx, led, task, date)
			must(t, err)
			f, err := d.Open(led, look(t, led).Batch)
			must(t, err)
			defer f.Close()
			asked := append(append(serial(500), "u00007"), "new", "券")
			s, err := f.Match(func(yield func(string, error) bool) {
				for _, id := range asked {
					if !yield(id, nil) {
						return
					}
				}
			})
			must(t, err)
			slices.Sort(s.Unknown)
			same(t, "what was found", s, archive.Scope{
				Counts: ledger.Counts{ledger.Done: 450, ledger.Skipped: 50}, Repeats: 1, Unknown: []string{"new", "券"}, Missing: 2,
			})
		})
	}
}
