package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"runner/ledger"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsNoLedgerIsRefusedAndUntouched(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		why  string
	}{
		"text":         {func(t *testing.T, p string) { write(t, p, strings.Repeat("task,biz_id\n", 100)) }, "not an SQLite database"},
		"one byte":     {func(t *testing.T, p string) { write(t, p, "S") }, "not an SQLite database"},
		"only a magic": {func(t *testing.T, p string) { write(t, p, "SQLite format 3\x00") }, "not an SQLite database"},
		"a folder": {func(t *testing.T, p string) {
			if err := os.Mkdir(p, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "it is a folder"},
		"another application": {func(t *testing.T, p string) { script(t, p, "PRAGMA application_id = 7; CREATE TABLE t(x)") }, "not a ledger of runner"},
		"a shop's database":   {func(t *testing.T, p string) { script(t, p, "CREATE TABLE t(x)") }, "not a ledger of runner"},
		"one in WAL mode":     {func(t *testing.T, p string) { script(t, p, "PRAGMA journal_mode=WAL; CREATE TABLE t(x)") }, "not a ledger of runner"},
		"one with a version":  {func(t *testing.T, p string) { script(t, p, "PRAGMA user_version = 1") }, "not a ledger of runner"},
		"an emptied database": {func(t *testing.T, p string) { script(t, p, "CREATE TABLE t(x); DROP TABLE t; PRAGMA user_version = 3") }, "not a ledger of runner"},
		"a newer ledger": {func(t *testing.T, p string) {
			closed(t, p)
			script(t, p, "PRAGMA user_version = 99")
		}, "knows versions up to"},
		"a dangling link": {func(t *testing.T, p string) {
			if err := os.Symlink(p+".elsewhere", p); err != nil {
				t.Skip(err)
			}
		}, "symbolic link"},
		"a lost ledger":     {func(t *testing.T, p string) { writeIn(t, p+".runs", "r1") }, "ledger.db.runs still belongs to it"},
		"one that archived": {func(t *testing.T, p string) { writeIn(t, p+".archive", "manifest.jsonl") }, "ledger.db.archive still belongs to it"},
		"an emptied one": {func(t *testing.T, p string) {
			write(t, p, "")
			write(t, p+"-wal", "frames")
		}, "ledger.db-wal still belongs to it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "ledger.db")
			c.make(t, path)
			before := files(t, dir)
			for _, o := range []Options{{}, {Create: true}, {ReadOnly: true}} {
				o.AllowNetworkFS = true
				_, err := Open(ctx, path, o)
				unusable(t, err, c.why)
				if d := cmp.Diff(before, files(t, dir)); d != "" {
					t.Fatalf("opened with %+v, something changed:\n%s", o, d)
				}
			}
		})
	}
}

func writeIn(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, name), "x")
}

func TestALedgerIsCreatedOnlyWhereAsked(t *testing.T) {
	for name, c := range map[string]struct{ empty, folders bool }{
		"no file": {}, "an empty file": {empty: true}, "empty folders beside it": {folders: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "ledger.db")
			if c.empty {
				write(t, path, "")
			}
			if c.folders {
				writeIn(t, path+".runs", ".r1.tmp")                                    // being made
				if err := os.MkdirAll(path+".archive/lost+found", 0o700); err != nil { // a volume of its own
					t.Fatal(err)
				}
			}
			before := files(t, dir)
			for _, o := range []Options{{AllowNetworkFS: true}, {ReadOnly: true, AllowNetworkFS: true}} {
				if _, err := Open(ctx, path, o); !errors.Is(err, ledger.ErrNoLedger) {
					t.Fatalf("got %v, want ErrNoLedger", err)
				}
			}
			if d := cmp.Diff(before, files(t, dir)); d != "" {
				t.Fatal(d)
			}
			if s := openIn(t, dir); !s.Created() {
				t.Error("Created is false where the ledger was made")
			}
			if s := openIn(t, dir); s.Created() {
				t.Error("Created is true where the ledger was there")
			}
		})
	}
}

func TestALedgerIsItsOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no mode bits")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := openIn(t, dir)
	update(t, s, func(tx ledger.Tx) error { return tx.PutBatch(&ledger.Batch{TaskName: "t", ExecuteDate: "2026-11-11"}) })
	for p, want := range map[string]fs.FileMode{
		dir: 0o700, filepath.Dir(dir): 0o700, s.Path(): 0o600, s.Path() + "-wal": 0o600, s.Path() + "-shm": 0o600, s.Path() + ".lock": 0o600,
	} {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", p, st.Mode().Perm(), want)
		}
	}
}

func TestManyOpensInOneProcessMakeOneLedger(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	stores := make([]*Store, 8)
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			s, err := Open(ctx, filepath.Join(dir, "ledger.db"), Options{Create: true, AllowNetworkFS: true})
			if err != nil {
				t.Error(err)
			}
			stores[i] = s
		})
	}
	wg.Wait()
	created := 0
	for _, s := range stores {
		if s == nil {
			t.FailNow()
		}
		if s.Created() {
			created++
		}
		if s.ID() != stores[0].ID() {
			t.Errorf("ids %s and %s", s.ID(), stores[0].ID())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if created != 1 {
		t.Errorf("%d say that they made it", created)
	}
}

func TestTwoNamesOfALedgerAreOne(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(s.Path(), link); err != nil {
		t.Skip(err)
	}
	l, err := Open(ctx, link, Options{AllowNetworkFS: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Path() != s.Path() || l.RunsDir() != s.RunsDir() {
		t.Errorf("%s and %s", l.Path(), s.Path())
	}
}

func TestOddFileNamesWork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%20é'\"&=;")
	s := openIn(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "ledger.db")); err != nil || s.Path() == "" {
		t.Fatal(err)
	}
}

func TestNetworkFileSystemsAreRefused(t *testing.T) {
	detect := networkFS
	defer func() { networkFS = detect }()
	networkFS = func(string) (string, error) { return "NFS", nil }
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, "ledger.db")
	for _, o := range []Options{{Create: true}, {}, {ReadOnly: true}} {
		_, err := Open(ctx, path, o)
		unusable(t, err, "it lies on NFS")
	}
	if exists(dir) {
		t.Error("the folder was made all the same")
	}
	openIn(t, dir) // with AllowNetworkFS
	if _, err := detect(dir); err != nil {
		t.Errorf("the file system of %s: %v", dir, err)
	}
}
