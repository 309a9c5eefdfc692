package tasks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"runner/ledger"
	"runner/runner"
)

// probe is a check or a compensation.
type probe struct {
	kind string
	spec prober
}

// prober is a spec of what can also check and compensate.
type prober interface {
	spec
	// inPhase makes what acts in a phase. In ledger.Check it gives one of the
	// answers of a check, and ledger.Unclear where it can't tell.
	inPhase(ph ledger.Phase, s surroundings) runner.Action
}

// probeKind is a kind of action as a check or a compensation. How it is
// stored is that of the kind.
type probeKind struct {
	// value gives the field of the section that holds it.
	value func(f *probeFile) any
	// check reports what is wrong with it, and gives its spec.
	check func(c *checker, t *taskFile, key string, f *probeFile) prober
}

// probe finds the one kind of a check or a compensation.
func (c *checker) probe(key string, t *taskFile, f *probeFile) *probe {
	var p *probe
	for _, k := range kinds {
		switch {
		case k.probe == nil || !c.doc.Has(k.probe.value(f)):
		case p != nil:
			c.doc.Report(fmt.Sprintf("%q and %q exclude each other", p.kind, k.name), "", k.probe.value(f))
		default:
			p = &probe{k.name, k.probe.check(c, t, key, f)}
		}
	}
	if p == nil {
		c.doc.Report(fmt.Sprintf("%q needs one of %s", key, strings.Join(probeNames(), ", ")), "", f)
		p = &probe{runKind.name, &commandSpec{}}
	}
	return p
}

func probeNames() (names []string) {
	for _, k := range kinds {
		if k.probe != nil {
			names = append(names, k.name)
		}
	}
	return names
}

// probeCommand takes a command, which has folder, stdin and kept output of the
// action, and no exit codes to choose.
func (c *checker) probeCommand(t *taskFile, key string, argv *[]string) prober {
	s := c.command(t)
	s.Argv, s.Beside = *argv, true
	s.Noop, s.Permanent, s.Later = nil, nil, nil
	c.argv(key, argv)
	return s
}

// storedProbe is the inverse of what doubts.store stores of one. Without a
// kind it is a command.
func storedProbe(kind string, text json.RawMessage) (*probe, error) {
	kind = cmp.Or(kind, runKind.name)
	k := kindOf(kind)
	if k == nil || k.probe == nil {
		return nil, fmt.Errorf("the kind %q is unknown", kind)
	}
	s, err := k.stored(text)
	if err != nil {
		return nil, err
	}
	return &probe{kind, s.(prober)}, nil
}
