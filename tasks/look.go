package tasks

import (
	"io/fs"
	"os"

	"runner/runner"
)

// Input is the file that the records of a task come from.
type Input struct {
	Path  string // empty: they come from elsewhere, or from stdin
	Dated bool   // its name depends on the execute date
}

// LookAtInput says why the file of records for a date can't be opened. Nothing
// is read, and what isn't a regular file isn't opened either: a pipe would wait.
func (t *Task) LookAtInput(date string) (in Input, err error) {
	if t.source == nil || t.source.path == nil || *t.source.path(&t.records) == "-" {
		return in, nil
	}
	written := *t.source.path(&t.records)
	if in.Path, err = renderPath(written, date); err != nil {
		return in, err
	}
	in.Dated = in.Path != written
	in.Path = absolute(t.dir, in.Path)
	st, err := os.Stat(in.Path)
	switch {
	case err != nil:
		return in, unreadable(in.Path, err)
	case st.IsDir():
		return in, &runner.PlaceError{Name: in.Path, Msg: folderMsg}
	case st.Mode()&fs.ModeType != 0:
		return in, nil
	}
	f, err := os.Open(in.Path)
	if err != nil {
		return in, unreadable(in.Path, err)
	}
	return in, f.Close()
}
