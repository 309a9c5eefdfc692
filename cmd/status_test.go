package cmd

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"runner/ledger"
	"runner/ledger/sqlite"
)

// stands gives how the one batch of a world stands.
func (w *world) stands(t *testing.T) (s statusJSON) {
	t.Helper()
	if code := w.invoke("status", "-o", "jsonl"); code != exitOK {
		t.Fatalf("exit %d: %s", code, w.err.String())
	}
	var raw map[string]any
	if err := json.Unmarshal(w.out.Bytes(), &raw); err != nil {
		t.Fatal(err)
	}
	s.State, s.Complete, s.OpenPlan = raw["state"].(string), raw["complete"].(bool), raw["open_plan"].(bool)
	return s
}

// put changes the batch of a seeded world.
func put(t *testing.T, edit func(ledger.Tx, *ledger.Batch) error) {
	t.Helper()
	s, err := sqlite.Open(context.Background(), defaultLedger, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Update(context.Background(), func(tx ledger.Tx) error {
		b, err := tx.Batch("t", "2026-11-28")
		if err != nil {
			return err
		}
		if err := edit(tx, &b); err != nil {
			return err
		}
		return tx.PutBatch(&b)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestABatchWithAnOpenPlanIsNotComplete(t *testing.T) {
	w := seeded(t, 3, func(_ int, e *ledger.Entry) { e.Status = ledger.Done })
	if s := w.stands(t); s.State != "complete" || !s.Complete || s.OpenPlan {
		t.Errorf("all is done: %+v", s)
	}
	put(t, func(tx ledger.Tx, b *ledger.Batch) error {
		b.OpenPlanRun = "r-1"
		return tx.PutRun(&ledger.Run{ID: "r-1", BatchID: b.ID, TaskName: "t", ExecuteDate: b.ExecuteDate, File: "/gone", StartedAt: time.Now()})
	})
	if s := w.stands(t); s.State != "cut_off" || s.Complete || !s.OpenPlan {
		t.Errorf("its plan was cut off: %+v", s)
	}
}

func TestStatusTellsOfAHaltAndAPause(t *testing.T) {
	w := seeded(t, 3, unchanged)
	put(t, func(_ ledger.Tx, b *ledger.Batch) error {
		b.HaltedAt, b.HaltReason = time.Now(), "5 of 20 attempts\nfailed"
		return nil
	})
	if s := w.stands(t); s.State != "halted" || s.Complete {
		t.Errorf("%+v", s)
	}
	w.invoke("status")
	if !strings.Contains(w.out.String(), "3 halted: 5 of 20 attempts | failed: runner run t --date 2026-11-28") {
		t.Errorf("what to do isn't said:\n%s", w.out.String())
	}
	put(t, func(_ ledger.Tx, b *ledger.Batch) error {
		b.HaltedAt, b.HaltReason, b.PausedUntil = time.Time{}, "", time.Now().AddDate(10, 0, 0)
		return nil
	})
	if s := w.stands(t); s.State != "paused" {
		t.Errorf("%+v", s)
	}
	w.invoke("status", "-o", "markdown")
	if out := w.out.String(); !strings.Contains(out, "paused until ") || strings.Contains(out, "is due at") {
		t.Errorf("the pause isn't said, or another time beside it:\n%s", out)
	}
}
