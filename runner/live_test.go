package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"runner/ledger"
)

func TestARunIsLiveWhileItsFileIsLocked(t *testing.T) {
	dir := t.TempDir()
	f, err := createRunFile(dir, head{Ledger: "l", Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	run := ledger.Run{ID: "r1", File: f.path}
	moved := ledger.Run{ID: "r1", File: "/elsewhere/r1"} // as another container sees it
	for range 3 {
		if !Live(run, dir, time.Time{}) || !Live(moved, dir, time.Time{}) {
			t.Fatal("it is alive")
		}
	}
	if err := os.Chmod(f.path, 0o400); err != nil {
		t.Fatal(err)
	}
	if !Live(run, dir, time.Time{}) {
		t.Error("it is alive, and looking at it needs no right to write")
	}
	f.keep()
	if Live(run, dir, time.Time{}) || Live(moved, dir, time.Time{}) {
		t.Error("it is dead, its file is left")
	}
	if live, lock, err := probe(f.path); live != dead || err != nil {
		t.Errorf("looking has left something: %v, %v", live, err)
	} else {
		_ = lock.Close()
	}
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	if Live(run, dir, time.Time{}) || exists(f.path) || exists(filepath.Join(dir, "r1")) {
		t.Error("there is no file, and none is made")
	}
}

func TestThePaceOfARunIsThatOfItsLastAttempts(t *testing.T) {
	dir := t.TempDir()
	f, err := createRunFile(dir, head{Ledger: "l", Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	run := ledger.Run{ID: "r1", File: f.path}
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	if got := Pace(run, dir, noon); got != 0 {
		t.Errorf("of no attempts: %v", got)
	}
	for i := range 10 {
		at := noon.Add(time.Duration(i) * time.Second)
		e := ledger.Entry{ID: int64(i + 1), Fence: 1}
		if err := f.started(e, at); err != nil {
			t.Fatal(err)
		}
		if err := f.ended(ledger.Report{RecordID: e.ID, Fence: 1, StartedAt: at, EndedAt: at.Add(time.Second)}, "b"); err != nil {
			t.Fatal(err)
		}
	}
	if got := Pace(run, dir, noon.Add(10*time.Second)); got != 1 {
		t.Errorf("ten attempts in ten seconds: %v", got)
	}
	if got := Pace(run, dir, noon.Add(100*time.Second)); got != 0.1 {
		t.Errorf("it has stood still since: %v", got)
	}
	if got := Pace(ledger.Run{ID: "none"}, dir, noon); got != 0 {
		t.Errorf("without a journal: %v", got)
	}
}
