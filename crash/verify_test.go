//go:build linux

package crash

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"strings"

	_ "modernc.org/sqlite" // reads ledgers from outside
)

// The statuses as numbers of the store.
const (
	pending = iota
	running
	done
	failed
	inDoubt
	skipped
)

// mode is what a task says of an attempt whose outcome is unknown.
type mode int

const (
	hold mode = iota // nothing: a person decides
	idempotent
	checked
)

func (m mode) String() string { return []string{"hold", "idempotent", "check"}[m] }

// tally is what a test has seen.
type tally struct {
	kills, lives, records, effects, inDoubt int
	doubles, losses                         int // of which there must be none
}

func (t *tally) add(u tally) {
	t.kills += u.kills
	t.lives += u.lives
	t.records += u.records
	t.effects += u.effects
	t.inDoubt += u.inDoubt
	t.doubles += u.doubles
	t.losses += u.losses
}

func (t tally) String() string {
	return fmt.Sprintf("%d kills, %d ledgers, %d records, %d effects, %d in doubt, %d doubles, %d losses",
		t.kills, t.lives, t.records, t.effects, t.inDoubt, t.doubles, t.losses)
}

// db opens the ledger for reading, with nothing of the product between.
func (b *bed) db() *sql.DB {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.ledger()+"?mode=ro&_pragma=busy_timeout(10000)")
	b.must(err)
	return db
}

func (b *bed) number(db *sql.DB, query string) (n int) {
	b.t.Helper()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// statuses gives the status of each record; nil where there is no ledger yet.
func (b *bed) statuses() map[string]int {
	b.t.Helper()
	if _, err := os.Stat(b.ledger()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db := b.db()
	defer db.Close()
	rows, err := db.Query("SELECT biz_id, status FROM record")
	b.must(err)
	defer rows.Close()
	m := map[string]int{}
	for rows.Next() {
		var id string
		var status int
		b.must(rows.Scan(&id, &status))
		m[id] = status
	}
	b.must(rows.Err())
	return m
}

// count counts the lines of an effect file by record.
func (b *bed) count(name string) map[string]int {
	m := map[string]int{}
	for _, l := range b.lines(name) {
		id, _, _ := strings.Cut(l, " ")
		m[id]++
	}
	return m
}

// verify compares the ledger with the effects when nothing is alive and a
// plain run has done what it could. It says all that is wrong.
func (b *bed) verify(m mode) (t tally) {
	b.t.Helper()
	b.sound()
	b.run([]int{0}, "ledger", "verify")
	statuses, effects := b.statuses(), b.count("effects")
	t = tally{lives: 1, records: len(statuses), effects: len(b.lines("effects"))}
	var wrong []string
	say := func(n *int, id, what string) {
		*n++
		wrong = append(wrong, fmt.Sprintf("%s: %s, %d effects, status %d", id, what, effects[id], statuses[id]))
	}
	for _, id := range b.ids {
		status, known := statuses[id]
		switch n := effects[id]; {
		case !known:
			say(&t.losses, id, "the ledger lost it")
		case n > 1 && m != idempotent:
			say(&t.doubles, id, "done twice")
		case status == done && n == 0:
			say(&t.losses, id, "done without its effect")
		case status == done:
		case m == hold && status == inDoubt:
			t.inDoubt++
		default:
			say(&t.losses, id, "not put right")
		}
	}
	for name, n := range b.repeated() {
		say(&t.doubles, name, fmt.Sprintf("attempt started %d times", n))
	}
	for _, l := range b.lines("overlaps") {
		say(&t.doubles, l, "started while another attempt of it was alive")
	}
	if len(wrong) > 0 {
		sort.Strings(wrong)
		b.t.Errorf("%d things are wrong in %s:\n%s", len(wrong), b.keep(), strings.Join(wrong, "\n"))
	}
	return t
}

// repeated gives the attempts that started more than once.
func (b *bed) repeated() map[string]int {
	m := map[string]int{}
	for _, l := range b.lines("started") {
		m[l]++
	}
	for l, n := range m {
		if n == 1 {
			delete(m, l)
		}
	}
	return m
}

// sound verifies what must be true of a ledger that nobody works on.
func (b *bed) sound() {
	b.t.Helper()
	db := b.db()
	defer db.Close()
	var ok string
	b.must(db.QueryRow("PRAGMA integrity_check").Scan(&ok))
	if ok != "ok" {
		b.t.Errorf("integrity check: %s", ok)
	}
	for what, query := range map[string]string{
		"records are running":          "SELECT count(*) FROM record WHERE status = 1",
		"runs are open":                "SELECT count(*) FROM run WHERE ended_at IS NULL AND batch_id IS NOT NULL",
		"batches are still planned":    "SELECT count(*) FROM batch WHERE coalesce(open_plan_run, '') <> ''",
		"attempts never ended":         "SELECT count(*) FROM attempt WHERE status = 1",
		"records have no batch":        "SELECT count(*) FROM record WHERE batch_id NOT IN (SELECT id FROM batch)",
		"counters differ from a count": counters,
	} {
		if n := b.number(db, query); n != 0 {
			b.t.Errorf("%s: %d %s", b.keep(), n, what)
		}
	}
	files, err := os.ReadDir(b.ledger() + ".runs")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Error(err)
	}
	for _, f := range files {
		b.t.Errorf("%s: run file %s is left", b.keep(), f.Name())
	}
}

// counters finds batches whose kept counters aren't those of their records.
const counters = `SELECT count(*) FROM batch b WHERE
 n_pending <> (SELECT count(*) FROM record WHERE batch_id = b.id AND status = 0) OR
 n_running <> (SELECT count(*) FROM record WHERE batch_id = b.id AND status = 1) OR
 n_done <> (SELECT count(*) FROM record WHERE batch_id = b.id AND status = 2) OR
 n_failed <> (SELECT count(*) FROM record WHERE batch_id = b.id AND status = 3) OR
 n_in_doubt <> (SELECT count(*) FROM record WHERE batch_id = b.id AND status = 4) OR
 n_skipped <> (SELECT count(*) FROM record WHERE batch_id = b.id AND status = 5)`

// keep copies the bed to where it outlives the test, and says where.
func (b *bed) keep() string {
	to, err := os.MkdirTemp("", "crash-kept-")
	if err == nil {
		err = os.CopyFS(to, os.DirFS(b.dir))
	}
	if err != nil {
		return b.dir
	}
	return to
}
