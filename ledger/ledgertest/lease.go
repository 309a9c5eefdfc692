package ledgertest

import (
	"context"
	"time"

	"runner/ledger"
)

// leases are what the runs of a store live by that many hosts share.
func leases(f *fixture) {
	l, ok := f.s.(ledger.Leaser)
	if !ok {
		f.Skip("runs of this store live by their files")
	}
	ctx := context.Background()
	b := f.batch(task, date)
	begin := func(id string, d time.Duration) {
		f.Helper()
		f.update(func(tx ledger.Tx) error {
			return tx.PutRun(&ledger.Run{ID: id, BatchID: b.ID, TaskName: task, ExecuteDate: date, Lease: d})
		})
	}
	ask := func(what string, want bool, did bool, err error) {
		f.Helper()
		if err != nil || did != want {
			f.Errorf("%s: %v, %v; want %v", what, did, err, want)
		}
	}
	begin("live", time.Hour)
	did, err := l.Condemn(ctx, "live", false)
	ask("condemn a live run", false, did, err)
	did, err = l.Renew(ctx, "live", 2*time.Hour)
	ask("renew a live run", true, did, err)
	did, err = l.Condemn(ctx, "live", true)
	ask("condemn with proof", true, did, err)
	did, err = l.Renew(ctx, "live", time.Hour)
	ask("renew a condemned run", false, did, err)
	did, err = l.Condemn(ctx, "live", false)
	ask("condemn again", true, did, err)

	begin("expired", time.Microsecond)
	did, err = l.Condemn(ctx, "expired", false)
	ask("condemn after the end", true, did, err)

	begin("late", time.Microsecond)
	did, err = l.Renew(ctx, "late", time.Hour)
	ask("renew what nobody has condemned", true, did, err)
	did, err = l.Condemn(ctx, "late", false)
	ask("condemn what came back in time", false, did, err)

	f.update(func(tx ledger.Tx) error {
		runs, err := tx.Runs(ledger.RunQuery{ID: "late"})
		if err != nil {
			return err
		}
		runs[0].EndedAt = now
		return tx.PutRun(&runs[0])
	})
	did, err = l.Renew(ctx, "late", time.Hour)
	ask("renew an ended run", false, did, err)
	did, err = l.Condemn(ctx, "late", true)
	ask("condemn an ended run", false, did, err)
	did, err = l.Renew(ctx, "nobody", time.Hour)
	ask("renew nobody", false, did, err)
}
