package postgres

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"runner/internal/dbtest"
	"runner/ledger"
)

// throughProxy is a ledger with one record, reached through a proxy.
func throughProxy(t *testing.T) (*Store, *dbtest.Proxy, ledger.Entry) {
	t.Helper()
	at := dbtest.Postgres(t)
	proxy, through := dbtest.ProxyPostgres(t, at)
	s := openAt(t, through, Options{Create: true})
	_, list := planned(t, s, "a")
	return s, proxy, list[0]
}

// once makes of a watch on one side's words one that acts the first time.
func once(fromServer bool, word string, fate dbtest.Fate) func(bool, []byte) dbtest.Fate {
	var done atomic.Bool
	return func(from bool, data []byte) dbtest.Fate {
		if from == fromServer && bytes.Contains(data, []byte(word)) && done.CompareAndSwap(false, true) {
			return fate
		}
		return dbtest.Pass
	}
}

func TestACommitWhoseConnectionBreaksTakesEffectOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		watch func(bool, []byte) dbtest.Fate
		calls int
	}{
		{"the reply is lost", once(true, "COMMIT\x00", dbtest.Cut), 1},
		{"the commit never arrives", once(false, "COMMIT\x00", dbtest.Cut), 2},
		{"the commit never arrives, and the server waits for it", once(false, "COMMIT\x00", dbtest.Strand), 2},
		{"the transaction breaks in the middle", once(false, "UPDATE record", dbtest.Cut), 2},
		{"its start is lost", once(false, "BEGIN", dbtest.Cut), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, proxy, e := throughProxy(t)
			calls := 0
			proxy.Watch(c.watch)
			update(t, s, func(tx ledger.Tx) error {
				calls++
				return claim(tx, e, "run-1")
			})
			if calls != c.calls {
				t.Errorf("the function ran %d times, want %d", calls, c.calls)
			}
			got := entries(t, s)[0]
			if got.Status != ledger.Running || got.Fence != 1 {
				t.Errorf("the record is %s with fence %d, want running with 1", got.Status, got.Fence)
			}
			must(t, s.View(ctx, func(r ledger.Reader) error {
				b, err := r.Batch(task, date)
				if b.Counts != (ledger.Counts{ledger.Running: 1}) {
					t.Errorf("the batch counts %v", b.Counts)
				}
				return err
			}))
		})
	}
}

func TestWhatCantBeFoundOutIsSaid(t *testing.T) {
	s, proxy, e := throughProxy(t)
	s.opts.Patience = 50 * time.Millisecond
	proxy.Watch(func(fromServer bool, data []byte) dbtest.Fate {
		if fromServer && bytes.Contains(data, []byte("COMMIT\x00")) {
			go proxy.SetDown(true)
			return dbtest.Cut
		}
		return dbtest.Pass
	})
	err := s.Update(ctx, func(tx ledger.Tx) error { return claim(tx, e, "run-1") })
	unusable(t, err, "can't be found out")
}

func TestAnErrorOfTheFunctionIsNotTriedAgain(t *testing.T) {
	s, _ := fresh(t)
	boom, calls := errors.New("unexpected EOF"), 0
	err := s.Update(ctx, func(ledger.Tx) error {
		calls++
		return boom
	})
	if !errors.Is(err, boom) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestARestartOfTheServerIsSurvived(t *testing.T) {
	server := dbtest.StartPostgres(t, dbtest.Durable...)
	s := openAt(t, server.Address, Options{Create: true, Patience: soon})
	_, list := planned(t, s, "a", "b")
	entries(t, s) // a reader is connected too
	calls := 0
	update(t, s, func(tx ledger.Tx) error {
		if calls++; calls == 1 {
			server.Crash(t)
			go server.Restart(t)
		}
		return claim(tx, list[0], "run-1")
	})
	if got := entries(t, s); got[0].Status != ledger.Running || got[0].Fence != 1 || got[1].Status != ledger.Pending {
		t.Errorf("after the restart: %+v", got)
	}
	if calls < 2 {
		t.Errorf("the function ran %d times", calls)
	}
}

func TestARestartInTheMiddleOfAReadIsSurvived(t *testing.T) {
	server := dbtest.StartPostgres(t, dbtest.Durable...)
	s := openAt(t, server.Address, Options{Create: true, Patience: soon})
	planned(t, s, "a", "b")
	calls := 0
	var list []ledger.Entry
	must(t, s.View(ctx, func(r ledger.Reader) (err error) {
		if _, err = r.Batch(task, date); err != nil {
			return err
		}
		if calls++; calls == 1 {
			server.Crash(t)
			go server.Restart(t)
		}
		list, err = r.List(ledger.Query{})
		return err
	}))
	if calls < 2 || len(list) != 2 {
		t.Errorf("the function ran %d times, and read %d records in the end", calls, len(list))
	}
}

func TestAServerThatStaysAwayIsSaid(t *testing.T) {
	s, proxy, _ := throughProxy(t)
	s.opts.Patience = 50 * time.Millisecond
	proxy.SetDown(true)
	unusable(t, s.Update(ctx, func(ledger.Tx) error { return nil }), "can't be reached")
	unusable(t, s.View(ctx, func(ledger.Reader) error { return nil }), "can't be reached")
	proxy.SetDown(false)
	update(t, s, func(ledger.Tx) error { return nil })
}
