//go:build unix

package sqlaction

import (
	"context"
	"strconv"
	"testing"

	"runner/ledger"
)

// BenchmarkRecord is what a record costs in batches of 200, as the workers of
// a run hand them in.
func BenchmarkRecord(b *testing.B) {
	for _, kind := range bedKinds {
		b.Run(kind, func(b *testing.B) {
			bed := newBed(b, kind)
			tx, err := bed.db.Begin()
			bed.must(err)
			for i := range 10000 {
				_, err := tx.Exec("INSERT INTO account (id, balance) VALUES ('" + strconv.Itoa(i) + "', 0)")
				bed.must(err)
			}
			bed.must(tx.Commit())
			if kind == "sqlite" {
				bed.exec("PRAGMA journal_mode = WAL")
			}
			a := bed.prepared(Options{Statements: []string{"UPDATE account SET balance = balance + 1 WHERE id = :id"}, Guard: true, Batch: 200})
			next := make(chan int)
			done := make(chan struct{})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for range 400 {
				go func() {
					defer func() { done <- struct{}{} }()
					for i := range next {
						at := attempt(strconv.Itoa(i), "id", strconv.Itoa(i%10000))
						if r := a.Act(ctx, at); r.Outcome != ledger.Succeeded {
							b.Error(short(r))
						}
					}
				}()
			}
			b.ResetTimer()
			for i := range b.N {
				next <- i
			}
			close(next)
			for range 400 {
				<-done
			}
		})
	}
}
