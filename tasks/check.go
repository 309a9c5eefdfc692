package tasks

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/decode"
)

// checker finds what is wrong with a configuration beyond its form, and makes
// tasks of it. It goes on after a mistake, so that all are told at once.
type checker struct {
	doc *decode.Document
	dir string // of the configuration
	// databases are addresses by name, as they are written.
	databases map[string]string
}

func (c *checker) config(f *configFile, path string) *Config {
	conf := &Config{
		Path: path, Dir: c.dir, CreateLedger: f.CreateLedger,
		Namespace: f.Namespace, TimeZone: f.TimeZone, Ledger: c.ledger(f), Lease: time.Duration(f.Lease),
	}
	if err := runner.CheckLease(conf.Lease); c.doc.Has(&f.Lease) && err != nil {
		c.doc.Report(err.Error(), "", &f.Lease)
	}
	loc := c.zone(f)
	if conf.TimeZone == "" {
		conf.TimeZone = ZoneName(time.Local)
	}
	if len(f.Tasks) == 0 {
		c.doc.Report("there are no tasks", "add one under tasks:, see runner init", &f.Tasks, f)
	}
	c.takeDatabases(f)
	for i := range f.Tasks {
		p := &f.Tasks[i]
		if err := ledger.CheckTaskName(p.Key); err != nil {
			c.doc.Report(err.Error(), "", &p.Key)
		}
		t := c.task(p.Key, &p.Value)
		t.Location = loc
		t.plan.namespace, t.plan.timeZone = conf.Namespace, conf.TimeZone
		conf.Tasks = append(conf.Tasks, t)
	}
	c.needs(f, conf.Tasks)
	return conf
}

func (c *checker) ledger(f *configFile) string {
	s, err := expand(f.Ledger)
	switch {
	case err != nil:
		c.report(err, &f.Ledger)
	case s == "" && c.doc.Has(&f.Ledger):
		c.doc.Report(`"ledger" is empty`, "leave it out for the default", &f.Ledger)
	case strings.Contains(s, "://"):
		return s
	}
	return absolute(c.dir, s)
}

func (c *checker) zone(f *configFile) *time.Location {
	if !c.doc.Has(&f.TimeZone) {
		return time.Local
	}
	loc, err := time.LoadLocation(f.TimeZone)
	if err != nil || f.TimeZone == "" || f.TimeZone == "Local" {
		c.doc.Report(fmt.Sprintf("%q is no time zone", f.TimeZone), "use a name such as Asia/Shanghai or UTC", &f.TimeZone)
		return time.Local
	}
	return loc
}

// report reports each line of an error.
func (c *checker) report(err error, ptrs ...any) {
	var h *HintError
	hint := ""
	if errors.As(err, &h) {
		hint = h.Hint
	}
	for line := range strings.Lines(err.Error()) {
		c.doc.Report(strings.TrimSuffix(line, "\n"), hint, ptrs...)
	}
}

func (c *checker) task(name string, f *taskFile) *Task {
	t := &Task{Name: name, Description: f.Description, records: f.Records, dir: c.dir, databases: c.databases, HasRecords: c.doc.Has(&f.Records)}
	t.plan = plan{name: name, policy: c.policy(f), flow: c.flow(f), jobs: f.Jobs, allowEmpty: f.AllowEmpty, secrets: f.Secrets}
	c.choices(f)
	c.jobs(f)
	if t.HasRecords {
		t.source = c.records(&f.Records)
	}
	if c.doc.Has(&f.Records.SQL) {
		t.plan.addresses = []string{t.address(f.Records.SQL.Database)}
	}
	for i, s := range f.Secrets {
		if !validEnvName(s) {
			c.doc.Report(fmt.Sprintf("%q can't name an environment variable", s), "secrets are named, never written here", &f.Secrets[i])
		}
	}
	t.Schedule, t.hooks, t.Keep = c.schedule(f), c.hooks(f), int(f.Keep)
	c.kind(f, &t.plan)
	c.doubts(f, &t.plan)
	for i := range f.Env {
		p := &f.Env[i]
		c.env(p)
		t.plan.env = append(t.plan.env, variablePair{p.Key, p.Value})
	}
	return t
}

// kind finds the one action of a task.
func (c *checker) kind(f *taskFile, p *plan) {
	var given []string
	for _, k := range kinds {
		ptr := k.value(f)
		if !c.doc.Has(ptr) {
			continue
		}
		given = append(given, k.name)
		if len(given) > 1 {
			c.doc.Report(fmt.Sprintf("%q and %q exclude each other", given[0], k.name), "a task does one thing; write two tasks", ptr)
			continue
		}
		p.kind, p.spec = k.name, k.check(c, f)
	}
	if len(given) == 0 {
		c.doc.Report("nothing to do: give one of "+strings.Join(kindNames(), ", "), "", f)
	}
}

func (c *checker) jobs(f *taskFile) {
	if c.doc.Has(&f.Jobs) && (f.Jobs < 1 || f.Jobs > maxJobs) {
		c.doc.Report(fmt.Sprintf(`"jobs" must be 1 to %d, not %d`, maxJobs, f.Jobs), "", &f.Jobs)
	}
}

func (c *checker) policy(f *taskFile) ledger.Policy {
	p := ledger.DefaultPolicy()
	p.Idempotent = f.Idempotent
	if c.doc.Has(&f.Timeout) {
		p.Timeout = time.Duration(f.Timeout)
	}
	r := &f.Retry
	if c.doc.Has(&r.Attempts) {
		if p.Attempts = r.Attempts; r.Attempts < 1 {
			c.doc.Report(fmt.Sprintf(`"attempts" must be at least 1, not %d`, r.Attempts), "the first start counts too", &r.Attempts)
		}
	}
	if c.doc.Has(&r.Backoff) {
		p.Backoff = time.Duration(r.Backoff)
		p.MaxBackoff = max(p.MaxBackoff, p.Backoff)
	}
	if c.doc.Has(&r.MaxBackoff) {
		if p.MaxBackoff = time.Duration(r.MaxBackoff); p.MaxBackoff < p.Backoff {
			c.doc.Report(fmt.Sprintf(`"max_backoff" is shorter than the backoff of %s`, p.Backoff), "", &r.MaxBackoff)
		}
	}
	if c.doc.Has(&r.MaxLater) {
		p.MaxLater = time.Duration(r.MaxLater)
	}
	return p
}

// flow takes what isn't part of a definition.
func (c *checker) flow(f *taskFile) flow {
	w := flow{maxFailures: runner.Tolerance(f.MaxFailures), rate: float64(f.Rate), overlap: runner.Overlap(f.Overlap)}
	if c.doc.Has(&f.MaxWait) {
		w.maxWait = max(time.Duration(f.MaxWait), 1) // 0 would be the default
	}
	return w
}

// choices reports the words of a section that aren't allowed.
func (c *checker) choices(section any) {
	v := reflect.ValueOf(section).Elem()
	for i := range v.NumField() {
		p, ok := v.Field(i).Addr().Interface().(*choice)
		if !ok || !c.doc.Has(p) {
			continue
		}
		f := v.Type().Field(i)
		if allowed := choicesOf(f); !slices.Contains(allowed, string(*p)) {
			c.doc.Report(fmt.Sprintf("%q can be %s, not %q", f.Tag.Get("yaml"), strings.Join(allowed, ", "), *p), "", p)
		}
	}
}

func (c *checker) path(p *string) {
	if !c.doc.Has(p) {
		return
	}
	if *p == "" {
		c.doc.Report("the path is empty", "", p)
	}
	if _, err := renderPath(*p, "2006-01-02"); err != nil {
		c.doc.Report(err.Error(), "a path may hold {{.execute_date}}", p)
	}
}

func (c *checker) env(p *decode.Pair[string]) {
	switch {
	case !validEnvName(p.Key):
		c.doc.Report(fmt.Sprintf("%q can't name an environment variable", p.Key), "", &p.Key)
	case isRecordVariable(p.Key):
		c.doc.Report(fmt.Sprintf("%s is set by runner for each record", p.Key), "take another name", &p.Key)
	}
}

func validEnvName(s string) bool { return s != "" && !strings.ContainsAny(s, "=\x00") }
