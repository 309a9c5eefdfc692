package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// workspace is a temporary folder. It deletes only folders that it has made
// itself, each by its exact path, and at the end its root, which is empty then.
type workspace struct {
	root string
	made map[string]bool
}

func newWorkspace(in string) (*workspace, error) {
	in, err := filepath.Abs(in)
	if err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp(in, "runner-bench-")
	if err != nil {
		return nil, err
	}
	return &workspace{root: root, made: map[string]bool{}}, os.Chdir(root)
}

func (w *workspace) make(name string) (string, error) {
	path, err := os.MkdirTemp(w.root, name+"-")
	if err == nil {
		w.made[path] = true
	}
	return path, err
}

func (w *workspace) remove(path string) error {
	switch {
	case path == "" || !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return fmt.Errorf("not deleted, no absolute path: %q", path)
	case !w.made[path] || !strings.HasPrefix(path, w.root+string(filepath.Separator)):
		return fmt.Errorf("not deleted, not made by this program: %q", path)
	}
	delete(w.made, path)
	return os.RemoveAll(path)
}

func (w *workspace) close() error {
	errs := []error{os.Chdir(w.root)}
	for path := range w.made {
		errs = append(errs, w.remove(path))
	}
	return errors.Join(append(errs, os.Chdir(filepath.Dir(w.root)), os.Remove(w.root))...)
}

// writeLines streams, for the memory of a child counts from that of its parent.
func writeLines(path string, n int, line func(int) string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<16)
	for i := 1; i <= n; i++ {
		if _, err := w.WriteString(line(i) + "\n"); err != nil {
			return err
		}
	}
	return w.Flush()
}

func folderSize(path string) (bytes int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
