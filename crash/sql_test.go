//go:build linux

package crash

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSQLTakesEffectOnceHoweverItIsKilled kills the runner, the server of the
// business database, and deletes the ledger, at random moments. In the end a
// plain run finds or makes exactly one effect of each record.
func TestSQLTakesEffectOnceHoweverItIsKilled(t *testing.T) {
	for _, start := range shops {
		t.Run(start.kind, func(t *testing.T) {
			s := start.start(t)
			var all sqlTally
			began := time.Now()
			for i := uint64(0); all.kills+all.servers < *killsFlag/3 || time.Since(began) < *forFlag; i++ {
				seed := *seedFlag + i
				t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
					defer func() {
						if t.Failed() {
							t.Logf("again: go test ./crash -run 'SQL.*Killed/%s/' -crash.kills 1 -crash.seed %d", start.kind, seed)
						}
					}()
					all.add(sell(t, s, seed))
				})
				if t.Failed() {
					break
				}
			}
			fmt.Printf("crash: sql on %s: seed %d: %v in %v\n", start.kind, *seedFlag, all, time.Since(began).Round(time.Second))
		})
	}
}

// sqlTally is what a test has seen.
type sqlTally struct {
	kills, servers, ledgers, lives, records, effects int
	doubles, losses                                  int // of which there must be none
}

func (t *sqlTally) add(u sqlTally) {
	t.kills += u.kills
	t.servers += u.servers
	t.ledgers += u.ledgers
	t.lives += u.lives
	t.records += u.records
	t.effects += u.effects
	t.doubles += u.doubles
	t.losses += u.losses
}

func (t sqlTally) String() string {
	return fmt.Sprintf("%d runners, %d servers killed, %d ledgers deleted, %d lives, %d records, %d effects, %d doubles, %d losses",
		t.kills, t.servers, t.ledgers, t.lives, t.records, t.effects, t.doubles, t.losses)
}

// sale is what one business database goes through.
type sale struct {
	*bed
	*shop
	r    *rand.Rand
	db   *sql.DB
	live []*proc
	sqlTally
}

// The statements of the task: a booking for each effect, so that doubles
// show, and a balance that all records share or each has for itself.
const sellTask = `tasks:
  ` + task + `:
    records: %s
    allow_empty: true
    sql:
      database: %q
      statements: %s
      batch: %d
    jobs: %d
    timeout: 30s
    retry: {attempts: 1000, backoff: 1ms, max_backoff: 4ms}
`

func sell(t *testing.T, shop *shop, seed uint64) sqlTally {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &sale{shop: shop, r: r, bed: newBed(t, 20+r.IntN(200))}
	address, driver, dsn := shop.fresh(t, fmt.Sprintf("life_%d", seed))
	var err error
	s.db, err = sql.Open(driver, dsn)
	s.must(err)
	defer s.db.Close()
	s.do("CREATE TABLE account (id varchar(40) PRIMARY KEY, balance integer NOT NULL)")
	s.do("CREATE TABLE booking (id varchar(40) NOT NULL)")
	for _, id := range s.ids {
		s.do("INSERT INTO account VALUES ('" + id + "', 0)")
	}
	statements := `["UPDATE account SET balance = balance + 1 WHERE id = :biz_id", "INSERT INTO booking VALUES (:biz_id)"]`
	if s.chance(2) { // one that goes in bulk
		statements = `["INSERT INTO booking SELECT id FROM account WHERE id = :biz_id"]`
	}
	batch := []int{1, 1, 3, 20, 100}[r.IntN(5)]
	records := "{lines: ids}"
	if s.chance(2) { // of what is still open: what a killed run has committed isn't in the next input
		records = fmt.Sprintf("{sql: {database: %q, query: SELECT id FROM account WHERE id NOT IN (SELECT id FROM booking)}, biz_id: id}", address)
	}
	s.write("runner.yaml", fmt.Sprintf(sellTask, records, address, statements, batch, 1+r.IntN(4)))
	for round := 3 + r.IntN(6); round > 0; round-- {
		s.round()
	}
	s.settle()
	s.count(strings.Contains(statements, "UPDATE"))
	return s.sqlTally
}

func (s *sale) do(text string) {
	s.t.Helper()
	if _, err := s.db.Exec(text); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
}

func (s *sale) chance(n int) bool { return s.r.IntN(n) == 0 }

// sellCodes are how a run may end whose database comes and goes: it can't be
// reached at the start (2), or stays away (4), or records wait (5).
var sellCodes = []int{-1, 0, 1, 2, 3, 4, 5}

func (s *sale) ended(p *proc) bool {
	if p.ended() {
		s.expect(p, sellCodes...)
	}
	return p.ended()
}

// round starts runs, waits for a moment, and kills something.
func (s *sale) round() {
	s.live = slices.DeleteFunc(s.live, s.ended)
	for i := 1 + s.r.IntN(2); i > 0 && len(s.live) < 3; i-- {
		s.live = append(s.live, s.start(nil, nil, "run", task, "--date", date))
	}
	time.Sleep(time.Duration(s.r.IntN(250)) * time.Millisecond)
	if s.kill != nil && s.chance(3) {
		s.kill(s.t)
		s.servers++
		if s.chance(2) {
			s.killOne()
		}
		s.restart(s.t)
		return
	}
	s.killOne()
	if s.chance(3) {
		s.forget()
	}
}

func (s *sale) killOne() {
	if s.live[s.r.IntN(len(s.live))].kill(s.chance(2)) {
		s.kills++
	}
}

// forget deletes the ledger, when nobody works with it.
func (s *sale) forget() {
	for _, p := range s.live {
		if p.kill(true) {
			s.kills++
		}
	}
	s.live = nil
	s.quiet()
	s.must(os.RemoveAll(s.path(".runner")))
	s.ledgers++
}

// settle lets everything end, and does what a person would.
func (s *sale) settle() {
	for _, p := range s.live {
		s.expect(p, sellCodes...)
	}
	s.quiet()
	s.run([]int{0}, "run", task, "--date", date, "--wait", "60s")
	s.sound()
	for id, status := range s.statuses() {
		if status != done {
			s.t.Errorf("%s: status %d", id, status)
		}
	}
}

// count compares the effects with the records.
func (s *sale) count(balances bool) {
	s.t.Helper()
	s.lives, s.records = 1, len(s.ids)
	var wrong []string
	for _, q := range []string{"SELECT id, count(*) FROM booking GROUP BY id", "SELECT id, balance FROM account"} {
		effects := map[string]int{}
		rows, err := s.db.Query(q)
		s.must(err)
		for rows.Next() {
			var id string
			var n int
			s.must(rows.Scan(&id, &n))
			effects[id] = n
		}
		s.must(rows.Err())
		if strings.Contains(q, "balance") && !balances {
			continue
		}
		for _, id := range s.ids {
			switch n := effects[id]; {
			case n == 0:
				s.losses++
				wrong = append(wrong, id+": done without its effect")
			case n > 1:
				s.doubles++
				wrong = append(wrong, fmt.Sprintf("%s: done %d times", id, n))
			}
			if strings.Contains(q, "booking") {
				s.effects += effects[id]
			}
		}
	}
	if guards := s.number(s.db, "SELECT count(*) FROM runner_effects"); guards != len(s.ids) {
		wrong = append(wrong, fmt.Sprintf("%d guards", guards))
	}
	if len(wrong) > 0 {
		sort.Strings(wrong)
		s.t.Errorf("%d things are wrong in %s:\n%s", len(wrong), s.keep(), strings.Join(wrong, "\n"))
	}
}
