package ledger

import (
	"encoding/json"
	"testing"
)

func TestNamesOfStatusesAndOutcomesAreReadBack(t *testing.T) {
	for _, s := range Statuses {
		if got, err := ParseStatus(s.String()); err != nil || got != s {
			t.Errorf("%s: %s, %v", s, got, err)
		}
		var back Status
		if b, err := json.Marshal(s); err != nil || json.Unmarshal(b, &back) != nil || back != s {
			t.Errorf("%s as JSON: %s, %v", s, b, err)
		}
		if s.Open() != (s == Pending || s == Running) || s.Open() == s.Settled() {
			t.Errorf("%s: open %v, settled %v", s, s.Open(), s.Settled())
		}
	}
	for o := range outcomeCount {
		var back Outcome
		if b, err := json.Marshal(o); err != nil || json.Unmarshal(b, &back) != nil || back != o {
			t.Errorf("%s as JSON: %s, %v", o, b, err)
		}
	}
	for ph := range phaseCount {
		var back Phase
		if b, err := json.Marshal(ph); err != nil || json.Unmarshal(b, &back) != nil || back != ph {
			t.Errorf("%s as JSON: %s, %v", ph, b, err)
		}
	}
	var s Status
	var o Outcome
	var ph Phase
	for _, into := range []any{&s, &o, &ph} {
		if json.Unmarshal([]byte(`"finished"`), into) == nil {
			t.Errorf("%T takes a name that there isn't", into)
		}
	}
}

func TestStoredNumbersOfStatusesAndPhasesStay(t *testing.T) {
	if got := []Status{Pending, Running, Done, Failed, InDoubt, Skipped}; got[0] != 0 || got[1] != 1 || got[2] != 2 || got[3] != 3 || got[4] != 4 || got[5] != 5 {
		t.Errorf("statuses are %d", got)
	}
	if got := []Phase{Act, Check, Compensate, Operator}; got[0] != 0 || got[1] != 1 || got[2] != 2 || got[3] != 3 {
		t.Errorf("phases are %d", got)
	}
}
