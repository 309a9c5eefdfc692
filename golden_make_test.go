//go:build unix

package main_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"runner/internal/dbtest"
)

// TestMakeGoldenLedgers makes the ledgers of the present schema in
// testdata/ledgers, each with what is read from it:
//
//	MAKE_LEDGERS=1 go test -count 1 -run TestMakeGoldenLedgers .
//
// One whose schema was released is never made again: that is what it is for.
func TestMakeGoldenLedgers(t *testing.T) {
	if os.Getenv("MAKE_LEDGERS") == "" {
		t.Skip("only where MAKE_LEDGERS is set")
	}
	t.Run("sqlite", func(t *testing.T) {
		g := newGolden(t, "ledger.db")
		g.live()
		db, err := sql.Open("sqlite", g.path("ledger.db"))
		g.must(err)
		for _, sql := range timeless {
			_, err = db.Exec(sql)
			g.must(err)
		}
		name := g.file("sqlite", ".db")
		g.must(removed(name))
		_, err = db.Exec("VACUUM INTO $1", name)
		g.must(errors.Join(err, db.Close()))
		g.write(name + ".json")
	})
	t.Run("postgres", func(t *testing.T) {
		address := dbtest.Postgres(t)
		g := newGolden(t, address)
		g.live()
		for _, sql := range timeless {
			dbtest.Exec(t, address, sql)
		}
		dbtest.Exec(t, address, "UPDATE run SET lease_until = started_at + 1 WHERE ended_at IS NULL")
		cmd := exec.Command("pg_dump", "--no-owner", "--no-privileges", "--inserts", "--dbname", address)
		out, err := cmd.Output()
		g.must(err)
		name := g.file("postgres", ".sql")
		g.must(os.WriteFile(name, []byte(portable(string(out))), 0o644))
		g.write(name + ".json")
	})
}

// timeless hides where and when a ledger was made. Seen from any host, its
// dead run died on another one, and nothing has to wait any more.
var timeless = []string{
	"UPDATE run SET host = 'elsewhere', boot_id = 'elsewhere', pid = 1, version = 'golden', file = '/nowhere/' || id",
	"UPDATE attempt SET actor = 'operator' WHERE actor <> ''",
	"UPDATE record SET not_before = started_at + 1 WHERE not_before IS NOT NULL",
	"UPDATE batch SET paused_until = created_at + 1 WHERE paused_until IS NOT NULL",
}

// portable leaves out what only a server or a psql of that version knows.
func portable(dump string) string {
	var b strings.Builder
	for line := range strings.Lines(dump) {
		if !strings.HasPrefix(line, `\`) && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "SET ") && strings.TrimSpace(line) != "" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// live gives a ledger a record of each kind, and last two runs that are dead.
func (g *golden) live() {
	const date = "2026-11-11"
	g.env = append(g.env, "BREAK=1")
	for _, c := range []struct {
		code int
		args string
	}{
		{3, "run grant --date " + date},
		{0, "ledger mark grant marked --date " + date + " --as done --reason bank-says-so"},
		{0, "ledger mark grant skipped --date " + date + " --as skipped --reason account-closed"},
		{0, "rerun grant --date " + date + " --status done --biz-id redone --yes"},
		{0, "run 还款 --date " + date},
		{5, "run later --date " + date},
		{4, "run halted --date " + date},
		{-1, "run cut --date " + date},
		{-1, "run ahead --date " + date},
	} {
		g.run(c.code, strings.Fields(c.args)...)
	}
	g.env = nil
}

func removed(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// file is the place of the ledger of the present schema.
func (g *golden) file(store, ending string) string {
	name, err := filepath.Abs(fmt.Sprintf("testdata/ledgers/v%d%s", schemas(g.t, store), ending))
	g.must(err)
	return name
}

func (g *golden) write(name string) {
	g.t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	g.must(e.Encode(g.read()))
	g.must(os.WriteFile(name, b.Bytes(), 0o644))
}
