package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runner/ledger"

	"github.com/google/go-cmp/cmp"
)

// second is the schema with a step that nobody has released.
func second(t *testing.T, sql string) []step {
	t.Helper()
	steps, err := embeddedSteps()
	if err != nil {
		t.Fatal(err)
	}
	return append(steps, step{"999.sql", sql})
}

// populated is a closed ledger with 1,500 records, of which one is done.
func populated(t *testing.T, path string) (all []ledger.Entry) {
	t.Helper()
	s, err := Open(ctx, path, Options{Create: true, AllowNetworkFS: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	update(t, s, func(tx ledger.Tx) error {
		b := ledger.Batch{TaskName: "t", ExecuteDate: "2026-11-11"}
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		in := make([]ledger.Input, 1500)
		for i := range in {
			in[i] = ledger.Input{BizID: fmt.Sprint("r", i), Payload: []byte(fmt.Sprintf(`{"n":%d}`, i))}
		}
		if _, err := tx.Insert(b.ID, in); err != nil {
			return err
		}
		list, err := tx.List(ledger.Query{Limit: 1})
		if err != nil {
			return err
		}
		n := list[0]
		n.Status, n.Fence, n.RunID = ledger.Done, 1, "run-1"
		return tx.Swap([]ledger.Change{{Old: list[0], New: n}})
	})
	return entries(t, s)
}

func entries(t *testing.T, s *Store) (all []ledger.Entry) {
	t.Helper()
	err := s.View(ctx, func(r ledger.Reader) (err error) {
		all, err = r.List(ledger.Query{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func backups(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + ".v*.bak")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestANewSchemaKeepsTheDataAndABackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	want := populated(t, path)
	o := Options{AllowNetworkFS: true}
	steps := second(t, "ALTER TABLE record ADD COLUMN extra TEXT; UPDATE record SET extra = 'new'")

	_, err := open(ctx, path, Options{AllowNetworkFS: true, ReadOnly: true}, steps)
	unusable(t, err, fmt.Sprintf("its schema is version %d, and this program reads version %d", len(steps)-1, len(steps)))

	s, err := open(ctx, path, o, steps)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if d := cmp.Diff(want, entries(t, s)); d != "" {
		t.Errorf("after the migration:\n%s", d)
	}
	if got := s.ask(t, s.writer, "SELECT count(*) FROM record WHERE extra = 'new'"); got[0][0] != int64(len(want)) {
		t.Errorf("the step changed %v records", got)
	}
	if s.Created() {
		t.Error("a migrated ledger is said to be created")
	}

	names := backups(t, path)
	if len(names) != 1 || !strings.HasPrefix(names[0], fmt.Sprintf("%s.v%d.20", path, len(steps)-1)) {
		t.Fatalf("backups: %v", names)
	}
	if st, err := os.Stat(names[0]); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("backup: %v %v", st.Mode(), err)
	}
	for _, o := range []Options{{AllowNetworkFS: true, ReadOnly: true}, o} {
		old, err := Open(ctx, names[0], o)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, entries(t, old)); d != "" || old.ID() != s.ID() {
			t.Errorf("the backup, ledger %s of %s:\n%s", old.ID(), s.ID(), d)
		}
		if err := old.Close(); err != nil {
			t.Error(err)
		}
	}

	again, err := open(ctx, path, o, steps)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n := len(backups(t, path)); n != 1 {
		t.Errorf("opened once more: %d backups", n)
	}
	_, err = Open(ctx, path, o) // of the older program, while the newer one works
	unusable(t, err, fmt.Sprintf("knows versions up to %d", len(steps)-1))
}

// A ledger of a synthetic older schema (case 32).
func TestAnOlderLedgerIsMigratedAfterABackup(t *testing.T) {
	var steps []step
	for _, name := range []string{"older.sql", "older_to_newer.sql"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step{name, string(text)})
	}
	released, err := embeddedSteps()
	if err != nil {
		t.Fatal(err)
	}
	steps = append(steps, released[1:]...)
	path := filepath.Join(t.TempDir(), "ledger.db")
	old, err := open(ctx, path, Options{Create: true, AllowNetworkFS: true}, steps[:1])
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}

	s, err := open(ctx, path, Options{AllowNetworkFS: true}, steps)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := backups(t, path); len(got) != 1 {
		t.Fatalf("backups: %v", got)
	}
	got := map[string]ledger.Entry{}
	for _, e := range entries(t, s) {
		got[e.BizID] = e
	}
	if len(got) != 4 || got["用户1"].Status != ledger.Done || string(got["用户1"].Payload) != `{"v":"0010"}` || got["用户3"].Detail != ledger.DetailUnknown {
		t.Errorf("after the migration: %+v", got)
	}
	// It goes on where the older program stopped.
	l := ledger.New(s)
	run := ledger.Run{ID: "run-2", TaskName: "发券", ExecuteDate: "2026-11-11"}
	if err := l.Begin(ctx, &run, false); err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, e := range got {
		ids = append(ids, e.ID)
	}
	out, err := l.Work(ctx, ledger.Work{Run: run, Policy: ledger.DefaultPolicy(), Candidates: ids, Max: 10})
	if err != nil || len(out.Claimed) != 1 || out.Claimed[0].BizID != "用户4" {
		t.Errorf("claimed %+v, %v", out.Claimed, err)
	}
}

func TestAFailedMigrationLeavesTheOldSchema(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	want := populated(t, path)
	_, err := open(ctx, path, Options{AllowNetworkFS: true}, second(t, "DELETE FROM record; ALTER TABLE record ADD COLUMN extra; SELECT no_such_column FROM record"))
	if err == nil || !strings.Contains(err.Error(), "999.sql") {
		t.Fatalf("got %v, want an error that names the step", err)
	}
	if n := len(backups(t, path)); n != 0 {
		t.Errorf("%d backups of what did not change", n)
	}
	s := openIn(t, dir)
	if d := cmp.Diff(want, entries(t, s)); d != "" {
		t.Error(d)
	}
	if got := s.ask(t, s.writer, "PRAGMA user_version"); got[0][0] != int64(len(s.steps)) {
		t.Errorf("version %v", got)
	}
}

// TestABackupMissesNothing lets a program that doesn't queue on the side lock
// write between the backup and the migration.
func TestABackupMissesNothing(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	foreign := openIn(t, dir)
	s.steps = second(t, "ALTER TABLE record ADD COLUMN extra")
	c, err := s.writer.Take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.writer.Put(c)
	seen, err := c.dataVersion()
	if err != nil {
		t.Fatal(err)
	}
	update(t, foreign, func(tx ledger.Tx) error {
		return tx.PutBatch(&ledger.Batch{TaskName: "late", ExecuteDate: "2026-11-11"})
	})
	if moved, err := s.climb(c, len(s.steps)-1, seen); !moved || err != nil {
		t.Fatalf("moved %v, error %v: the backup lacks what was written since", moved, err)
	}
	if err := s.migrate(c); err != nil {
		t.Fatal(err)
	}
	old, err := Open(ctx, backups(t, s.Path())[0], Options{AllowNetworkFS: true, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := old.View(ctx, func(r ledger.Reader) error { _, err := r.Batch("late", "2026-11-11"); return err }); err != nil {
		t.Error(err)
	}
}

func TestAHalfMadeLedgerIsFinished(t *testing.T) {
	for name, text := range map[string]string{
		"killed after the mark": "PRAGMA application_id = 1920298610",
		"killed before tables":  "PRAGMA application_id = 1920298610; PRAGMA journal_mode = WAL",
		"an unused database":    "VACUUM",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "ledger.db")
			script(t, path, text)
			for _, o := range []Options{{AllowNetworkFS: true, ReadOnly: true}, {AllowNetworkFS: true}} {
				if _, err := Open(ctx, path, o); !errors.Is(err, ledger.ErrNoLedger) {
					t.Errorf("got %v, want ErrNoLedger", err)
				}
			}
			if s := openIn(t, dir); !s.Created() || s.ID() == "" {
				t.Errorf("created %v, id %q", s.Created(), s.ID())
			}
		})
	}
}
