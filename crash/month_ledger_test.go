//go:build linux

package crash

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// has tells whether the program has a command below ledger.
func (m *month) has(command string) bool {
	m.t.Helper()
	return m.code(m.run([]int{0, 2}, "help", "ledger", command)) == 0
}

// archive moves the first days out of the ledger. They stay complete, are
// never done again, and one of them comes back as it was.
func (m *month) archive() {
	m.t.Helper()
	if !m.has("archive") {
		m.t.Log("this runner has no ledger archive: yet")
		return
	}
	p := m.run([]int{0}, "ledger", "archive", "--before", dateOf(archiveEnd+1), "--to", "archive", "-o", "json")
	var list []struct {
		Date   string `json:"execute_date"`
		Result string
	}
	m.must(json.Unmarshal([]byte(p.stdout()), &list))
	for _, b := range list {
		if b.Result != "archived" || b.Date > dateOf(archiveEnd) {
			m.t.Errorf("%+v", b)
		}
	}
	if len(list) != archiveEnd*len(monthTasks) {
		m.t.Errorf("%d batches were archived", len(list))
	}
	m.noGaps(1, archiveEnd)
	again := []string{"run", "grant", "--date", dateOf(5), "-o", "json"}
	for range 2 { // sealed, and restored
		if s := m.run([]int{0}, again...).summary(); s.Result != "complete" || s.Executed != 0 {
			m.t.Errorf("%s: %+v", dateOf(5), s)
		}
		m.run([]int{0}, "ledger", "restore", "grant", "--date", dateOf(5))
	}
}

// restore brings back what is archived, so that all can be counted.
func (m *month) restore() {
	m.t.Helper()
	if !m.has("restore") {
		return
	}
	for day := 1; day <= archiveEnd; day++ {
		for _, task := range monthTasks {
			m.run([]int{0}, "ledger", "restore", task, "--date", dateOf(day))
		}
	}
}

// loseTheLedger backs it up in the middle of a night, and brings that back
// after more was done. The dates of the month are long past; so what was
// planned after the backup, and would be in doubt on the date itself, is not
// part of this.
func (m *month) loseTheLedger() {
	m.t.Helper()
	if !m.has("restore-backup") {
		m.t.Log("this runner has no ledger restore-backup: yet")
		return
	}
	date := dateOf(backupDay)
	m.finish("sync", date)
	m.run([]int{0}, "run", "grant", "--date", date, "--limit", "2")
	before := m.records("grant", backupDay, "done")
	m.run([]int{0}, "ledger", "backup", "ledger.bak")
	m.finish("grant", date)

	files, err := filepath.Glob(m.ledger() + "*")
	m.must(err)
	for _, f := range files {
		m.must(os.RemoveAll(f))
	}
	m.run([]int{0}, "ledger", "restore-backup", "ledger.bak")
	doubt := m.records("grant", backupDay, "in_doubt")
	if all := slices.Concat(before, doubt); len(before) != 2 || len(all) != len(m.input[date]) {
		m.t.Errorf("done before the backup %v, in doubt after it %v", before, doubt)
	}
}
