package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"runner/ledger"
)

// IDs gives the biz_ids in the file of a sealed batch to fn, at most n at a
// time; it must not keep them. The file is compared with its checksum first. d
// is locked, and no restore of the batch begins meanwhile, wherever its file
// lies.
func (d *Folder) IDs(led *ledger.Ledger, b ledger.Batch, n int, fn func(ids []string) error) error {
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
	if err := d.compare(b); err != nil {
		return err
	}
	part := make([]string, 0, n)
	err = f.ids(func(biz string, _ ledger.Status) error {
		if part = append(part, biz); len(part) < n {
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
