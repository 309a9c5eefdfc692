package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"runner/ledger"
)

// journalStart is where the journal begins: byte 0 is the lock's, on systems
// that lock ranges.
const journalStart = 1

// runFile is the file of a live run: whoever holds its lock is the run, and
// what it has started and ended is in its journal.
type runFile struct {
	path string
	lock *flock.Flock

	mu  sync.Mutex
	f   *os.File
	err error // of the first write that failed
}

// createRunFile makes the file under another name, locks it and renames it,
// so that a file by a run's name is never seen unlocked while the run lives.
func createRunFile(dir string, h head) (*runFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	r := &runFile{path: filepath.Join(dir, h.Run)}
	tmp := filepath.Join(dir, "."+h.Run+".tmp")
	if runtime.GOOS == "windows" { // an open file can't be renamed there
		tmp = r.path
	}
	for range 10 {
		err := r.create(tmp)
		if err == nil {
			err = r.begin(h)
		}
		if err == nil {
			return r, nil
		}
		r.abandon(tmp)
		if !errors.Is(err, errTaken) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", tmp, errTaken)
}

// errTaken: another process took the file for a dead run's before it was
// locked.
var errTaken = errors.New("run file taken away")

func (r *runFile) create(tmp string) error {
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	r.f = f
	if _, err := f.Write([]byte{'#'}); err != nil {
		return err
	}
	r.lock = flock.New(tmp, flock.SetFlag(os.O_RDWR))
	if ok, err := r.lock.TryLock(); err != nil || !ok {
		return errTaken
	}
	if tmp != r.path {
		if err := os.Rename(tmp, r.path); err != nil {
			return errTaken
		}
	}
	if !sameFile(r.lock, r.path) {
		return errTaken
	}
	return nil
}

func (r *runFile) begin(h head) error {
	b, err := h.appendLine(nil)
	if err != nil {
		return err
	}
	return r.write(b)
}

func (r *runFile) abandon(tmp string) {
	if r.lock != nil {
		_ = r.lock.Close()
	}
	if r.f != nil {
		_ = r.f.Close()
	}
	_ = os.Remove(tmp)
	*r = runFile{path: r.path}
}

func sameFile(l *flock.Flock, path string) bool {
	held, err1 := l.Stat()
	there, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(held, there)
}

// write writes journal lines with one system call.
func (r *runFile) write(lines []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	if _, err := r.f.Write(lines); err != nil {
		r.err = fmt.Errorf("run file %s: %w", r.path, err)
	}
	return r.err
}

func (r *runFile) started(e ledger.Entry, at time.Time) error {
	p := pen{file: r}
	return p.start(e, at)
}

func (r *runFile) pid(e ledger.Entry, pid int) error {
	return r.write(line{ID: e.ID, Fence: e.Fence, PID: pid}.appendLine(nil))
}

func (r *runFile) ended(rep ledger.Report, bizID string) error {
	p := pen{file: r}
	p.end(rep, bizID)
	return p.flush()
}

// pen writes the journal for one worker. The end of an attempt may wait for
// the start of the next, which a worker that has one at hand makes at once: a
// system call costs as much as all else in the life of a small attempt.
type pen struct {
	file *runFile
	buf  []byte
}

// start writes that an attempt starts, after what was left to be written.
func (p *pen) start(e ledger.Entry, at time.Time) error {
	p.buf = line{ID: e.ID, Fence: e.Fence, BizID: e.BizID, Start: &startLine{e.Phase, at.UnixMicro()}}.appendLine(p.buf)
	return p.flush()
}

// end leaves to be written that an attempt has ended.
func (p *pen) end(rep ledger.Report, bizID string) {
	p.buf = endLine(rep, bizID).appendLine(p.buf)
}

func (p *pen) flush() error {
	if len(p.buf) == 0 {
		return nil
	}
	err := p.file.write(p.buf)
	p.buf = p.buf[:0]
	return err
}

// sync makes the journal outlive the machine.
func (r *runFile) sync() error { return r.f.Sync() }

// keep lets go of the lock and leaves the journal for the next start.
func (r *runFile) keep() { r.release() }

// remove ends the file with its run: unlinked first, then unlocked, so that
// nobody takes the lock of a file that is going away for good news.
func (r *runFile) remove() error {
	if runtime.GOOS == "windows" {
		r.release()
		return os.Remove(r.path)
	}
	err := os.Remove(r.path)
	r.release()
	return err
}

func (r *runFile) release() {
	_ = r.f.Close()
	_ = r.lock.Close()
}

// liveness is what the lock of a run file tells.
type liveness int

const (
	dead   liveness = iota // nobody holds it: the returned lock is ours
	alive                  // somebody does
	gone                   // there is no such file
	closed                 // we may not open it: somebody may hold it
)

// probe tests a run file without creating it. Only for a dead run it gives
// the exclusive lock, which the caller must close.
func probe(path string) (liveness, *flock.Flock, error) {
	l := flock.New(path, flock.SetFlag(os.O_RDWR))
	ok, err := l.TryRLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return gone, nil, nil
	case errors.Is(err, fs.ErrPermission):
		return closed, nil, err
	case err != nil:
		return closed, nil, err
	case !ok:
		return alive, nil, nil
	}
	_ = l.Close()
	l = flock.New(path, flock.SetFlag(os.O_RDWR))
	ok, err = l.TryLock()
	if err != nil || !ok {
		return alive, nil, nil // another recovery is at it
	}
	if !sameFile(l, path) {
		_ = l.Close()
		return alive, nil, nil // it has just ended
	}
	return dead, l, nil
}
