package cmd

import (
	"errors"
	"io/fs"
	"os"

	"runner/ledger"
	"runner/ledger/postgres"
	"runner/tasks"
)

// checkInput looks at the file that a task's records come from, without reading
// it. One whose name has the date in it may come later today, or be for a run of
// another date: that none is there for today stops no other run.
func (d *doctor) checkInput(t *tasks.Task) {
	date := today(d.a.now(), t.Location).String()
	in, err := t.LookAtInput(date)
	switch {
	case err == nil:
	case in.Dated:
		d.warn("task "+t.Name, hintOf(err), "its input for today, %s: %s", date, err)
	default:
		d.bad("task "+t.Name, wrongSetup, hintOf(err), "its input: %s", err)
	}
}

// checkArchives looks whether the files of sealed batches are there. What is in
// them verify tells.
func (d *doctor) checkArchives(batches []ledger.Batch) error {
	folder, err := d.a.folder(d.where, "")
	if err != nil {
		return err
	}
	files, missing := map[string]bool{}, []string{}
	for _, b := range batches {
		if b.SealedAt.IsZero() || files[folder.Path(b)] {
			continue
		}
		path := folder.Path(b)
		files[path] = true
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, path)
		}
	}
	const hint = "put it back from a backup: the batches stay complete without it, but their records can't be read; runner ledger verify reads all of them"
	switch n := plural(int64(len(missing)), "archive file"); {
	case len(missing) > 0 && postgres.Is(d.where.ledger):
		d.warn("archives", "look on the host that archived; "+hint, "%s not on this host: %s", n, someOf(missing))
	case len(missing) > 0:
		d.bad("archives", otherwise, hint, "%s missing: %s", n, someOf(missing))
	case len(files) > 0:
		d.ok("archives", "%s", plural(int64(len(files)), "file"))
	}
	return nil
}
