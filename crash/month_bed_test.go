//go:build linux

package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var monthTasks = []string{"sync", "grant", "settle"}

// The tasks of the month: one that may be repeated and has no records, one
// that is held when it is in doubt, and one whose check tells the truth.
const monthConfig = `timezone: Europe/Berlin
tasks:
  sync:
    run: [sh, month.sh]
    idempotent: true
    retry: {attempts: 9, backoff: 1ms}
    schedule: "5 1 * * *"
    schedule_date: yesterday
  grant:
    records: {lines: "in/{{.execute_date}}"}
    run: [sh, month.sh]
    needs: [sync]
    jobs: 3
    retry: {attempts: 2, backoff: 1ms}
    schedule: "5 2 * * *"
    schedule_date: yesterday
  settle:
    records: {lines: shops}
    run: [sh, month.sh]
    check: [sh, month_check.sh]
    needs: [grant]
    jobs: 2
    retry: {attempts: 9, backoff: 1ms}
    schedule: "5 3 * * *"
    schedule_date: yesterday
`

// monthAct kills its runner once where it is told to: before its effect,
// after it, or before it and goes on without the runner.
const monthAct = `key="$RUNNER_TASK_NAME $RUNNER_EXECUTE_DATE $RUNNER_BIZ_ID"
name=$RUNNER_TASK_NAME.$RUNNER_EXECUTE_DATE.$RUNNER_BIZ_ID
die() { rm "kill/$name.$1" 2>/dev/null && kill -9 $PPID; }
echo "$key $RUNNER_ATTEMPT_ID" >>started
[ ! -e "fail/$name" ] || { echo "no such account" >&2 && exit 1; }
die before && exit 1
die outlive
echo "$key $RUNNER_ATTEMPT_ID" >>effects
die after
exit 0
`

const monthCheck = `grep -q "^$RUNNER_TASK_NAME $RUNNER_EXECUTE_DATE $RUNNER_BIZ_ID " effects`

// key names a record.
type key struct{ task, date, id string }

func (k key) file() string { return k.task + "." + k.date + "." + k.id }

// dateOf is a day of the month: one with 31 days, and one day that lacks an
// hour. It is long ago, so that nothing in it is in the future of any clock.
func dateOf(day int) string { return fmt.Sprintf("2024-03-%02d", day) }

// month is a bed that lives through one.
type month struct {
	*bed
	r             *rand.Rand
	input         map[string][]string // of grant, by date
	skipped       map[key]bool        // by a person
	kills, marked int
}

func newMonth(t *testing.T, seed uint64) *month {
	m := &month{bed: newBed(t, 0), r: rand.New(rand.NewPCG(seed, 31)), input: map[string][]string{}, skipped: map[key]bool{}}
	m.write("runner.yaml", monthConfig)
	m.write("month.sh", monthAct)
	m.write("month_check.sh", monthCheck)
	m.write("shops", "s0\ns1\ns2\n")
	for _, d := range []string{"in", "kill"} {
		m.must(os.Mkdir(m.path(d), 0o700))
	}
	for day := 1; day <= 31; day++ {
		var ids []string
		for i := range 4 + m.r.IntN(5) {
			ids = append(ids, fmt.Sprint("u", i))
		}
		m.input[dateOf(day)] = ids
		m.write("in/"+dateOf(day), strings.Join(ids, "\n")+"\n")
	}
	return m
}

// ids are the records of a task on a date.
func (m *month) ids(task, date string) []string {
	switch task {
	case "sync":
		return []string{"-"}
	case "settle":
		return []string{"s0", "s1", "s2"}
	}
	return m.input[date]
}

// expected are all records of the month.
func (m *month) expected() (all []key) {
	for day := 1; day <= 31; day++ {
		for _, task := range monthTasks {
			for _, id := range m.ids(task, dateOf(day)) {
				all = append(all, key{task, dateOf(day), id})
			}
		}
	}
	return all
}

// mayKill lets, on one day in three, a record kill its runner.
func (m *month) mayKill(task string, day int) {
	if m.r.IntN(3) > 0 {
		return
	}
	ids := m.ids(task, dateOf(day))
	k := key{task, dateOf(day), ids[m.r.IntN(len(ids))]}
	m.write("kill/"+k.file()+"."+[]string{"before", "after", "outlive"}[m.r.IntN(3)], "")
}

// start1 starts a run and waits until nothing of it is left.
func (m *month) start1(task string, args ...string) *proc {
	m.t.Helper()
	p := m.start(nil, nil, append([]string{"run", task}, args...)...)
	m.expect(p, -1, 0, 1, 3, 6)
	if m.code(p) == -1 {
		m.kills++
	}
	m.quiet()
	return p
}

func (m *month) code(p *proc) int { return p.ProcessState.ExitCode() }

// cron is a night: each task at its time, and once more half an hour later.
func (m *month) cron(day int) {
	m.t.Helper()
	for _, task := range monthTasks {
		if task != "grant" || day != badDay { // which has trouble enough
			m.mayKill(task, day)
		}
		for range 2 {
			m.start1(task, "--date", dateOf(day))
		}
	}
}

// morning is somebody who finds out what happened to what is in doubt, and
// lets go on what had to wait for that.
func (m *month) morning(day int) {
	m.t.Helper()
	date := dateOf(day)
	m.settleDoubt(day)
	if day == badDay {
		m.mend()
	}
	if len(m.gaps(-1, day, day)) > 0 {
		for _, task := range monthTasks {
			m.finish(task, date)
		}
	}
}

// finish starts a run until there is nothing left to do: what had to wait may
// be killed too.
func (m *month) finish(task, date string) {
	m.t.Helper()
	for range 3 {
		if m.code(m.start1(task, "--date", date)) == 0 {
			return
		}
	}
	m.t.Fatalf("%s %s isn't complete", task, date)
}

// settleDoubt marks what is in doubt as what it is, and has done what isn't.
func (m *month) settleDoubt(day int) {
	m.t.Helper()
	date := dateOf(day)
	var there, absent []string
	for _, id := range m.records("grant", day, "in_doubt") {
		if strings.Contains(m.read("effects"), "grant "+date+" "+id+" ") {
			there = append(there, id)
		} else {
			absent = append(absent, id)
		}
	}
	m.marked += len(there) + len(absent)
	if len(there) > 0 {
		m.write("confirmed", strings.Join(there, "\n")+"\n")
		m.run([]int{0}, "ledger", "mark", "grant", "--date", date, "--ids-from", "confirmed", "--yes", "--as", "done", "--reason", "the bank's report")
	}
	if len(absent) > 0 {
		m.run([]int{0}, append([]string{"ledger", "mark", "grant", "--date", date, "--as", "failed", "--reason", "not in the bank's report"}, absent...)...)
		rerun := []string{"rerun", "grant", "--date", date}
		for _, id := range absent {
			rerun = append(rerun, "--biz-id", id)
		}
		m.run([]int{0, 1}, rerun...)
	}
}

func (m *month) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.path(name))
	m.must(err)
	return string(text)
}

// records are the ids that have a status.
func (m *month) records(task string, day int, status string) (ids []string) {
	m.t.Helper()
	p := m.run([]int{0}, "ledger", "ls", "--task", task, "--date", dateOf(day), "--status", status, "--limit", "0", "-o", "json")
	var list []struct {
		BizID string `json:"biz_id"`
	}
	m.must(json.Unmarshal([]byte(p.stdout()), &list))
	for _, r := range list {
		ids = append(ids, r.BizID)
	}
	return ids
}

// gaps are the dates that are missing or incomplete; code -1: whether there
// are any or not.
func (m *month) gaps(code, from, to int, tasks ...string) (gaps []string) {
	m.t.Helper()
	codes := []int{code}
	if code == -1 {
		codes = []int{0, 1}
	}
	p := m.run(codes, append([]string{"gaps", "--from", dateOf(from), "--to", dateOf(to), "-o", "json"}, tasks...)...)
	var list []struct {
		Task string `json:"task_name"`
		Date string `json:"execute_date"`
	}
	m.must(json.Unmarshal([]byte(p.stdout()), &list))
	for _, g := range list {
		gaps = append(gaps, g.Task+" "+g.Date)
	}
	return gaps
}

func (m *month) noGaps(from, to int) {
	m.t.Helper()
	if gaps := m.gaps(0, from, to); len(gaps) > 0 {
		m.t.Errorf("gaps: %v", gaps)
	}
}

// ledgerSays gives the status of each record, read with SQL alone.
func (m *month) ledgerSays() map[key]string {
	m.t.Helper()
	db := m.db()
	defer db.Close()
	rows, err := db.Query("SELECT task_name, execute_date, biz_id, status FROM ledger")
	m.must(err)
	says := map[key]string{}
	for rows.Next() {
		var k key
		var status string
		m.must(rows.Scan(&k.task, &k.date, &k.id, &status))
		says[k] = status
	}
	m.must(errors.Join(rows.Err(), rows.Close()))
	return says
}
