package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"runner/ledger"

	"github.com/gofrs/flock"
)

// Folder is where the archive files of a ledger lie: TASK/DATE.jsonl.zst, and
// manifest.jsonl, which lists them.
type Folder struct {
	Dir     string // absolute
	Home    string // the ledger's own folder for archives; names in the ledger are relative to it
	Version string // of the program
	Shared  bool   // by hosts that may not all have the folder
	lock    *flock.Flock
}

// ErrBusy says that another archive or restore is at work in the folder.
var ErrBusy = errors.New("another archive or restore is at work there")

// Lock makes this process the only one that moves batches in the folder.
func (d *Folder) Lock() error {
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return &FileError{d.Dir, err}
	}
	d.lock = flock.New(filepath.Join(d.Dir, ".lock"))
	ok, err := d.lock.TryLock()
	if err == nil && !ok {
		err = ErrBusy
	}
	if err != nil {
		return &FileError{d.Dir, err}
	}
	return nil
}

// Unlock lets others move batches.
func (d *Folder) Unlock() { _ = d.lock.Unlock() }

// Path is where the file of a sealed batch lies.
func (d *Folder) Path(b ledger.Batch) string {
	if filepath.IsAbs(b.SealedIn) {
		return b.SealedIn
	}
	return filepath.Join(d.Home, filepath.FromSlash(b.SealedIn))
}

// name is what the ledger calls a file: relative where it lies in its own
// folder, so that both can be moved together.
func (d *Folder) name(path string) string {
	if rel, err := filepath.Rel(d.Home, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// Moved is what became of a batch.
type Moved struct {
	Batch   ledger.Batch
	Why     string // it was left; empty if it was archived
	Err     error  // the file that is there, or should be, is why it was left
	Path    string
	Bytes   int64
	Records int64
	// Finished tells that an earlier try was cut off, and that this one removed
	// what it had left.
	Finished bool
}

// Archive moves a batch into a file, or goes on where an earlier try was cut
// off. At any moment either the ledger holds all records of the batch, or it
// is sealed and a durable file does. A file that stands in its way is no error
// of this function, for others can be archived all the same.
func (d *Folder) Archive(ctx context.Context, led *ledger.Ledger, task, date string) (m Moved, err error) {
	b, stamp, why, err := led.Archivable(ctx, task, date)
	m = Moved{Batch: b, Why: why, Records: b.Counts.Total()}
	if err != nil {
		return m, err
	}
	if b.Sealed() {
		m.Finished, err = d.forget(ctx, led, b)
		if errors.As(err, new(*FileError)) {
			m.Err, m.Why, m.Finished, err = err, err.Error(), false, nil
		}
		return m, err
	}
	if why != "" {
		return m, nil
	}
	if err := led.MayForget(ctx); err != nil {
		return m, err
	}
	m.Path = filepath.Join(d.Dir, task, date+".jsonl.zst")
	h := Head{
		Format: format, Ledger: led.Store().ID(), TaskName: task, ExecuteDate: date,
		Counts: map[string]int64{}, WrittenAt: led.Now().UTC(), Version: d.Version,
	}
	for s, n := range b.Counts {
		if n > 0 {
			h.Counts[ledger.Status(s).String()] = n
		}
	}
	if m.Err = mayReplace(m.Path, h); m.Err != nil {
		m.Why = m.Err.Error()
		return m, nil
	}
	sum, size, e, err := write(ctx, led, m.Path, h)
	if err != nil {
		return m, err
	}
	m.Bytes = size
	if e.Records != b.Counts.Total() {
		m.Why = ledger.ErrMoved.Error()
		return m, nil
	}
	if err := d.note(entry{d.rel(m.Path), task, date, e.Records, e.Lines, size, sum, h.Ledger, h.WrittenAt}); err != nil {
		return m, err
	}
	m.Batch, err = led.Seal(ctx, task, date, stamp, d.name(m.Path), sum)
	if errors.Is(err, ledger.ErrMoved) {
		m.Why = err.Error()
		return m, nil
	}
	if err != nil {
		return m, err
	}
	_, err = d.forget(ctx, led, m.Batch)
	return m, err
}

// mayReplace fails if a file of another batch or another ledger lies there.
func mayReplace(path string, h Head) error {
	f, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if o := f.Head; o.Ledger != h.Ledger || o.TaskName != h.TaskName || o.ExecuteDate != h.ExecuteDate {
		return &FileError{path, fmt.Errorf("it holds %s %s of the ledger %s", o.TaskName, o.ExecuteDate, o.Ledger)}
	}
	return nil
}

// Transactions of a move are kept short, for others wait for them.
const (
	chunkMin  = 250
	chunkMax  = 8000
	chunkTime = 30 * time.Millisecond
)

// pace finds how many records one transaction may take.
type pace int

func (p *pace) took(d time.Duration) {
	switch {
	case d > chunkTime:
		*p = max(*p/2, chunkMin)
	case d < chunkTime/2:
		*p = min(*p*2, chunkMax)
	}
}

// forget removes what a durable file holds. The file is compared first: the
// disk may be another one by now.
func (d *Folder) forget(ctx context.Context, led *ledger.Ledger, b ledger.Batch) (some bool, err error) {
	left := false
	err = led.Store().View(ctx, func(r ledger.Reader) error {
		some, err := r.List(ledger.Query{TaskName: b.TaskName, ExecuteDate: b.ExecuteDate, Limit: 1, Ascending: true})
		left = len(some) > 0
		return err
	})
	if err != nil || !left {
		return false, err
	}
	if err := d.compare(b); err != nil {
		return false, err
	}
	n := pace(chunkMin * 4)
	for after := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		began := time.Now()
		last, err := led.Forget(ctx, b, after, int(n))
		if err != nil || last == 0 {
			return true, err
		}
		n.took(time.Since(began))
		after = last
	}
}

// compare fails if the file of a sealed batch isn't, byte for byte, the one it
// was sealed in.
func (d *Folder) compare(b ledger.Batch) error {
	path := d.Path(b)
	f, err := os.Open(path)
	if err != nil {
		return d.elsewhere(&FileError{path, err})
	}
	defer f.Close() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return &FileError{path, err}
	}
	return isSum(path, hex.EncodeToString(h.Sum(nil)), b.SealedSum)
}

// Check reads the file of a sealed batch through to the end.
func (d *Folder) Check(led *ledger.Ledger, b ledger.Batch) error {
	if err := d.compare(b); err != nil {
		return err
	}
	f, err := d.Open(led, b)
	if err != nil {
		return err
	}
	defer f.Close()
	var held ledger.Counts
	err = f.briefs(func(r brief) error {
		held[r.Status]++
		return nil
	})
	if err == nil && held != b.Counts {
		err = &FileError{f.path, fmt.Errorf("it holds %v records by status, and the ledger says %v", held, b.Counts)}
	}
	return err
}

// Open opens the file of a sealed batch.
func (d *Folder) Open(led *ledger.Ledger, b ledger.Batch) (*File, error) {
	f, err := Open(d.Path(b))
	if err != nil {
		return nil, d.elsewhere(err)
	}
	if h := f.Head; h.Ledger != led.Store().ID() || h.TaskName != b.TaskName || h.ExecuteDate != b.ExecuteDate {
		f.Close()
		return nil, &FileError{f.path, fmt.Errorf("it holds %s %s of the ledger %s", h.TaskName, h.ExecuteDate, h.Ledger)}
	}
	return f, nil
}
