package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyWhatTheWorkspaceMadeIsDeleted(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := newWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mine, err := w.make("mine")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", ".", "/", "*", filepath.Base(mine), w.root, mine + "/", mine + "/..", filepath.Join(w.root, "other")} {
		if err := w.remove(path); err == nil {
			t.Errorf("%q was deleted", path)
		}
	}
	if _, err := os.Stat(mine); err != nil {
		t.Fatal(err)
	}
	if err := w.remove(mine); err != nil {
		t.Error(err)
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(w.root); !os.IsNotExist(err) {
		t.Errorf("the workspace is still there: %v", err)
	}
}
