package cmd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"

	"runner/ledger"
	"runner/ledger/archive"
	"runner/ledger/postgres"
	"runner/runner"
)

// sealedJob is a job on a batch whose records are archived: what it asks for is
// there, or it can't be done.
type sealedJob struct {
	batch ledger.Batch
	sum   runner.Summary
	err   error
}

// folder is where archives of the ledger lie; to is another place for new ones.
// On PostgreSQL --run-dir doesn't move it: run files are of one host, archives of
// all.
func (a *app) folder(where located, to string) (*archive.Folder, error) {
	home := where.ledger + ".archive"
	shared := postgres.Is(where.ledger)
	if shared {
		dir := ""
		if where.config != nil {
			dir = where.config.Dir
		}
		var err error
		if home, err = a.absolute(filepath.Join(dir, defaultArchive), ""); err != nil {
			return nil, err
		}
	} else if p, err := filepath.EvalSymlinks(where.ledger); err == nil {
		home = p + ".archive"
	}
	dir, err := a.absolute(to, home)
	return &archive.Folder{Dir: dir, Home: home, Version: programVersion(), Shared: shared}, err
}

// restoreLine is the command that brings a batch back.
func restoreLine(task, date string) string {
	return "runner ledger restore " + shellWord(task) + " --date " + date
}

// lookSealed finds the jobs whose batches are sealed. If one of them asks for
// records that were never there, nothing of all is executed.
func (a *app) lookSealed(ctx context.Context, where located, led *ledger.Ledger, jobs []job) ([]job, error) {
	jobs = slices.Clone(jobs)
	unfit := false
	for i := range jobs {
		j := &jobs[i]
		if j.source == nil || len(j.blocked) > 0 {
			continue
		}
		b, err := batchOf(ctx, led, j.task.Name, j.date)
		if err != nil {
			return nil, err
		}
		if b.Sealed() {
			j.sealed = a.matchSealed(ctx, where, led, *j, b)
			unfit = unfit || j.sealed.err != nil
		}
	}
	if unfit {
		jobs = slices.DeleteFunc(jobs, func(j job) bool { return j.sealed == nil })
	}
	return jobs, nil
}

// batchOf gives a batch; one without a number if there is none.
func batchOf(ctx context.Context, led *ledger.Ledger, task, date string) (b ledger.Batch, err error) {
	err = led.Store().View(ctx, func(r ledger.Reader) (err error) {
		if b, err = r.Batch(task, date); errors.Is(err, ledger.ErrNotFound) {
			err = nil
		}
		return err
	})
	return b, err
}

// matchSealed looks the records of a job up in the archive of its batch.
func (a *app) matchSealed(ctx context.Context, where located, led *ledger.Ledger, j job, b ledger.Batch) *sealedJob {
	s := &sealedJob{batch: b, sum: runner.Summary{
		TaskName: j.task.Name, ExecuteDate: j.date, TimeZone: where.zoneName, Result: runner.Complete, StartedAt: a.now().UTC(),
	}}
	scope, err := a.matchArchive(ctx, where, led, j, b)
	if err == nil { // else nothing is known of them
		s.sum.Planned, s.sum.Counts, s.sum.Duplicates = scope.Counts.Total()+scope.Missing, scope.Counts, scope.Repeats
		s.sum.AlreadyDone, s.sum.Absent = scope.Counts[ledger.Done], b.Counts.Total()-scope.Counts.Total()
	}
	s.sum.EndedAt = a.now().UTC()
	sealed := &ledger.SealedError{Batch: b}
	back := restoreLine(b.TaskName, b.ExecuteDate)
	switch {
	case err != nil:
		s.err = withHint(where.lostArchive(b, err), "nothing was executed, for whether those asked for were done can't be told; make the file readable, or bring it back and do: %s", back)
	case scope.Missing > 0:
		names := someOf(scope.Unknown)
		if scope.Missing > int64(len(scope.Unknown)) {
			names = someOf(scope.Unknown[:min(len(scope.Unknown), maxTold)]) + fmt.Sprintf(" and %d more", scope.Missing-int64(len(scope.Unknown)))
		}
		s.err = withHint(usagef("%w, and %s of the input never belonged to it: %s", sealed, plural(scope.Missing, "record"), names),
			"nothing was executed; %s brings the batch back, then it can be run", back)
	}
	s.fail(s.err)
	return s
}

// fail makes an error, if it is one, the result of a sealed job.
func (s *sealedJob) fail(err error) {
	if err == nil {
		return
	}
	s.err, s.sum.Error, s.sum.Result = err, err.Error(), runner.Invalid
	if codeOfError(err) == exitLedger {
		s.sum.Result = runner.LedgerError
	}
}

// lostArchive is the error of a command that needs the archive of a batch.
// The file is part of what the ledger promised: without it the ledger can't be
// used, and nothing is wrong with the command.
func (l located) lostArchive(b ledger.Batch, err error) error {
	var file *archive.FileError
	if !errors.As(err, &file) {
		return err
	}
	return &ledger.UnusableError{Path: l.shown(), Why: (&ledger.SealedError{Batch: b}).Error(), Err: err,
		Hint: "make the file readable; " + restoreLine(b.TaskName, b.ExecuteDate) + " --from FILE brings the batch back"}
}

func (a *app) matchArchive(ctx context.Context, where located, led *ledger.Ledger, j job, b ledger.Batch) (s archive.Scope, err error) {
	d, err := a.folder(where, "")
	if err != nil {
		return s, err
	}
	f, err := d.Open(led, b)
	if err != nil {
		return s, err
	}
	defer f.Close()
	return f.Match(idsOf(ctx, j.source))
}

func idsOf(ctx context.Context, src runner.Source) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for item, err := range src.Records() {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(item.BizID, err) || err != nil {
				return
			}
		}
	}
}

// addSealed reports a job of which nothing is executed.
func (r *batchRun) addSealed(ctx context.Context, j job, s *sealedJob) {
	records, err := r.archivedRecords(ctx, j, s)
	if s.err == nil {
		s.fail(r.where.lostArchive(s.batch, err))
	}
	r.add(s.sum, newSummary(s.sum, records), facts(s.sum, nil))
	r.ends = append(r.ends, func() {
		if s.err != nil {
			r.p.fail(s.err)
			return
		}
		r.p.note("%s", sealedNote(s.sum))
	})
}

// archivedRecords are those that were asked for by name, as they were archived.
func (r *batchRun) archivedRecords(ctx context.Context, j job, s *sealedJob) ([]recordJSON, error) {
	if len(r.o.show) == 0 || s.err != nil {
		return nil, nil
	}
	d, err := r.folder(r.where, "")
	if err != nil {
		return nil, err
	}
	f, err := d.Open(r.led, s.batch)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows := []recordJSON{}
	for it, err := range f.Items() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if slices.Contains(r.o.show, it.Entry.BizID) {
			rows = append(rows, newRecord(it.Entry, j.task.Namespace))
		}
	}
	return rows, nil
}

func sealedNote(s runner.Summary) string {
	return fmt.Sprintf("%s %s is sealed: its records are archived; all %d asked for are among them, and nothing was executed", s.TaskName, s.ExecuteDate, s.Planned)
}

// saySealed tells of records that a listing can't show, because they are
// archived.
func (a *app) saySealed(ctx context.Context, led *ledger.Ledger, task, date string) error {
	batches, err := led.Batches(ctx, task, date, date)
	if err != nil {
		return err
	}
	batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool { return !b.Sealed() || task != "" && b.TaskName != task })
	if len(batches) == 0 {
		return nil
	}
	var n int64
	for _, b := range batches {
		n += b.Counts.Total()
	}
	first := batches[0]
	a.p.note("%s of %s archived, and not listed: %s brings one back", plural(n, "record"), sealedWords(len(batches)), restoreLine(first.TaskName, first.ExecuteDate))
	return nil
}

func sealedWords(n int) string {
	if n == 1 {
		return "a sealed batch are"
	}
	return fmt.Sprintf("%d sealed batches are", n)
}

// archivedStory looks for a record in the archive of its batch.
func (a *app) archivedStory(ctx context.Context, where located, led *ledger.Ledger, k ledger.Key) (e ledger.Entry, story []ledger.Attempt, err error) {
	b, err := batchOf(ctx, led, k.TaskName, k.ExecuteDate)
	if err != nil {
		return e, nil, err
	}
	if !b.Sealed() {
		return e, nil, ledger.ErrNotFound
	}
	d, err := a.folder(where, "")
	if err != nil {
		return e, nil, err
	}
	f, err := d.Open(led, b)
	if err != nil {
		return e, nil, where.lostArchive(b, err)
	}
	defer f.Close()
	for it, err := range f.Items() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return e, nil, where.lostArchive(b, err)
		}
		if it.Entry.BizID == k.BizID {
			a.p.note("%s %s is sealed: this is from its archive, %s", b.TaskName, b.ExecuteDate, d.Path(b))
			return it.Entry, ledger.Told(it.Entry, it.Story), nil
		}
	}
	return e, nil, ledger.ErrNotFound
}
