package sqlaction

import (
	"context"
	"errors"
	"fmt"

	"runner/ledger"
	"runner/runner"
)

// errNeedsCare says that a group can't be done without savepoints.
var errNeedsCare = errors.New("a record of the group must be taken back by itself")

// needsCare tells whether records of a group need savepoints, and one
// statement depends on what another one found. Else all statements are sent
// at once, and only if one of them fails it is done with care.
func (a *Action) needsCare() bool { return len(a.more) > 0 || a.read != nil || a.state != nil }

// transaction does a group in one transaction, and sets the results. After an
// error nothing is committed, unless it is uncertain.
func (x *executor) transaction(ctx context.Context, group []*job, careful bool) (err error) {
	if err := x.s.begin(ctx, false); err != nil {
		return err
	}
	defer func() {
		if err != nil && !uncertain(err) {
			x.rollback()
		}
	}()
	todo := group
	if x.Guard {
		if todo, err = x.guards(ctx, group); err != nil {
			return fmt.Errorf("guard: %w", err)
		}
	}
	if careful {
		err = x.oneByOne(ctx, todo)
	} else {
		err = x.atOnce(ctx, todo)
	}
	if err != nil {
		return err
	}
	return x.commit(ctx, todo)
}

// rollback takes the transaction back, or else ends the connection.
func (x *executor) rollback() {
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	if x.s.control(ctx, "ROLLBACK") != nil {
		x.drop()
	}
}

// commit is not cut short by the end of an attempt: that would only make it
// uncertain.
func (x *executor) commit(ctx context.Context, todo []*job) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	kept := false
	for _, j := range todo {
		kept = kept || !j.final
	}
	if !kept {
		x.rollback()
		return nil
	}
	ctx, cancel := unlessKilled(todo[0].at.Kill, commitTime)
	defer cancel()
	if err := x.s.commit(ctx); err != nil {
		return err
	}
	for _, j := range todo {
		j.final = true
	}
	return nil
}

// guards inserts the guards, and gives the records whose guard wasn't there,
// unless it may have been removed.
func (x *executor) guards(ctx context.Context, group []*job) ([]*job, error) {
	keys := make([]guardKey, len(group))
	for i, j := range group {
		keys[i] = j.key
	}
	fresh, err := x.s.insertGuards(ctx, keys)
	if err != nil {
		return nil, err
	}
	var todo []*job
	for i, j := range group {
		if !fresh[i] {
			j.set(succeeded(ledger.DetailAlready))
			continue
		}
		gone, err := x.markers.hide(ctx, x.s, j.key)
		if err == nil && gone {
			err = x.s.deleteGuard(ctx, j.key)
		}
		switch {
		case err != nil:
			return nil, err
		case gone:
			j.set(runner.Result{Outcome: ledger.Unknown, Error: hidden(j.key)})
		default:
			todo = append(todo, j)
		}
	}
	return todo, nil
}

func succeeded(detail string) runner.Result {
	return runner.Result{Outcome: ledger.Succeeded, Detail: detail}
}

// atOnce executes the only statement for all records. Whatever is unusual
// about one of them needs care.
func (x *executor) atOnce(ctx context.Context, todo []*job) error {
	if len(todo) == 0 {
		return nil
	}
	args := make([][]any, len(todo))
	for i, j := range todo {
		var err error
		if args[i], err = j.bind(x.first); err != nil {
			return errNeedsCare
		}
	}
	counts, err := x.s.execAll(ctx, x.first, args)
	if err != nil {
		return err
	}
	for i, j := range todo {
		r := succeeded(ledger.DetailApplied)
		if x.first.counts() && counts[i] == 0 {
			if r.Detail = ledger.DetailNoop; x.OnNoRows != Noop && x.OnNoRows != "" {
				return errNeedsCare
			}
		}
		j.result = &r
	}
	return nil
}

// recordError fails a record without anything being wrong with the
// transaction.
type recordError struct {
	outcome ledger.Outcome
	err     error
}

func (e *recordError) Error() string { return e.err.Error() }
func (e *recordError) Unwrap() error { return e.err }

// oneByOne does records one after the other, in a group each under a
// savepoint: what fails is taken back, and the others stay.
func (x *executor) oneByOne(ctx context.Context, todo []*job) error {
	for _, j := range todo {
		if len(todo) == 1 {
			return x.only(ctx, j)
		}
		if err := x.s.control(ctx, "SAVEPOINT runner_record"); err != nil {
			return err
		}
		r, err := x.perform(ctx, j)
		switch {
		case err == nil:
			j.result = &r
		case !x.concerns(ctx, err):
			return err
		default:
			if err := x.takeBack(ctx, j); err != nil {
				return err
			}
			j.set(x.failure(err))
		}
		if err := x.s.control(ctx, "RELEASE SAVEPOINT runner_record"); err != nil {
			return err
		}
	}
	return nil
}

// only does the only record of a transaction, which is committed for it alone.
func (x *executor) only(ctx context.Context, j *job) error {
	r, err := x.perform(ctx, j)
	switch {
	case err == nil:
		j.result = &r
	case x.concerns(ctx, err):
		j.set(x.failure(err))
	default:
		return err
	}
	return nil
}

// concerns tells whether an error is that of a record, and not of the
// transaction or the connection.
func (x *executor) concerns(ctx context.Context, err error) bool {
	var r *recordError
	if errors.As(err, &r) {
		return true
	}
	class := x.db.class(err)
	return ctx.Err() == nil && (class == failed || class == unique)
}

// takeBack takes back what was done for a record, its guard too.
func (x *executor) takeBack(ctx context.Context, j *job) error {
	err := x.s.control(ctx, "ROLLBACK TO SAVEPOINT runner_record")
	if err == nil && x.Guard {
		err = x.s.deleteGuard(ctx, j.key)
	}
	return err
}

// failure is the result of a record whose error concerns it alone. Without a
// guard, a row that is there already is the effect of an earlier attempt.
func (x *executor) failure(err error) runner.Result {
	var r *recordError
	switch {
	case errors.As(err, &r):
		return runner.Result{Outcome: r.outcome, Error: err.Error()}
	case !x.Guard && x.db.class(err) == unique:
		return succeeded(ledger.DetailAlready)
	}
	return runner.Result{Outcome: ledger.FailedAttempt, Error: err.Error()}
}
