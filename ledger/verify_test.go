package ledger_test

import (
	"testing"

	"runner/ledger"
)

func TestWhatNoRuleLeadsToIsFound(t *testing.T) {
	sound := ledger.Entry{Key: ledger.Key{TaskName: "t", BizID: "u", ExecuteDate: "2026-11-11"}, Generation: 1, Fence: 3, ActFence: 3, Attempts: 2, RunID: "r", Status: ledger.Done}
	if what := ledger.Impossible(sound, true); what != "" {
		t.Errorf("a sound record: %s", what)
	}
	for name, change := range map[string]func(e *ledger.Entry){
		"status":             func(e *ledger.Entry) { e.Status = 17 },
		"phase":              func(e *ledger.Entry) { e.Phase = ledger.Operator },
		"generation":         func(e *ledger.Entry) { e.Generation = 0 },
		"fence of attempt":   func(e *ledger.Entry) { e.ActFence = 4 },
		"attempts":           func(e *ledger.Entry) { e.Attempts = 4 },
		"running in no run":  func(e *ledger.Entry) { e.Status, e.RunID = ledger.Running, "" },
		"running in a past":  func(e *ledger.Entry) { e.Status = ledger.Running },
		"biz_id with a line": func(e *ledger.Entry) { e.BizID = "a\n" },
	} {
		e := sound
		change(&e)
		if ledger.Impossible(e, true) == "" {
			t.Errorf("%s: nothing was found", name)
		}
	}
}
