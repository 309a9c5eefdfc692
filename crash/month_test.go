//go:build linux

package crash

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	missedFrom = 11 // days on which cron is down
	missedTo   = 17
	badDay     = 20 // some of its grants fail
	archiveDay = 22 // the first days are archived
	archiveEnd = 8
	backupDay  = 25 // the ledger is lost, and a backup is brought back
)

// TestAMonthEndsWithEveryRecordAccountedFor lives through March 2024 with
// three tasks, each of which cron starts twice a day: runs are killed, a day
// has failures, a week is missed, days are archived and restored, the ledger is
// lost and a backup brought back, and what is in doubt is settled by a person who
// looks at what took effect.
func TestAMonthEndsWithEveryRecordAccountedFor(t *testing.T) {
	t.Parallel()
	m := newMonth(t, *seedFlag)
	began := time.Now()
	for day := 1; day <= 31; day++ {
		switch {
		case missedFrom <= day && day <= missedTo:
			continue
		case day == missedTo+1:
			m.catchUp()
		case day == badDay:
			m.break3()
		case day == archiveDay:
			m.archive()
		case day == backupDay:
			m.loseTheLedger()
		}
		m.cron(day)
		m.morning(day)
	}
	m.noGaps(1, 31)
	m.restore()
	m.account()
	fmt.Printf("crash: month: seed %d: %d kills, %d starts, %d records, %d marked by hand, in %v\n",
		*seedFlag, m.kills, m.n, len(m.expected()), m.marked, time.Since(began).Round(time.Second))
}

// catchUp is what somebody does after the week without cron.
func (m *month) catchUp() {
	m.t.Helper()
	if gaps := m.gaps(1, missedFrom, missedTo); len(gaps) != 7*len(monthTasks) {
		m.t.Fatalf("%d gaps of the missed week: %v", len(gaps), gaps)
	}
	m.noGaps(1, missedFrom-1)
	for day := missedFrom; day <= missedTo; day++ {
		m.mayKill("sync", day) // a date after which the next start goes on
		m.mayKill("settle", day)
	}
	for _, task := range monthTasks {
		for tries := 0; ; tries++ {
			left := len(m.gaps(-1, missedFrom, missedTo, task))
			if left == 0 {
				break
			}
			if tries > 8 {
				m.t.Fatalf("%s: %d dates are left", task, left)
			}
			// As many as there are: in truth it is later, and all days since are missing.
			m.start1(task, "--catch-up", "--since", dateOf(missedFrom), "--max-dates", fmt.Sprint(left))
		}
	}
	m.noGaps(1, missedTo)
}

// break3 lets three grants of the bad day fail until somebody mends that.
func (m *month) break3() {
	for i := range 3 {
		m.write("fail/"+key{"grant", dateOf(badDay), fmt.Sprint("u", i)}.file(), "")
	}
}

// mend ends the failures of the bad day: two can go on, one account is closed.
func (m *month) mend() {
	m.t.Helper()
	date := dateOf(badDay)
	failed := m.records("grant", badDay, "failed")
	if len(failed) != 3 || m.code(m.start1("settle", "--date", date)) != 6 {
		m.t.Fatalf("%v failed; settle has to wait for them", failed)
	}
	for i := range 2 {
		m.must(os.Remove(m.path("fail/" + key{"grant", date, fmt.Sprint("u", i)}.file())))
	}
	m.run([]int{1}, "rerun", "grant", "--date", date)
	m.run([]int{0}, "ledger", "mark", "grant", "u2", "--date", date, "--as", "skipped", "--reason", "account closed")
	m.skipped[key{"grant", date, "u2"}] = true
}

// account compares the ledger with what took effect, record by record.
func (m *month) account() {
	m.t.Helper()
	m.quiet()
	m.sound()
	statuses, effects := m.ledgerSays(), map[key]int{}
	for _, l := range m.lines("effects") {
		f := strings.Fields(l)
		effects[key{f[0], f[1], f[2]}]++
	}
	var wrong []string
	for _, k := range m.expected() {
		status, n := statuses[k], effects[k]
		fine := status == "done" && (n == 1 || n > 1 && k.task == "sync")
		if m.skipped[k] {
			fine = status == "skipped" && n == 0
		}
		if !fine {
			wrong = append(wrong, fmt.Sprintf("%v is %q and took effect %d times", k, status, n))
		}
		delete(statuses, k)
		delete(effects, k)
	}
	for k := range statuses {
		wrong = append(wrong, fmt.Sprintf("%v is in the ledger, and in no input", k))
	}
	for k := range effects {
		wrong = append(wrong, fmt.Sprintf("%v took effect, and is in no input", k))
	}
	for l, n := range m.repeated() {
		wrong = append(wrong, fmt.Sprintf("attempt %s started %d times", l, n))
	}
	if len(wrong) > 0 {
		m.t.Errorf("seed %d: %d things are wrong in %s:\n%s", *seedFlag, len(wrong), m.keep(), strings.Join(wrong, "\n"))
	}
}
