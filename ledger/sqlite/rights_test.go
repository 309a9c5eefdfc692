//go:build linux

package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"runner/ledger"

	"golang.org/x/sys/unix"
)

// envOpen makes the test binary open a ledger and say what came of it.
const envOpen = "SQLITE_TEST_OPEN"

// openChild is that, for TestMain.
func openChild() {
	path, readOnly := strings.CutPrefix(os.Getenv(envOpen), "ro:")
	s, err := Open(ctx, path, Options{ReadOnly: readOnly, Create: true, AllowNetworkFS: true})
	var u *ledger.UnusableError
	switch {
	case errors.As(err, &u):
		fmt.Printf("%s\n%s\n", u.Why, u.Hint)
	case err != nil:
		fmt.Println("error:", err)
	default:
		fmt.Println("opened", s.ID())
	}
}

// asNobody opens a ledger as another user.
func asNobody(t *testing.T, path string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	dir := public(t)
	out, err := os.OpenFile(filepath.Join(dir, "test"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(out.Name())
	cmd.Dir = dir
	cmd.Env = []string{envOpen + "=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return string(said)
}

// public is a folder that anybody may enter and only root may write to.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "runner-ledger-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
}

func TestAnotherUsersLedgerIsNamed(t *testing.T) {
	needRoot(t)
	dir := public(t)
	path := filepath.Join(dir, "ledger.db")
	closed(t, path)
	before := files(t, dir)
	said := asNobody(t, path)
	if !strings.Contains(said, path+" belongs to root, and this is nobody") || !strings.Contains(said, "sudo chown -R nobody "+path) {
		t.Errorf("got %s", said)
	}
	if said := asNobody(t, "ro:"+path); !strings.Contains(said, "belongs to root") {
		t.Errorf("reading: %s", said)
	}
	if said := asNobody(t, filepath.Join(dir, "new", "ledger.db")); !strings.Contains(said, dir+" belongs to root") {
		t.Errorf("creating: %s", said)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if said := asNobody(t, "ro:"+path); !strings.HasPrefix(said, "opened ") {
		t.Errorf("reading what anybody may read: %s", said)
	}
	after := files(t, dir)
	if len(after) != len(before) || after[path] != before[path] {
		t.Error("something changed")
	}
}

// mount makes a file system of 1 MB in memory.
func mount(t *testing.T) string {
	t.Helper()
	needRoot(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0755"); err != nil {
		t.Skip("can't mount: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestAReadOnlyFileSystemIsSaidAndReadFrom(t *testing.T) {
	dir := mount(t)
	path := filepath.Join(dir, "ledger.db")
	want := len(populated(t, path))
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	before := files(t, dir)
	for _, p := range []string{path, filepath.Join(dir, "new.db"), filepath.Join(dir, "new", "ledger.db")} {
		_, err := Open(ctx, p, Options{Create: true, AllowNetworkFS: true})
		unusable(t, err, "is on a read-only file system")
	}
	s, err := Open(ctx, path, Options{ReadOnly: true, AllowNetworkFS: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := len(entries(t, s)); n != want {
		t.Errorf("read %d records of %d", n, want)
	}
	if len(files(t, dir)) != len(before) {
		t.Error("files were made")
	}
}

func TestASmallDiskFillsUpWithoutDamage(t *testing.T) {
	dir := mount(t)
	s, err := Open(ctx, filepath.Join(dir, "ledger.db"), Options{Create: true, AllowNetworkFS: true})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for err == nil && n < 1000 {
		err = s.Update(ctx, func(tx ledger.Tx) error {
			b := ledger.Batch{TaskName: "t", ExecuteDate: "2026-11-11"}
			if err := tx.PutBatch(&b); err != nil {
				return err
			}
			in := make([]ledger.Input, 100)
			for i := range in {
				in[i].BizID = fmt.Sprint(n, "-", i)
			}
			_, err := tx.Insert(b.ID, in)
			return err
		})
		if err == nil {
			n++
		}
	}
	unusable(t, err, "no room left")
	if err := s.Close(); err != nil {
		t.Log("close on a full disk: ", err)
	}
	again, err := Open(ctx, filepath.Join(dir, "ledger.db"), Options{AllowNetworkFS: true, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := len(entries(t, again)); got != n*100 {
		t.Errorf("%d records, want those of the %d updates that succeeded", got, n)
	}
	if got := again.ask(t, again.readers, "PRAGMA integrity_check"); got[0][0] != "ok" {
		t.Errorf("integrity: %v", got)
	}
}
