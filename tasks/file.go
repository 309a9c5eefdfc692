package tasks

import (
	"fmt"
	"time"

	"runner/tasks/internal/decode"
)

// configFile is runner.yaml as it is written.
type configFile struct {
	Ledger       string               `yaml:"ledger"`
	Namespace    string               `yaml:"namespace"`
	CreateLedger bool                 `yaml:"create_ledger"`
	TimeZone     string               `yaml:"timezone"`
	Tasks        decode.Map[taskFile] `yaml:"tasks"`
}

// taskFile is one task of it. The value of each kind of action lies in the
// field of that name.
type taskFile struct {
	Description string             `yaml:"description"`
	Records     recordsFile        `yaml:"records"`
	Run         []string           `yaml:"run"`
	Shell       string             `yaml:"shell"`
	Go          string             `yaml:"go"`
	Env         decode.Map[string] `yaml:"env"`
	Dir         string             `yaml:"dir"`
	Stdin       string             `yaml:"stdin"`
	Idempotent  bool               `yaml:"idempotent"`
	Jobs        int                `yaml:"jobs"`
	Timeout     Duration           `yaml:"timeout"`
	Retry       retryFile          `yaml:"retry"`
	ExitCodes   exitCodesFile      `yaml:"exit_codes"`
	KeepOutput  string             `yaml:"keep_output"`
	Secrets     []string           `yaml:"secrets"`
	AllowEmpty  bool               `yaml:"allow_empty"`
}

type recordsFile struct {
	Lines string           `yaml:"lines"`
	CSV   string           `yaml:"csv"`
	BizID decode.OneOrMany `yaml:"biz_id"`
}

type retryFile struct {
	Attempts   int      `yaml:"attempts"`
	Backoff    Duration `yaml:"backoff"`
	MaxBackoff Duration `yaml:"max_backoff"`
}

type exitCodesFile struct {
	Noop      []int `yaml:"noop"`
	Permanent []int `yaml:"permanent"`
}

// Duration is a length of time that isn't negative, written as 30s or 1h30m.
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	switch {
	case err != nil:
		return fmt.Errorf("wants a duration such as 30s, 5m or 1h30m, not %q", b)
	case v < 0:
		return fmt.Errorf("is negative: %s", b)
	}
	*d = Duration(v)
	return nil
}
