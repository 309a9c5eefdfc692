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
	ClockAhead  time.Duration // of the server, before this host's
	ClockWithin time.Duration // how far off that may be
	OldestDoubt *ledger.Entry // started first of the records in doubt; nil if there is none
}

// neededRights are those of a run.
const neededRights = "SELECT, INSERT, UPDATE"

const serverSQL = `SELECT current_setting('server_version'), pg_is_in_recovery(), to_regclass('meta') IS NOT NULL,
coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)`

const rightsSQL = `SELECT p || ' on ' || t FROM unnest(string_to_array('` + neededRights + `', ', ')) p,
unnest(ARRAY['batch', 'record', 'run', 'attempt', 'output']) t WHERE NOT has_table_privilege(t, p)`

// Examine looks at the ledger of an address, and calls fn with what it found.
// s is nil where there is no ledger, or one that this program can't read.
// Nothing is changed, and nothing waited for.
func Examine(ctx context.Context, url string, o Options, tasks []string, fn func(h Health, s *Store) error) (err error) {
	a, err := parse(url)
	if err != nil {
		return err
	}
	o.ReadOnly, o.Patience = true, time.Millisecond
	s := &Store{at: &a, opts: o}
	s.readers = s.newPool(maxReaders)
	defer func() { err = errors.Join(err, s.Close()) }()
	h := Health{Known: len(embeddedSteps())}
	if err := s.examine(ctx, &h, tasks); err != nil {
		return err
	}
	if h.Schema != h.Known {
		return fn(h, nil)
	}
	return fn(h, s)
}

func (s *Store) examine(ctx context.Context, h *Health, tasks []string) error {
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
		err := c.do(step{sql: rightsSQL, rows: values(func(row []any) error {
			h.Missing = append(h.Missing, table.Str(row[0]))
			return nil
		})})
		if err != nil {
			return err
		}
		h.OldestDoubt, err = c.oldestDoubt(tasks)
		return err
	})
}

// oldestDoubt looks at the records in doubt of some tasks; nil: of all.
func (r *reader) oldestDoubt(tasks []string) (*ledger.Entry, error) {
	var w table.Where
	w.AddIf(tasks != nil, "b.task_name = ANY(?)", tasks)
	cond := strings.Replace(w.Text(), " WHERE ", " AND ", 1)
	var id int64
	err := r.do(step{sql: `SELECT r.id FROM record r JOIN batch b ON b.id = r.batch_id
		WHERE r.status <> 0 AND r.status <> 2 AND r.status = 4` + cond + ` ORDER BY r.started_at, r.id LIMIT 1`,
		args: w.Args, rows: into(&id)})
	if err != nil || id == 0 {
		return nil, err
	}
	list, err := r.Get([]int64{id})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}
