package cmd

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
	"runner/runner"
)

// noticesOf makes notices of results, as a run leaves them.
func noticesOf(t *testing.T, results ...runner.ResultWord) *notices {
	t.Helper()
	n := &notices{where: gapWorld(t, ", on_success: [yes], on_failure: [no]").where, known: true}
	var all []outcomeFacts
	for i, r := range results {
		s := runner.Summary{TaskName: "t", ExecuteDate: "2026-11-2" + string(rune('0'+i)), Result: r}
		switch r {
		case runner.SomeFailed:
			s.Counts[ledger.Failed] = 1
		case runner.SomeInDoubt:
			s.Counts[ledger.InDoubt] = 1
		}
		n.results = append(n.results, notice{s, newSummary(s, nil), facts(s, nil)})
		all = append(all, facts(s, nil))
	}
	n.code = codeOf(all)
	return n
}

func TestWhichHookIsCalled(t *testing.T) {
	for _, c := range []struct {
		name    string
		results []runner.ResultWord
		want    string
	}{
		{"complete", []runner.ResultWord{runner.Complete}, "on_success"},
		{"complete on all dates", []runner.ResultWord{runner.Complete, runner.Complete}, "on_success"},
		{"not on all", []runner.ResultWord{runner.Complete, runner.SomeFailed}, "on_failure"},
		{"as far as the limit allowed", []runner.ResultWord{runner.Complete, runner.Partial}, ""},
		{"failed", []runner.ResultWord{runner.SomeFailed}, "on_failure"},
		{"in doubt", []runner.ResultWord{runner.SomeInDoubt}, "on_failure"},
		{"halted", []runner.ResultWord{runner.Halted}, "on_failure"},
		{"blocked", []runner.ResultWord{runner.Complete, runner.Blocked}, "on_failure"},
		{"busy", []runner.ResultWord{runner.IsBusy}, "on_failure"},
		{"invalid", []runner.ResultWord{runner.Invalid}, "on_failure"},
		{"no ledger", []runner.ResultWord{runner.LedgerError}, "on_failure"},
		{"nothing was done", nil, ""},
	} {
		n := noticesOf(t, c.results...)
		got := ""
		for _, task := range n.tasks() {
			if h := n.hook(task); h != nil {
				got += h.Name
			}
		}
		if got != c.want {
			t.Errorf("%s: %q is called, want %q", c.name, got, c.want)
		}
	}
}

func TestAHookIsToldWhatJSONShows(t *testing.T) {
	n := noticesOf(t, runner.Complete)
	text, err := summaryText(n.results)
	var one summaryJSON
	if err = errors.Join(err, json.Unmarshal(text, &struct {
		Task   *string            `json:"task_name"`
		Result *runner.ResultWord `json:"result"`
	}{&one.TaskName, &one.Result})); err != nil || one.TaskName != "t" || one.Result != runner.Complete {
		t.Errorf("%s: %v", text, err)
	}
	n = noticesOf(t, runner.Complete, runner.Complete, runner.Blocked)
	text, err = summaryText(n.results)
	var several []map[string]any
	if err = errors.Join(err, json.Unmarshal(text, &several)); err != nil || len(several) != 3 {
		t.Errorf("%s: %v", text, err)
	}
	if d := cmp.Diff("2026-11-20..2026-11-22", dateSpanOf(n.results)); d != "" {
		t.Error(d)
	}
}
