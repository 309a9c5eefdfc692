package sqlaction

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"runner/runner"
)

// GuardTable is the table of guards. A row in it is committed together with
// the effect that it stands for.
const GuardTable = "runner_effects"

// maxNamespace is the longest namespace that fits a guard, in bytes.
const maxNamespace = 255

// guardKey is the primary key of a guard.
type guardKey struct {
	namespace, task, bizID, date string
	generation                   int
}

func keyOf(namespace string, r *runner.Record) guardKey {
	return guardKey{namespace, r.TaskName, r.BizID, r.ExecuteDate, r.Generation}
}

func (k guardKey) compare(o guardKey) int {
	return cmp.Or(strings.Compare(k.namespace, o.namespace), strings.Compare(k.task, o.task),
		strings.Compare(k.bizID, o.bizID), strings.Compare(k.date, o.date), cmp.Compare(k.generation, o.generation))
}

func (k guardKey) args() []any { return []any{k.namespace, k.task, k.bizID, k.date, k.generation} }

const (
	guardColumns = "namespace, task_name, biz_id, execute_date, generation"
	lookAtGuards = "SELECT " + guardColumns + " FROM " + GuardTable + " WHERE 1 = 0"
)

// found gives which of the keys are in a set of those that were inserted.
func found(keys []guardKey, inserted map[guardKey]bool) []bool {
	fresh := make([]bool, len(keys))
	for i, k := range keys {
		fresh[i] = inserted[k]
	}
	return fresh
}

// applied asks the guards which effects are there. It inserts them again, for
// that waits for a transaction that still holds one, which a SELECT would not
// see; and takes that back.
func applied(ctx context.Context, db database, keys []guardKey) ([]bool, error) {
	var there []bool
	err := inTransaction(ctx, db, false, func(s session) error {
		fresh, err := s.insertGuards(ctx, keys)
		for _, f := range fresh {
			there = append(there, !f)
		}
		return err
	})
	return there, err
}

// GuardError says that guards can't be kept.
type GuardError struct{ Err error }

func (e *GuardError) Error() string {
	return fmt.Sprintf("the table %s can't be used, or made: %v", GuardTable, e.Err)
}
func (e *GuardError) Unwrap() error { return e.Err }

// tryGuards finds out before anything is done whether there is a table of
// guards, or one can be made.
func tryGuards(ctx context.Context, s session, namespace string) error {
	if len(namespace) > maxNamespace {
		return fmt.Errorf("the namespace has %d bytes, a guard takes %d", len(namespace), maxNamespace)
	}
	err := s.makeGuards(ctx, true)
	if err != nil {
		return &GuardError{err}
	}
	odd, err := s.untransactional(ctx, []string{GuardTable})
	if err == nil && slices.Contains(odd, GuardTable) {
		err = fmt.Errorf("the table %s takes part in no transaction, so it guards nothing", GuardTable)
	}
	return err
}
