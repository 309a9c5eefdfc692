package main

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // what it is measured against
	_ "modernc.org/sqlite"             // the same
)

var sqlPart = part{
	letter: "i", title: "Records in a business database", run: (*bench).sql,
	how: "`sql:` with `batch: 200` and its guard, one UPDATE by primary key a record, against a loop in Go that reads the same ids from the same file and executes the same statement, prepared, 200 a transaction, without a guard and without a ledger. SQLite is in WAL mode; PostgreSQL is a server of its own with fsync and synchronous_commit on. In turn, each round of runner in a new ledger and without old guards.",
}

// shop is a business database.
type shop struct {
	name, driver, dsn, address, update string
	db                                 *sql.DB
}

const sqlBatch = 200

func (b *bench) sql() error {
	n := b.size(100_000, 2000)
	ids, err := b.ids(n)
	if err != nil {
		return err
	}
	folder, err := b.work.make("sql")
	if err != nil {
		return err
	}
	path := filepath.Join(folder, "shop.db")
	u := url.URL{Scheme: "file", Path: path, RawQuery: "_journal_mode=WAL&_busy_timeout=10000"}
	err = b.sell(n, ids, folder, shop{name: "sqlite", driver: "sqlite", dsn: u.String(), address: "sqlite://" + path, update: "UPDATE account SET balance = balance + 1 WHERE id = ?"})
	if err != nil {
		return err
	}
	server, why, err := b.startPostgres()
	if server == nil || err != nil {
		if err == nil {
			b.skipped("sql on postgres, batch 200, guarded, against a Go loop", atLeast(0.5, "×"), why)
		}
		return err
	}
	err = b.sell(n, ids, folder, shop{name: "postgres", driver: "pgx", dsn: server.address, address: server.address, update: "UPDATE account SET balance = balance + 1 WHERE id = $1"})
	return errors.Join(err, server.stop())
}

// sell measures one database.
func (b *bench) sell(n int, ids, folder string, s shop) (err error) {
	if s.db, err = sql.Open(s.driver, s.dsn); err != nil {
		return err
	}
	defer s.db.Close()
	if err := s.fill(ids); err != nil {
		return err
	}
	config := filepath.Join(folder, s.name+".yaml")
	text := fmt.Sprintf("tasks:\n  add:\n    records: {lines: %q}\n    sql:\n      database: %q\n      statement: UPDATE account SET balance = balance + 1 WHERE id = :biz_id\n      batch: %d\n", ids, s.address, sqlBatch)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	seconds, err := b.alternate(b.rounds(),
		contender{"loop", func() (usage, error) {
			began := time.Now()
			err := s.loop(ids)
			return usage{wall: time.Since(began)}, err
		}},
		contender{"runner", func() (usage, error) { return b.sqlRun(n, config, s) }})
	if err != nil {
		return err
	}
	var balance int
	if err := s.db.QueryRow("SELECT sum(balance) FROM account").Scan(&balance); err != nil || balance != 2*b.rounds()*n {
		return errors.Join(err, fmt.Errorf("%s: the effects are %d, not %d", s.name, balance, 2*b.rounds()*n))
	}
	b.measured(fmt.Sprintf("sql on %s, batch %d, guarded, against a Go loop of the same", s.name, sqlBatch), atLeast(0.5, "×"), seconds["runner"].ratio(seconds["loop"]), ahead)
	b.fact(fmt.Sprintf("sql on %s, records/s of runner, loop", s.name), seconds["runner"].rate(n).String()+" · "+seconds["loop"].rate(n).String())
	return nil
}

func (b *bench) sqlRun(n int, config string, s shop) (usage, error) {
	if _, err := s.db.Exec("DROP TABLE IF EXISTS runner_effects"); err != nil {
		return usage{}, err
	}
	ledger, err := b.work.make("ledger")
	if err != nil {
		return usage{}, err
	}
	c := b.runs("add", filepath.Join(ledger, "ledger.db"))
	c.env = append(c.env, "RUNNER_CONFIG="+config)
	u, err := b.do(c)
	if err == nil {
		err = u.expect(n, n)
	}
	return u, errors.Join(err, b.work.remove(ledger))
}

// each gives the ids of a file.
func each(ids string, fn func(i int, id string) error) error {
	f, err := os.Open(ids)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for i := 0; lines.Scan(); i++ {
		if err := fn(i, lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// fill makes an account for each id.
func (s shop) fill(ids string) error {
	if _, err := s.db.Exec("CREATE TABLE account (id varchar(40) PRIMARY KEY, balance integer NOT NULL)"); err != nil {
		return err
	}
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	err = each(ids, func(_ int, id string) error {
		_, err := tx.Exec("INSERT INTO account VALUES ('" + id + "', 0)")
		return err
	})
	return errors.Join(err, tx.Commit())
}

// loop is what one would write by hand.
func (s shop) loop(ids string) error {
	update, err := s.db.Prepare(s.update)
	if err != nil {
		return err
	}
	defer update.Close()
	var tx *sql.Tx
	var inTx *sql.Stmt
	err = each(ids, func(i int, id string) (err error) {
		if i%sqlBatch == 0 {
			if tx != nil {
				if err := tx.Commit(); err != nil {
					return err
				}
			}
			if tx, err = s.db.Begin(); err != nil {
				return err
			}
			inTx = tx.Stmt(update)
		}
		_, err = inTx.Exec(id)
		return err
	})
	if err != nil {
		return err
	}
	return tx.Commit()
}
