package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"runner/ledger"
)

// Inspection is what recovering would find: nothing was changed by looking.
type Inspection struct {
	Alive     []ledger.Run
	Dead      []DeadRun
	Closed    []ClosedRun // count as alive: their files may not be opened
	Foreign   []ForeignFile
	Unread    []string // run files that no run of this ledger needs, and that may not be opened
	Survivors []Survivor
	Leftovers []Leftover
}

// DeadRun is a run that died, with the number of records that it holds.
type DeadRun struct {
	ledger.Run
	Claims int64
}

// ForeignFile is a run file of another ledger.
type ForeignFile struct {
	Path, RunID string
	Live        bool // that ledger was replaced under a live run
}

// Inspect looks at the runs that have not ended and at what is left of them.
// It settles nothing, makes no file and removes none.
func Inspect(ctx context.Context, led *ledger.Ledger, runsDir string) (in Inspection, err error) {
	r := newRecoverer(led, runsDir, thisHost(), "")
	runs, err := led.OpenRuns(ctx)
	if err != nil {
		return in, err
	}
	open := map[string]bool{}
	for _, run := range runs {
		open[run.ID] = true
		if err := r.inspect(ctx, run, &in); err != nil {
			return in, err
		}
	}
	slices.SortFunc(in.Survivors, func(a, b Survivor) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.RecordID, b.RecordID))
	})
	slices.SortFunc(in.Leftovers, func(a, b Leftover) int { return cmp.Compare(a.PID, b.PID) })
	return in, r.strangers(ctx, open, &in)
}

func (r *recoverer) inspect(ctx context.Context, run ledger.Run, in *Inspection) error {
	live, err := r.look(&run)
	switch live {
	case alive:
		in.Alive = append(in.Alive, run)
		return nil
	case closed:
		in.Closed = append(in.Closed, ClosedRun{run, err, ownerOf(run.File)})
		return nil
	}
	if h, ok, err := readHead(run.File); live == dead && err == nil && ok && h.Ledger != r.ledgerID {
		return nil // told as a stranger's
	}
	g := &grave{run: run, live: live, watched: r.leases != nil}
	if err := json.Unmarshal(run.Definition, &g.def); err != nil {
		return err
	}
	over, err := r.exhume(ctx, g)
	if err != nil || over {
		return err
	}
	_, survivors, leftovers := r.judge(g)
	in.Survivors = append(in.Survivors, survivors...)
	in.Leftovers = append(in.Leftovers, leftovers...)
	in.Dead = append(in.Dead, DeadRun{run, int64(len(g.claims))})
	return nil
}

// look tells whether a run seems alive, and where its file lies.
func (r *recoverer) look(run *ledger.Run) (liveness, error) {
	if r.leases == nil {
		run.File = runPath(*run, r.dir)
		return peek(run.File)
	}
	live := gone
	if r.host.is(*run) {
		live, _ = peek(run.File)
	}
	switch {
	case live != dead && r.led.Now().Before(run.LeaseUntil):
		return alive, nil
	case live != dead:
		return gone, nil
	}
	return dead, nil
}

// exhume reads what a dead run holds and what its journal says of that. over
// tells that the run has just ended by itself, or was recovered from.
func (r *recoverer) exhume(ctx context.Context, g *grave) (over bool, err error) {
	if err := r.claimsOf(ctx, g); err != nil {
		return false, err
	}
	if g.live == dead {
		r.replayed[g.run.ID] = true // what ended besides is left for recovery to replay
		err = r.readJournal(ctx, g, &Recovery{})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	runs, err := r.led.OpenRuns(ctx)
	for _, run := range runs {
		if run.ID == g.run.ID {
			return false, err
		}
	}
	return true, err
}

// strangers looks at the run files that no open run of this ledger needs.
func (r *recoverer) strangers(ctx context.Context, open map[string]bool, in *Inspection) error {
	files, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // there is none, or the rights of the folder are told elsewhere
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.IsDir() || strings.HasPrefix(f.Name(), ".") { // being made at this moment
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(r.dir, f.Name())
		h, ok, err := readHead(path)
		switch {
		case errors.Is(err, fs.ErrPermission) && !open[f.Name()]:
			in.Unread = append(in.Unread, path)
		case err == nil && ok && h.Ledger != r.ledgerID && r.leases == nil:
			live, _ := peek(path)
			in.Foreign = append(in.Foreign, ForeignFile{path, h.Run, live == alive})
		}
	}
	return nil
}

// peek is probe without a lock to keep: it asks for a shared one and lets it
// go at once.
func peek(path string) (liveness, error) {
	l := flock.New(path, flock.SetFlag(os.O_RDWR))
	ok, err := l.TryRLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return gone, nil
	case err != nil:
		return closed, err
	case !ok:
		return alive, nil
	}
	_ = l.Close()
	return dead, nil
}
