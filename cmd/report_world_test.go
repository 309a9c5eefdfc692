package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"runner/ledger"
	"runner/ledger/sqlite"
)

// hostile is what somebody might put into an id or an error to harm a reader.
const hostile = "</script><script>document.title='owned'</script><img src=http://192.0.2.1/x onerror=alert(1)>  \x1b[31m\u202e'\"&"

const reportConfig = `timezone: Asia/Shanghai
tasks:
  grant-coupon:
    run: ["true"]
    schedule: "5 2 * * *"
    schedule_date: yesterday
  对账-每日结算:
    run: ["true"]
    schedule: "30 6 * * 1-5"
  settle-orders:
    run: ["true"]
  report-mails:
    run: ["true"]
    schedule: "0 9 * * 1"
`

// reportWorld is a world with a month of batches, as a shop has them.
func reportWorld(t *testing.T) *world {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(configName, []byte(reportConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(context.Background(), defaultLedger, sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	m := &month{T: t, s: s}
	m.fill()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return newWorld(t) // it is 04:30 on November 29 in Shanghai
}

// month fills a ledger.
type month struct {
	*testing.T
	s    *sqlite.Store
	runs int
}

func (m *month) fill() {
	m.batch("grant-coupon", "2026-10-02", 9, time.Minute, func(_ int, e *ledger.Entry) { m.fail(e, "exit status 1") }, nil)
	for d := 1; d <= 28; d++ {
		date := fmt.Sprintf("2026-11-%02d", d)
		coupons := 40 + d*7%13
		switch d {
		case 17, 18: // missed
		case 11:
			m.batch("grant-coupon", date, 200, 38*time.Minute, func(i int, e *ledger.Entry) {
				switch {
				case i%9 == 4:
					m.fail(e, fmt.Sprintf("exit status 1: timeout of coupon-svc after %d.%02ds (request 3f9c2a71-0b%02d-4c1e-9d22-7a61e0aa%04d)", 10+i%5, i%100, i%100, i))
				case i%31 == 3:
					m.fail(e, fmt.Sprintf("exit status 1: 余额不足：账户 %d 还差 %d.50 元", 10023+i, i))
				case i == 50:
					m.fail(e, hostile)
				}
			}, nil)
		case 24:
			m.batch("grant-coupon", date, coupons, 4*time.Minute, func(i int, e *ledger.Entry) {
				if i < 3 {
					m.doubt(e, []string{"killed by signal 9 (SIGKILL)", "timed out after 30s", hostile}[i])
				}
			}, nil)
		case 26:
			m.batch("grant-coupon", date, coupons, time.Minute, func(i int, e *ledger.Entry) {
				if i > 9 {
					e.Status = ledger.Pending
				}
			}, func(b *ledger.Batch) {
				b.HaltedAt, b.HaltReason = m.at(date, 3*time.Hour), "5 of 20 attempts failed <b>"
			})
		default:
			m.batch("grant-coupon", date, coupons, time.Duration(coupons+d)*4*time.Second, unchanged, m.sealed(d))
		}
		if weekday := (d - 1) % 7; weekday > 0 && weekday < 6 && d != 13 { // November 1 is a Sunday
			m.batch("对账-每日结算", date, 25, time.Duration(60+d*d%40)*time.Second, func(i int, e *ledger.Entry) {
				if d == 20 && i == 3 {
					m.fail(e, "exit status 2: 对账文件 2026-11-20.csv 第 118 行：金额不一致")
				}
			}, m.sealed(d))
		}
		if d%2 == 0 {
			m.batch("settle-orders", date, 10, time.Duration(d)*700*time.Millisecond, func(_ int, e *ledger.Entry) {
				if d == 28 {
					e.Status, e.EndedAt = ledger.Running, time.Time{}
				}
			}, nil)
		}
	}
}

func (m *month) sealed(d int) func(*ledger.Batch) {
	if d > 5 {
		return nil
	}
	return func(b *ledger.Batch) { b.SealedAt = m.at("2026-11-20", 0) }
}

// at is a time after the beginning of the day after a date.
func (m *month) at(date string, d time.Duration) time.Time {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		m.Fatal(err)
	}
	return t.Add(16*time.Hour + d) // of Shanghai
}

func (m *month) fail(e *ledger.Entry, text string) {
	e.Status, e.Error, e.Attempts, e.Detail = ledger.Failed, text, 3, ""
}

func (m *month) doubt(e *ledger.Entry, text string) {
	e.Status, e.Error, e.Detail = ledger.InDoubt, text, ledger.DetailUnknown
}

// batch writes a batch whose records are done unless edit says otherwise, and
// a run of it.
func (m *month) batch(task, date string, n int, took time.Duration, edit func(int, *ledger.Entry), more func(*ledger.Batch)) {
	m.Helper()
	m.runs++
	run := ledger.Run{
		ID: fmt.Sprintf("0193-%04d", m.runs), TaskName: task, ExecuteDate: date, TimeZone: "Asia/Shanghai", Command: "run", Host: "batch-1", PID: 4711,
		StartedAt: m.at(date, 2*time.Hour+5*time.Minute), Result: "complete", Executed: int64(n),
	}
	run.EndedAt = run.StartedAt.Add(took)
	in := make([]ledger.Input, n)
	for i := range in {
		in[i] = ledger.Input{BizID: fmt.Sprintf("u%06d", i*37+len(task)*1000)}
	}
	in[0].BizID = hostile
	in[1].BizID = "-用户:10086"
	err := m.s.Update(context.Background(), func(tx ledger.Tx) error {
		b := ledger.Batch{TaskName: task, ExecuteDate: date, CreatedAt: run.StartedAt}
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		if _, err := tx.Insert(b.ID, in); err != nil {
			return err
		}
		old, err := tx.List(ledger.Query{TaskName: task, ExecuteDate: date, Ascending: true})
		if err != nil {
			return err
		}
		var changes []ledger.Change
		for i, e := range old {
			was := e
			e.Status, e.Attempts, e.Fence, e.ActFence, e.Detail, e.RunID = ledger.Done, 1, 1, 1, ledger.DetailApplied, run.ID
			e.StartedAt = run.StartedAt.Add(time.Duration(i) * took / time.Duration(n))
			e.EndedAt = e.StartedAt.Add(time.Duration(100+i*i*13%900) * took / time.Duration(n) / 1000)
			edit(i, &e)
			if e.Status == ledger.Running {
				run.EndedAt, run.Result = time.Time{}, ""
			}
			changes = append(changes, ledger.Change{Old: was, New: e})
		}
		if err := tx.Swap(changes); err != nil {
			return err
		}
		if more != nil { // last, for nothing is written to a sealed batch
			more(&b)
			if err := tx.PutBatch(&b); err != nil {
				return err
			}
		}
		run.BatchID, run.No, run.File = b.ID, 0, m.runFile(run)
		return tx.PutRun(&run)
	})
	if err != nil {
		m.Fatal(err)
	}
}

// runFile makes the file of a run that has not ended, and holds its lock.
func (m *month) runFile(r ledger.Run) string {
	path, err := filepath.Abs(filepath.Join(m.s.RunsDir(), r.ID))
	if err != nil {
		m.Fatal(err)
	}
	if r.EndedAt.IsZero() {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			m.Fatal(err)
		}
		l := flock.New(path)
		if ok, err := l.TryLock(); err != nil || !ok {
			m.Fatalf("%v %v", ok, err)
		}
		m.Cleanup(func() { _ = l.Close() })
	}
	return path
}
