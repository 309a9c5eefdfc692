package tasks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/output"
)

// maxJobs is far below the 10,000 threads at which Go gives up: each running
// command holds one.
const maxJobs = 4096

// variablePair is an environment variable that a task sets.
type variablePair struct{ name, value string }

// plan is what a task is built from, wherever its words come from.
type plan struct {
	name       string
	namespace  string
	timeZone   string
	policy     ledger.Policy
	flow       flow
	jobs       int
	allowEmpty bool
	kind       string
	spec       spec
	doubts     doubts
	env        []variablePair
	secrets    []string // names
	addresses  []string // of databases that records come from
}

// flow is how a run treats a task. It is no part of a definition.
type flow struct {
	maxFailures runner.Tolerance
	rate        float64
	overlap     runner.Overlap // empty: join
	maxWait     time.Duration  // 0: the default
}

func (p *plan) build(jobs int) (runner.Task, error) {
	if jobs = p.parallel(jobs); jobs < 1 || jobs > maxJobs {
		return runner.Task{}, fmt.Errorf("jobs must be 1 to %d, not %d", maxJobs, jobs)
	}
	mask := p.masker()
	def, err := p.definition(mask)
	if err != nil {
		return runner.Task{}, err
	}
	return p.task(jobs, mask, def), nil
}

// parallel gives the number of jobs: that which is asked for, else its own,
// else that of the CPUs.
func (p *plan) parallel(asked int) int {
	cpus := min(runtime.GOMAXPROCS(0), maxJobs) // heeds the limits of containers
	return cmp.Or(asked, p.jobs, cpus)
}

func (p *plan) task(jobs int, mask *output.Masker, def runner.Definition) runner.Task {
	sur := surroundings{env: p.env, mask: mask, namespace: p.namespace, jobs: jobs}
	if b, ok := p.spec.(batched); ok {
		jobs = min(b.workers(jobs), maxJobs)
	}
	t := runner.Task{
		Name: p.name, Namespace: p.namespace, Policy: p.policy, Jobs: jobs, AllowEmpty: p.allowEmpty,
		Action:      p.spec.action(sur),
		Definition:  def,
		MaxFailures: p.flow.maxFailures, Rate: p.flow.rate,
		Overlap: cmp.Or(p.flow.overlap, runner.Join), MaxWait: cmp.Or(p.flow.maxWait, runner.MaxWait),
	}
	p.doubts.actions(&t, sur)
	return t
}

// masker knows the values of the task's secrets, and the passwords in addresses
// of databases. One that isn't set has none.
func (p *plan) masker() *output.Masker {
	var values []string
	for _, name := range p.secrets {
		value := os.Getenv(name)
		for _, v := range p.env {
			if v.name == name {
				value = v.value
			}
		}
		values = append(values, value)
	}
	for _, a := range p.allAddresses() {
		values = append(values, addressSecrets(a)...)
	}
	return output.NewMasker(values)
}

func (p *plan) definition(mask *output.Masker) (runner.Definition, error) {
	stored, incomplete := p.spec.masked(mask)
	action, err := json.Marshal(stored)
	if err != nil {
		return runner.Definition{}, fmt.Errorf("task %s: %w", p.name, err)
	}
	d := runner.Definition{
		Kind: p.kind, Action: action, Policy: p.policy, Namespace: p.namespace,
		TimeZone: p.timeZone, Secrets: p.secrets, Incomplete: incomplete,
	}
	if err := p.doubts.store(&d, mask); err != nil {
		return d, fmt.Errorf("task %s: %w", p.name, err)
	}
	for _, v := range p.env {
		d.Env = append(d.Env, v.name)
	}
	return d, nil
}
