package tasks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"runner/runner"
	"runner/tasks/internal/output"
)

// Info is a task in words, for people and scripts. It holds names of secrets
// and environment variables, never values; durations are written as in
// runner.yaml.
type Info struct {
	Name        string    `json:"task_name"`
	Description string    `json:"description"`
	Kind        string    `json:"kind"`
	Action      string    `json:"action"` // the command, masked
	Source      string    `json:"source"` // in words
	BizID       []string  `json:"biz_id"` // what names a record; empty: the source itself does
	TimeZone    string    `json:"time_zone"`
	Dir         string    `json:"dir"` // of the command; empty: it is no command
	Jobs        int       `json:"jobs"`
	Timeout     string    `json:"timeout"` // 0s: none
	Retry       RetryInfo `json:"retry"`
	Idempotent  bool      `json:"idempotent"`
	AllowEmpty  bool      `json:"allow_empty"`
	Check       DoubtInfo `json:"check"`
	Compensate  DoubtInfo `json:"compensate"`
	CheckAfter  string    `json:"check_after"` // empty: there is no check
	CheckFirst  bool      `json:"check_first"`
	Rate        string    `json:"rate"`         // empty: no limit
	MaxFailures string    `json:"max_failures"` // empty: no limit
	Overlap     string    `json:"overlap"`
	MaxWait     string    `json:"max_wait"`
	Secrets     []string  `json:"secrets"`
	Env         []string  `json:"env"`
	Needs       []string  `json:"needs"`
	Schedule    string    `json:"schedule"`   // empty: none
	OnFailure   string    `json:"on_failure"` // the command, masked; empty: none
	OnSuccess   string    `json:"on_success"`
	HookTimeout string    `json:"hook_timeout"` // empty: there is no hook
	Keep        string    `json:"keep"`         // empty: for ever
}

// DoubtInfo is a check or a compensation; both empty if there is none.
type DoubtInfo struct {
	Action  string `json:"action"` // the command, masked
	Timeout string `json:"timeout"`
}

// RetryInfo says how failed records are tried again.
type RetryInfo struct {
	Attempts   int    `json:"attempts"`
	Backoff    string `json:"backoff"`
	MaxBackoff string `json:"max_backoff"`
	MaxLater   string `json:"max_later"`
}

// Info describes the task as its next run would take it.
func (t *Task) Info() Info {
	p, mask := &t.plan, t.plan.masker()
	i := Info{
		Name: t.Name, Description: t.Description, Kind: p.kind, TimeZone: p.timeZone,
		Source: "one record a date", BizID: []string{}, Jobs: p.parallel(0),
		Timeout: durationText(p.policy.Timeout), Idempotent: p.policy.Idempotent, AllowEmpty: p.allowEmpty,
		Retry: RetryInfo{
			Attempts: p.policy.Attempts, Backoff: durationText(p.policy.Backoff),
			MaxBackoff: durationText(p.policy.MaxBackoff), MaxLater: durationText(p.policy.MaxLater),
		},
		MaxFailures: toleranceText(p.flow.maxFailures), Overlap: string(cmp.Or(p.flow.overlap, runner.Join)),
		MaxWait: durationText(cmp.Or(p.flow.maxWait, runner.MaxWait).Truncate(time.Microsecond)),
		Secrets: append([]string{}, p.secrets...), Env: []string{}, Needs: []string{},
		OnFailure: mask.String(strings.Join(t.hooks.failure, " ")), OnSuccess: mask.String(strings.Join(t.hooks.success, " ")),
	}
	t.addTimes(&i)
	if p.flow.rate > 0 {
		i.Rate = rateText(p.flow.rate)
	}
	i.Action, i.Dir = p.spec.words()
	i.Action = mask.String(i.Action)
	if t.source != nil {
		i.Source = mask.String(t.source.words(&t.records))
		i.BizID = t.bizIDNames()
	}
	i.Check = doubtInfo(p.doubts.check, p.policy.CheckTimeout, mask)
	i.Compensate = doubtInfo(p.doubts.compensate, p.policy.CompensateTimeout, mask)
	if i.CheckFirst = p.policy.CheckFirst; p.doubts.check != nil {
		i.CheckAfter = durationText(p.policy.CheckAfter)
	}
	for _, v := range p.env {
		i.Env = append(i.Env, v.name)
	}
	return i
}

// addTimes describes when the task should run, and what it waits for.
func (t *Task) addTimes(i *Info) {
	if i.OnFailure+i.OnSuccess != "" {
		i.HookTimeout = durationText(t.hooks.timeout)
	}
	for _, n := range t.Needs {
		i.Needs = append(i.Needs, n.String())
	}
	if s := t.Schedule; s != nil {
		i.Schedule = s.words()
	}
	if t.Keep > 0 {
		i.Keep = strconv.Itoa(t.Keep) + "d"
	}
}

func doubtInfo(p *probe, timeout time.Duration, mask *output.Masker) DoubtInfo {
	if p == nil {
		return DoubtInfo{}
	}
	action, _ := p.spec.words()
	return DoubtInfo{Action: mask.String(action), Timeout: durationText(timeout)}
}

// bizIDNames gives the columns or members that identify a record.
func (t *Task) bizIDNames() []string {
	switch f := t.source.format(&t.records); {
	case f != FormatCSV && f != FormatJSONL:
		return []string{}
	case len(t.records.BizID) == 0:
		return []string{defaultBizID}
	}
	return slices.Clone([]string(t.records.BizID))
}

// durationText writes a duration without the parts that are zero.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (s *commandSpec) words() (action, dir string) {
	if s.Script != "" {
		return s.Script, s.Dir
	}
	return strings.Join(s.Argv, " "), s.Dir
}

func (s goSpec) words() (action, dir string) { return s.Function, "" }
