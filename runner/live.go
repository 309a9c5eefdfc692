package runner

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"runner/ledger"
)

// Live tells whether a run is alive: whether somebody holds the lock of its
// run file. It makes and changes nothing, and needs no right to write. A file
// that may not be opened counts as held. A run that has just ended looks dead
// too: who is told so reads its row again. A run on a shared ledger is alive
// until its lease runs out, or until it has died here.
func Live(run ledger.Run, runsDir string, now time.Time) bool {
	if !run.LeaseUntil.IsZero() {
		died := thisHost().is(run) && exists(run.File) && !locked(run.File)
		return !died && now.Before(run.LeaseUntil)
	}
	return locked(runPath(run, runsDir))
}

// locked tells whether somebody holds a run file, for all that can be seen.
func locked(path string) bool {
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := l.TryRLock()
	if err == nil && free {
		_ = l.Close()
	}
	return !free && !errors.Is(err, fs.ErrNotExist)
}

// runPath is where the file of a run lies. Another container may see the same
// folder at another path.
func runPath(run ledger.Run, runsDir string) string {
	if beside := filepath.Join(runsDir, run.ID); !exists(run.File) && exists(beside) {
		return beside
	}
	return run.File
}

// paceTail is how much of a journal is read for the pace of its run.
const paceTail = 1 << 18

// Pace is how many attempts of a live run have ended a second lately, by the
// end of its journal; 0 if that isn't known.
func Pace(run ledger.Run, runsDir string, now time.Time) float64 {
	f, err := os.Open(runPath(run, runsDir))
	if err != nil {
		return 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	from := max(info.Size()-paceTail, journalStart)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return 0
	}
	var since time.Time
	ends := 0
	for b := range bytes.Lines(text) {
		var l line
		if decodeLine(b, &l) != nil {
			continue // the head, or half a line
		}
		var at time.Time
		switch {
		case l.Start != nil:
			at = micro(l.Start.At)
		case l.End != nil:
			at = micro(l.End.EndedAt)
			ends++
		default:
			continue
		}
		if since.IsZero() || at.Before(since) {
			since = at
		}
	}
	if took := now.Sub(since).Seconds(); ends > 0 && took > 0 {
		return float64(ends) / took
	}
	return 0
}
