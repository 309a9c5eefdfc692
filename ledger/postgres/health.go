package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"runner/ledger"
	"runner/ledger/internal/table"
)

// Health is what a ledger, and its server, say of themselves.
type Health struct {
	Server      string        // version of PostgreSQL
	Exists      bool          // the tables are there
	MayCreate   bool          // this role may make tables where they would lie
	Schema      int           // version of the tables
	Known       int           // newest version that this program knows
	Standby     bool          // the server can only be read
	Missing     []string      // rights that a run needs and this role hasn't, as "UPDATE on record"
	NoArchive   []string      // likewise what only archiving needs
	ClockAhead  time.Duration // of the server, before this host's
	ClockWithin time.Duration // how far off that may be
}

const serverSQL = `SELECT current_setting('server_version'), pg_is_in_recovery(), to_regclass('meta') IS NOT NULL,
coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)`

// rights are what a role needs on some tables.
type rights struct{ kinds, tables []string }

var (
	rightsOfRuns    = rights{[]string{"SELECT", "INSERT", "UPDATE"}, []string{"meta", "batch", "record", "run", "attempt", "output"}}
	rightsOfArchive = rights{[]string{"DELETE"}, []string{"record", "attempt", "output"}}
)

const lackedSQL = `SELECT p || ' on ' || t FROM unnest($1::text[]) p, unnest($2::text[]) t WHERE NOT has_table_privilege(t, p)`

// lacks gives which of some rights this role hasn't, as "UPDATE on record".
func (r *reader) lacks(n rights) (missing []string, err error) {
	err = r.do(step{sql: lackedSQL, args: []any{n.kinds, n.tables}, rows: values(func(row []any) error {
		missing = append(missing, table.Str(row[0]))
		return nil
	})})
	return missing, err
}

// MayForget asks for the rights that archiving needs and a run doesn't.
func (s *Store) MayForget(ctx context.Context) error {
	var missing []string
	err := s.View(ctx, func(r ledger.Reader) (err error) {
		missing, err = r.(*reader).lacks(rightsOfArchive)
		return err
	})
	if err == nil && len(missing) > 0 {
		err = &ledger.UnusableError{
			Path: s.at.shown, Why: "nothing can be archived, for this role may not " + strings.Join(missing, ", "), Hint: s.at.grants(),
		}
	}
	return err
}

// Examine looks at the ledger of an address, and calls fn with what it found.
// s is nil where there is no ledger, or one that this program can't read.
// Nothing is changed, and nothing waited for.
func Examine(ctx context.Context, url string, o Options, fn func(h Health, s *Store) error) (err error) {
	a, err := parse(url)
	if err != nil {
		return err
	}
	o.ReadOnly, o.Patience = true, time.Millisecond
	s := &Store{at: &a, opts: o}
	s.readers = s.newPool(maxReaders)
	defer func() { err = errors.Join(err, s.Close()) }()
	h := Health{Known: len(embeddedSteps())}
	if err := s.examine(ctx, &h); err != nil {
		return err
	}
	if h.Schema != h.Known {
		return fn(h, nil)
	}
	return fn(h, s)
}

func (s *Store) examine(ctx context.Context, h *Health) error {
	m, err := s.look(ctx)
	if err != nil {
		return err
	}
	s.id, s.schema, h.Schema = m.id, m.version, m.version
	return s.View(ctx, func(r ledger.Reader) error {
		c := r.(*reader)
		if err := c.do(step{sql: serverSQL, rows: into(&h.Server, &h.Standby, &h.Exists, &h.MayCreate)}); err != nil {
			return err
		}
		h.ClockAhead, h.ClockWithin = s.clock.measured()
		if h.Schema != h.Known {
			return nil
		}
		var err error
		if h.Missing, err = c.lacks(rightsOfRuns); err != nil {
			return err
		}
		h.NoArchive, err = c.lacks(rightsOfArchive)
		return err
	})
}
