package cmd

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/ledger/archive"
)

func newLedgerArchiveCmd(a *app) *cobra.Command {
	var o archiveOptions
	c := &cobra.Command{
		Use:   "archive",
		Short: "Move batches that are old and complete into files; they are never run again",
		Long: `Move whole batches that are complete – all done or skipped – into compressed
files of JSON lines, one a batch, with all attempts and kept output, and give
the room back. Without --before, what keep: of the tasks in runner.yaml says is
moved, and nothing else. What can't be moved is listed with why.

An archived batch is sealed: its counts stay, it is still complete for needs and
gaps, and it is never done again. A run of it executes nothing and exits with 0
if all its records were there; else with 2. runner ledger restore brings a batch
back exactly.

With --guards the rows that sql tasks have left in runner_effects for what is
done of sealed batches are removed from their databases, those of batches sealed
earlier too. A row a batch stays, which says so: a ledger that doesn't know the
seal – an old backup, or one that starts empty – can't tell what of that date was
done, and puts in doubt what it tries of it. runner ledger restore puts them back.
Which batches are finished is remembered until then. What can't be removed is
listed with why. --dry-run asks no such database.

It may be killed at any moment, and goes on when it is started again. Runs go on
meanwhile. docs/archive.md describes the files.

EXIT STATUS
  0 archived, or nothing was to be; 1 guards could not be removed, and all else
  was done; 2 usage is wrong, 5 another archive or restore is at work, 7 the
  ledger can't be used, or the files can't be written, or one that is there
  already kept a batch from being archived; 129, 130, 143 interrupted.`,
		Example: `  runner ledger archive --config /srv/coupons/runner.yaml -q
  runner ledger archive --before 90d --task grant-coupon --to /mnt/archive
  runner ledger archive --before 365d --guards`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return runArchive(c.Context(), a, c, o) },
	}
	o.addFlags(c)
	return c
}

type archiveOptions struct {
	before, to string
	tasks      []string
	guards     bool
	dryRun     bool
}

func (o *archiveOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.before, "before", "", "those of execute dates before this `DATE`, or older than 90d (default: keep of each task)")
	f.StringArrayVar(&o.tasks, "task", nil, "of this `TASK` (repeatable)")
	f.StringVar(&o.to, "to", "", "into this `FOLDER` (default: LEDGER.archive; on PostgreSQL .runner/archive beside the configuration)")
	f.BoolVar(&o.guards, "guards", false, "also remove the guards of sealed batches from the databases of sql tasks")
	f.BoolVar(&o.dryRun, "dry-run", false, "only say what would be archived")
}

// archivedJSON is what became of a batch. Its names are an interface.
type archivedJSON struct {
	TaskName    string `json:"task_name"`
	ExecuteDate string `json:"execute_date"`
	Result      string `json:"result"` // archived, kept, dry_run, or sealed: earlier, and now its guards are removed
	Why         string `json:"why"`    // it, or its guards, were left
	Records     int64  `json:"records"`
	Bytes       int64  `json:"bytes"`
	File        string `json:"file"`
	Guards      int64  `json:"guards"` // that were removed
}

func runArchive(ctx context.Context, a *app, c *cobra.Command, o archiveOptions) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(o.guards) // it alone says where guards are
	if err != nil {
		return err
	}
	before, err := o.limits(a, c, where)
	if err != nil {
		return err
	}
	led, _, err := a.openChoosing(ctx, where, o.dryRun)
	if err != nil || led == nil {
		return err
	}
	defer led.Close() // every transaction is durable already
	m := mover{app: a, o: o, led: led, shown: where.shown()}
	if m.dir, err = a.folder(where, o.to); err != nil {
		return err
	}
	if o.guards {
		m.guards = newGuardRemover(where, led, m.dir, o.dryRun)
	}
	err = m.all(ctx, before)
	if gerr := m.guards.close(); err == nil {
		err = gerr
	}
	if a.p.form != formTable || !a.p.quiet {
		if perr := list(a.p, o.columns(), all(m.rows)); err == nil {
			err = perr
		}
	}
	return archiveError(causeOf(ctx, err))
}

// archiveError makes of a file that can't be written a ledger that can't be used.
func archiveError(err error) error {
	var f *archive.FileError
	if errors.As(err, &f) && !errors.Is(err, archive.ErrBusy) {
		return &ledger.UnusableError{Path: f.Path, Why: "what was done can't be archived there", Err: f.Err, Hint: "nothing is lost: what isn't archived is in the ledger; --to FOLDER names another place"}
	}
	return err
}

// limits gives the execute date before which a batch of a task is moved; empty
// if none of it is.
func (o *archiveOptions) limits(a *app, c *cobra.Command, where located) (func(task string) string, error) {
	if c.Flags().Changed("before") {
		text := o.before
		if strings.HasSuffix(text, "d") && !strings.HasPrefix(text, "-") {
			text = "-" + text
		}
		date, err := parseDate(text, a.now(), where.zone)
		if err != nil {
			return nil, withHint(usagef("--before %q is not understood", o.before), "use 90d, or a date such as 2026-08-01")
		}
		return func(string) string { return date }, nil
	}
	some := false
	if where.config != nil {
		for _, t := range where.config.Tasks {
			some = some || t.Keep > 0
		}
	}
	if !some {
		return nil, withHint(usagef("no task says how long it is kept"), "give --before 90d, or keep: 90d to tasks in %s", configName)
	}
	return func(task string) string {
		t := where.task(task)
		if t == nil || t.Keep == 0 {
			return ""
		}
		return a.now().In(where.zone).AddDate(0, 0, -t.Keep).Format(time.DateOnly)
	}, nil
}

// mover moves one batch after the other.
type mover struct {
	*app
	o      archiveOptions
	led    *ledger.Ledger
	shown  string // the ledger, for people
	dir    *archive.Folder
	guards *guardRemover // nil: they stay
	rows   []archivedJSON
	stuck  []error // of the batches that a file stood in the way of
}

func (m *mover) all(ctx context.Context, before func(string) string) error {
	batches, err := m.led.Batches(ctx, "", "", "")
	if err != nil {
		return err
	}
	if !m.o.dryRun {
		if err := m.dir.Lock(); err != nil {
			return err
		}
		defer m.dir.Unlock()
	}
	slices.SortStableFunc(batches, func(x, y ledger.Batch) int { return strings.Compare(x.ExecuteDate, y.ExecuteDate) }) // the oldest first
	for _, b := range batches {
		if len(m.o.tasks) > 0 && !slices.Contains(m.o.tasks, b.TaskName) || b.ExecuteDate >= before(b.TaskName) {
			continue
		}
		if err := m.one(ctx, b); err != nil {
			return err
		}
	}
	if !m.o.dryRun && m.moved() {
		if err := m.shrink(ctx); err != nil {
			return err
		}
	}
	return m.kept()
}

func (m *mover) moved() bool {
	return slices.ContainsFunc(m.rows, func(r archivedJSON) bool { return r.Result == "archived" })
}

func (m *mover) one(ctx context.Context, b ledger.Batch) error {
	row := archivedJSON{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate, Result: "archived", Records: b.Counts.Total()}
	if m.o.dryRun {
		if b.Sealed() {
			return m.sealed(ctx, b, row)
		}
		_, _, why, err := m.led.Archivable(ctx, b.TaskName, b.ExecuteDate)
		if row.Result, row.Why = "dry_run", why; why != "" {
			row.Result = "kept"
		}
		m.rows = append(m.rows, row)
		return err
	}
	moved, err := m.dir.Archive(ctx, m.led, b.TaskName, b.ExecuteDate)
	switch {
	case err != nil:
		return err
	case moved.Err != nil:
		row.Result, row.Why = "kept", moved.Why
		m.stuck = append(m.stuck, moved.Err)
		m.rows = append(m.rows, row)
		return nil
	case moved.Path == "" && moved.Batch.Sealed(): // earlier
		if !moved.Finished {
			return m.sealed(ctx, moved.Batch, row)
		}
		moved.Path = m.dir.Path(moved.Batch)
	case moved.Why != "":
		row.Result, row.Why = "kept", moved.Why
	}
	row.Bytes, row.File = moved.Bytes, moved.Path
	if moved.Batch.Sealed() {
		_, err = m.guards.batch(ctx, moved.Batch, &row)
	}
	m.rows = append(m.rows, row)
	return err
}

// sealed lists a batch that was sealed earlier if there is to do with its
// guards.
func (m *mover) sealed(ctx context.Context, b ledger.Batch, row archivedJSON) error {
	row.File = m.dir.Path(b)
	if row.Result = "sealed"; m.o.dryRun {
		row.Result = "dry_run"
	}
	concerned, err := m.guards.batch(ctx, b, &row)
	if concerned {
		m.rows = append(m.rows, row)
	}
	return err
}

// shrink gives the room back, as far as that keeps nobody waiting.
func (m *mover) shrink(ctx context.Context) error {
	s, ok := m.led.Store().(ledger.Shrinker)
	if !ok {
		m.p.note("the server gives the room to new records when it vacuums; VACUUM FULL gives it back to the system, and locks the tables meanwhile")
		return nil
	}
	runs, err := m.led.OpenRuns(ctx)
	if err != nil {
		return err
	}
	note, err := s.Shrink(ctx, len(runs) == 0)
	if note != "" {
		m.p.note("%s", note)
	}
	return err
}

var archiveColumns = []column[archivedJSON]{
	{name: "TASK", cell: func(r archivedJSON) string { return r.TaskName }},
	{name: "DATE", cell: func(r archivedJSON) string { return r.ExecuteDate }},
	{name: "RESULT", cell: func(r archivedJSON) string { return r.Result }, tint: func(r archivedJSON, p palette) *color.Color {
		if r.Why != "" {
			return p.dim
		}
		return p.good
	}},
	{name: "RECORDS", cell: func(r archivedJSON) string { return strconv.FormatInt(r.Records, 10) }},
	{name: "BYTES", cell: func(r archivedJSON) string { return strconv.FormatInt(r.Bytes, 10) }},
	{name: "WHERE", cell: func(r archivedJSON) string {
		if r.Why != "" {
			return r.Why
		}
		return r.File
	}},
}
