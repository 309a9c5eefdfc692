package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"runner/ledger"
)

// Effect is what a record that is done stands for.
type Effect struct {
	BizID      string
	Generation int
}

// Effects gives those in the file of a sealed batch to fn, at most n at a time;
// it must not keep them. What was skipped is left out: nobody knows of it. The
// file is compared with its checksum first. d is locked, and no restore of the
// batch begins meanwhile, wherever its file lies. It fails with ledger.ErrMoved
// if the batch has another seal by now, or none.
func (d *Folder) Effects(ctx context.Context, led *ledger.Ledger, b ledger.Batch, n int, fn func(part []Effect) error) error {
	f, err := d.Open(led, b) // before a folder is made for the lock
	if err != nil {
		return err
	}
	defer f.Close()
	unlock, err := d.LockPlace(d.Path(b))
	if err != nil {
		return err
	}
	defer unlock()
	if err := led.StillSealed(ctx, b); err != nil {
		return err
	}
	if err := d.compare(b); err != nil {
		return err
	}
	part := make([]Effect, 0, n)
	err = f.briefs(func(r brief) error {
		if r.Status != ledger.Done {
			return nil
		}
		if part = append(part, Effect{r.BizID, r.Generation}); len(part) < n {
			return nil
		}
		err := fn(part)
		part = part[:0]
		return err
	})
	if err != nil || len(part) == 0 {
		return err
	}
	return fn(part)
}

// LockPlace makes sure that nobody else moves batches in the folder of a file,
// TASK/DATE.jsonl.zst, if it is there. d is locked already, and may be it.
func (d *Folder) LockPlace(file string) (unlock func(), err error) {
	other := &Folder{Dir: filepath.Dir(filepath.Dir(file))}
	at, err := os.Stat(other.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, &FileError{other.Dir, err}
	}
	if own, err := os.Stat(d.Dir); err == nil && os.SameFile(own, at) {
		return func() {}, nil
	}
	return other.Unlock, other.Lock()
}
