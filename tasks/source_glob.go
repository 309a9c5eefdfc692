package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"runner/ledger"
	"runner/runner"
)

// globKind has a record for each file that a pattern matches.
var globKind = sourceKind{
	name:   "glob",
	value:  func(f *recordsFile) any { return &f.Glob },
	format: func(*recordsFile) string { return "" },
	check:  checkGlob,
	words:  func(f *recordsFile) string { return "files " + f.Glob },
	open: func(t *Task, q request) (runner.Source, error) {
		pattern, err := renderPath(t.records.Glob, q.date)
		if err != nil {
			return nil, err
		}
		return openGlob(t.dir, pattern, q.fields)
	},
}

func checkGlob(c *checker, f *recordsFile) {
	c.path(&f.Glob)
	if strings.Contains(f.Glob, "**") {
		c.doc.Report(`"glob" has no **`, "a * is any name in one folder", &f.Glob)
	}
	for part := range strings.SplitSeq(filepath.ToSlash(f.Glob), "/") {
		if _, err := filepath.Match(part, ""); err != nil {
			c.doc.Report(fmt.Sprintf("%q is no pattern for names: a [ is never closed, or a \\ ends it", part), "", &f.Glob)
		}
	}
}

// globSource has a record for each regular file that matches. Its biz_id is
// the path as the pattern writes it, with slashes.
type globSource struct {
	dir     string // of relative patterns
	pattern string
	fields  []Field
	paths   []string // once it has been read
	read    bool
}

func openGlob(dir, pattern string, fields []Field) (runner.Source, error) {
	own := append([]Field{{"path", ""}, {"name", ""}}, fields...)
	if err := checkFields(own); err != nil {
		return nil, fmt.Errorf("files have the fields path and name: %w", err)
	}
	return &globSource{dir: dir, pattern: filepath.Clean(pattern), fields: fields}, nil
}

func (s *globSource) Name() string { return s.pattern }
func (s *globSource) Close() error { return nil }

func (s *globSource) Records() iter.Seq2[runner.Item, error] {
	return func(yield func(runner.Item, error) bool) {
		if err := s.look(); err != nil {
			yield(runner.Item{}, &runner.PlaceError{Name: s.pattern, Msg: err.Error()})
			return
		}
		for _, path := range s.paths {
			item, err := s.item(path)
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// look finds the files, once: every pass has the same.
func (s *globSource) look() (err error) {
	if s.read {
		return nil
	}
	volume := filepath.VolumeName(s.pattern)
	rest := s.pattern[len(volume):]
	start := volume
	if filepath.IsAbs(s.pattern) {
		start += string(filepath.Separator)
	}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == filepath.Separator })
	if len(parts) > 0 {
		s.paths, err = s.walk(nil, start, parts)
	}
	if err == nil {
		slices.Sort(s.paths)
		s.read = true
	}
	return err
}

// walk adds what matches below path. Other than filepath.Glob it doesn't take
// a folder that can't be read for an empty one.
func (s *globSource) walk(found []string, path string, parts []string) ([]string, error) {
	part, last := parts[0], len(parts) == 1
	names := []string{part}
	if strings.ContainsAny(part, `*?[\`) {
		var err error
		if names, err = s.matches(path, part); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		next := filepath.Join(path, name)
		if !last {
			var err error
			if found, err = s.walk(found, next, parts[1:]); err != nil {
				return nil, err
			}
			continue
		}
		st, err := os.Stat(absolute(s.dir, next))
		if err = notThere(err); err != nil {
			return nil, err
		}
		if st != nil && st.Mode().IsRegular() {
			found = append(found, next)
		}
	}
	return found, nil
}

// matches gives the names in a folder that match.
func (s *globSource) matches(path, pattern string) (names []string, err error) {
	dir := filepath.Join(s.dir, path)
	if filepath.IsAbs(path) {
		dir = path
	}
	entries, err := os.ReadDir(dir)
	if err = notThere(err); err != nil {
		return nil, err
	}
	for _, e := range entries {
		ok, err := filepath.Match(pattern, e.Name())
		if err != nil {
			return nil, err
		}
		if ok {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// notThere drops the error that a file doesn't exist.
func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

func (s *globSource) item(path string) (runner.Item, error) {
	item := runner.Item{BizID: filepath.ToSlash(path)}
	if err := ledger.CheckBizID(item.BizID); err != nil {
		return item, &runner.PlaceError{Name: s.pattern, Msg: fmt.Sprintf("file %q: %v", path, err), Hint: "rename the file"}
	}
	abs := absolute(s.dir, path)
	if why := badText(abs); why != "" {
		return item, &runner.PlaceError{Name: s.pattern, Msg: fmt.Sprintf("the path %q %s", abs, why)}
	}
	fields := []Field{{"path", abs}, {"name", filepath.Base(path)}}
	item.Payload = payloadOf(append(fields, s.fields...))
	return item, nil
}
