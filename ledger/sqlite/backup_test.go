package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// noLinks is os.Link on a disk that has no hard links.
func noLinks(old, name string) error {
	return &os.LinkError{Op: "link", Old: old, New: name, Err: syscall.EPERM}
}

func TestABackupGetsItsNameWithoutHardLinksAndReplacesNothing(t *testing.T) {
	for name, link := range map[string]func(from, to string) error{"links": os.Link, "no links": noLinks} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tmp, file, taken := filepath.Join(dir, "b.tmp"), filepath.Join(dir, "b"), filepath.Join(dir, "taken")
			write(t, tmp, "backup")
			write(t, taken, "older")
			if err := giveName(tmp, taken, link); !errors.Is(err, os.ErrExist) {
				t.Errorf("got %v for a name that exists", err)
			}
			if err := giveName(tmp, file, link); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]string{file: "backup", taken: "older"} {
				if got, err := os.ReadFile(path); string(got) != want || err != nil {
					t.Errorf("%s holds %q, %v", path, got, err)
				}
			}
			if exists(tmp) {
				t.Error("the temporary name is still there")
			}
			if err := giveName(tmp, filepath.Join(dir, "none"), link); err == nil || exists(filepath.Join(dir, "none")) {
				t.Errorf("got %v for a copy that isn't there, and a file for it", err)
			}
			if err := keep(file, taken, link); !errors.Is(err, os.ErrExist) {
				t.Errorf("got %v for a kept ledger that would be replaced", err)
			}
			kept := filepath.Join(dir, "kept")
			if err := keep(file, kept, link); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(kept); string(got) != "backup" || err != nil || !exists(file) {
				t.Errorf("kept is %q, %v", got, err)
			}
		})
	}
}
