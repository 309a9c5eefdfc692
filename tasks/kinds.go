package tasks

import (
	"encoding/json"

	"runner/runner"
	"runner/tasks/internal/output"
)

// kinds lists what a task can do for a record. To add a kind: a field in
// taskFile, a file kind_*.go, and a line here.
var kinds = []kind{runKind, shellKind, goKind, httpKind, sqlKind}

// kind is one way to do something for a record.
type kind struct {
	name string // its key in runner.yaml, and in stored definitions
	// value gives the field of the task that holds it.
	value func(f *taskFile) any
	// check reports what is wrong with the task, and gives its spec.
	check func(c *checker, f *taskFile) spec
	// stored is the inverse of spec.masked, as JSON.
	stored func(text json.RawMessage) (spec, error)
	// probe makes a check or a compensation of it, with what the key holds;
	// nil: it can't be one.
	probe *probeKind
	// lingers tells that an effect may still appear when an attempt has ended
	// without one: check_after is then the timeout, unless the task says it.
	lingers bool
}

// spec says what an action does. It is plain data.
type spec interface {
	// action makes the action; nothing is looked up before its Prepare.
	action(s surroundings) runner.Action
	// masked gives what may be stored, and whether a secret was taken out.
	masked(m *output.Masker) (stored any, incomplete bool)
	// words says it for people, not masked, and the folder where it is done,
	// if that matters.
	words() (action, dir string)
}

// surroundings is what an action needs besides its spec and isn't stored.
type surroundings struct {
	env       []variablePair
	mask      *output.Masker
	namespace string
	jobs      int
}

// batched is a spec whose action does many records at once.
type batched interface {
	// workers is how many attempts must be under way for so many jobs.
	workers(jobs int) int
}

// guarded is a spec of what can tell by itself whether an attempt took effect.
type guarded interface {
	// guard makes the check for that; nil: it can't tell.
	guard() prober
}

// addressed is a spec with addresses of databases, in which there may be
// passwords.
type addressed interface {
	addresses() []string
}

func kindNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

func kindOf(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return nil
}
