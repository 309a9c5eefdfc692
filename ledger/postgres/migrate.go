package postgres

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"time"

	"runner/ledger"
	"runner/ledger/internal/table"

	"github.com/google/uuid"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migration is one version of the schema: its SQL leads there from the one
// before.
type migration struct{ name, sql string }

// embeddedSteps are numbered by their names. One that was released is never
// edited: a change of the schema is a new file.
func embeddedSteps() (steps []migration) {
	names, _ := migrations.ReadDir("migrations") // it is in the program
	for _, n := range names {
		text, _ := migrations.ReadFile("migrations/" + n.Name())
		steps = append(steps, migration{n.Name(), string(text)})
	}
	return steps
}

// meta is what a ledger says of itself.
type meta struct {
	version int // of its schema; 0: there is no ledger
	id      string
}

// look reads meta in a transaction of its own.
func (s *Store) look(ctx context.Context) (m meta, err error) {
	place, err := s.readers.Take(ctx)
	if err != nil {
		return m, err
	}
	defer s.readers.Put(place)
	t := s.newTries()
	for {
		m, err := s.lookOnce(ctx, place)
		if err == nil || !t.again(ctx, err) {
			return m, err
		}
	}
}

func (s *Store) lookOnce(ctx context.Context, place *slot) (m meta, err error) {
	c, err := place.ready(ctx)
	if err != nil {
		return m, err
	}
	if err := c.fit(); err != nil {
		return m, err
	}
	var o opened
	c.begin(beginLooking, &s.clock, &o)
	defer c.rollback()
	return c.meta(ctx)
}

// oldest is the first version of the server with all that is needed here.
const oldest = 13

// fit refuses servers that can't hold a ledger.
func (c *conn) fit() error {
	version := c.c.PgConn().ParameterStatus("server_version")
	var major int
	if _, err := fmt.Sscanf(version, "%d", &major); err == nil && major < oldest {
		return &ledger.UnusableError{Path: c.at.shown, Why: "the server is PostgreSQL " + version, Hint: fmt.Sprintf("use PostgreSQL %d or newer", oldest)}
	}
	if enc := c.c.PgConn().ParameterStatus("server_encoding"); enc != "UTF8" {
		return &ledger.UnusableError{Path: c.at.shown, Why: "its database is encoded in " + enc,
			Hint: "make one in UTF-8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"}
	}
	return nil
}

// thereSQL looks into the catalog itself: a server process that has looked
// before, maybe for another client of a pooler, may answer to_regclass from a
// memory that waiting for a lock didn't freshen.
const thereSQL = "SELECT count(*) > 0 FROM pg_class WHERE relname = 'meta' AND pg_table_is_visible(oid)"

// meta reads what is in the schema. A table of that name that isn't a
// ledger's is refused.
func (c *conn) meta(ctx context.Context) (m meta, err error) {
	var there bool
	err = c.do(ctx, step{sql: thereSQL, rows: into(&there)})
	if err != nil || !there {
		return m, err
	}
	err = c.do(ctx, step{sql: "SELECT key, value FROM meta WHERE key IN ('id', 'schema')", rows: values(func(row []any) error {
		switch value := table.Str(row[1]); table.Str(row[0]) {
		case "id":
			m.id = value
		case "schema":
			m.version, err = strconv.Atoi(value)
		}
		return err
	})})
	if codeOf(err) == codeNoColumn || err == nil && m.version == 0 {
		return m, c.at.foreign()
	}
	return m, err
}

// lockLedger is held while tables are made: CREATE … IF NOT EXISTS fails when
// two do it at once. The schema is part of it, as one database may hold many.
const lockLedger = "SELECT pg_advisory_xact_lock(1920298610, hashtext('runner ' || current_schema()))"

// migrate takes all steps that are missing in one transaction.
func (s *Store) migrate(ctx context.Context, steps []migration) (m meta, err error) {
	place, err := s.writer.Take(ctx)
	if err != nil {
		return m, err
	}
	defer s.writer.Put(place)
	err = s.update(ctx, place, func(tx_ ledger.Tx) (err error) {
		m, err = s.climb(tx_.(*tx), steps)
		return err
	})
	return m, err
}

func (s *Store) climb(t *tx, steps []migration) (m meta, err error) {
	s.created = false
	if err := t.do(step{sql: lockLedger}); err != nil {
		return m, err
	}
	if m, err = t.c.meta(t.ctx); err != nil || m.version == len(steps) {
		return m, t.fail(err)
	}
	if m.version > len(steps) {
		return m, s.at.tooNew(m.version, len(steps))
	}
	for _, st := range steps[m.version:] {
		if err := t.c.script(t.ctx, st.sql); err != nil {
			return m, t.fail(s.at.notMade(st.name, err))
		}
	}
	if m.version == 0 {
		m.id, s.created = uuid.NewString(), true
		for key, value := range map[string]string{
			"id": m.id, "created_at": s.Now().Format(time.RFC3339), "version": s.opts.Version, "schema": "0",
		} {
			t.c.later(step{sql: "INSERT INTO meta(key, value) VALUES ($1, $2)", args: []any{key, value}})
		}
	}
	m.version = len(steps)
	return m, t.do(step{sql: "UPDATE meta SET value = $1 WHERE key = 'schema'", args: []any{strconv.Itoa(m.version)}})
}

// script runs several statements.
func (c *conn) script(ctx context.Context, text string) error {
	_, err := c.c.PgConn().Exec(ctx, text).ReadAll()
	return c.at.explain(err)
}

func (a *address) foreign() error {
	return &ledger.UnusableError{Path: a.shown, Why: "its schema holds tables that are not a ledger of runner",
		Hint: "give the ledger a schema of its own: CREATE SCHEMA runner, and ?search_path=runner"}
}

func (a *address) notMade(step string, err error) error {
	switch codeOf(err) {
	case codeTableExists:
		return a.foreign()
	case codeDenied:
		return &ledger.UnusableError{Path: a.shown, Why: "its tables aren't up to date, and this role may not change them", Err: a.scrubError(err),
			Hint: "once, as a role that may: runner ledger migrate"}
	}
	return fmt.Errorf("ledger %s: bring the schema up to date: %s: %w", a.shown, step, err)
}

func (a *address) tooNew(have, known int) error {
	return &ledger.UnusableError{Path: a.shown, Why: fmt.Sprintf("its schema is version %d, and this program knows versions up to %d", have, known),
		Hint: "use the runner that wrote it, or a newer one"}
}

func (a *address) tooOld(have, known int) error {
	return &ledger.UnusableError{Path: a.shown, Why: fmt.Sprintf("its schema is version %d, and this program reads version %d", have, known),
		Hint: "any command that writes, such as runner ledger migrate, brings it up to date"}
}
