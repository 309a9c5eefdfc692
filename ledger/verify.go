package ledger

import (
	"context"
	"fmt"
)

// Impossible says what of a record no sequence of the rules leads to; empty if
// it is sound. ended tells whether the run that claimed it last has ended.
func Impossible(e Entry, ended bool) string {
	if err := CheckBizID(e.BizID); err != nil {
		return err.Error()
	}
	switch {
	case e.Status >= statusCount:
		return fmt.Sprintf("its status is %d", e.Status)
	case e.Phase >= Operator:
		return fmt.Sprintf("its phase is %d", e.Phase)
	case e.Generation < 1:
		return fmt.Sprintf("its generation is %d", e.Generation)
	case e.Fence < 0 || e.ActFence > e.Fence || e.CompFence > e.Fence:
		return fmt.Sprintf("its fence is %d, and an attempt has %d", e.Fence, max(e.ActFence, e.CompFence))
	case e.Attempts < 0 || int64(e.Attempts) > e.Fence:
		return fmt.Sprintf("it was started %d times, and claimed %d times", e.Attempts, e.Fence)
	case e.Status == Running && e.RunID == "":
		return "it is running, in no run"
	case e.Status == Running && ended:
		return "it is running, in run " + e.RunID + ", which has ended"
	}
	return ""
}

// verifyPage is how many records are looked at at once.
const verifyPage = 2000

// Verify reads a batch through in one snapshot, and tells what can't be: of
// single records, and of the counters.
func (l *Ledger) Verify(ctx context.Context, task, date string, tell func(bizID, what string)) error {
	type finding struct{ bizID, what string }
	var found []finding
	err := l.store.View(ctx, func(r Reader) error {
		found = nil // the store may call this again
		tell := func(bizID, what string) { found = append(found, finding{bizID, what}) }
		b, err := r.Batch(task, date)
		if err != nil || b.Sealed() {
			return err
		}
		v := verifier{r: r, ended: map[string]bool{}}
		q := Query{TaskName: task, ExecuteDate: date, Ascending: true, Limit: verifyPage}
		for {
			page, err := r.List(q)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				if err := v.look(e, tell); err != nil {
					return err
				}
			}
			q.After = page[len(page)-1].ID
		}
		if v.counts != b.Counts {
			tell("", fmt.Sprintf("it counts %v records by status, and holds %v", b.Counts, v.counts))
		}
		return nil
	})
	for _, f := range found {
		tell(f.bizID, f.what)
	}
	return err
}

type verifier struct {
	r      Reader
	counts Counts
	ended  map[string]bool // runs of running records
}

func (v *verifier) look(e Entry, tell func(bizID, what string)) error {
	if e.Status == Running && e.RunID != "" {
		if _, ok := v.ended[e.RunID]; !ok {
			runs, err := v.r.Runs(RunQuery{ID: e.RunID})
			if err != nil {
				return err
			}
			v.ended[e.RunID] = len(runs) > 0 && !runs[0].EndedAt.IsZero()
		}
	}
	if what := Impossible(e, v.ended[e.RunID]); what != "" {
		tell(e.BizID, what)
	}
	if e.Status < statusCount {
		v.counts[e.Status]++
	}
	return nil
}
