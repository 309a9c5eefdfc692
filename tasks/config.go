package tasks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // time zones must not depend on the host

	"runner/tasks/internal/decode"
)

// Config is what a runner.yaml says.
type Config struct {
	Path         string // absolute
	Dir          string // its folder
	Ledger       string // environment expanded, path absolute; empty: the default
	CreateLedger bool
	Lease        time.Duration // of runs on a shared ledger; 0: the default
	Namespace    string
	TimeZone     string // name
	Tasks        []*Task
}

// Load reads a runner.yaml. Its error is a *ConfigError with all mistakes, or
// that of reading the file.
func Load(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	f := configFile{CreateLedger: true}
	doc := decode.Decode(text, &f)
	c := &checker{doc: doc, dir: filepath.Dir(abs)}
	var conf *Config
	if doc.Decoded() {
		conf = c.config(&f, abs)
	}
	if problems := doc.Problems(); len(problems) > 0 {
		e := &ConfigError{}
		for _, p := range problems {
			e.Problems = append(e.Problems, Problem{File: path, Line: p.Line, Column: p.Column, Msg: p.Msg, Hint: p.Hint})
		}
		return nil, e
	}
	return conf, nil
}

// Task gives the task of a name.
func (c *Config) Task(name string) (*Task, error) {
	names := make([]string, len(c.Tasks))
	for i, t := range c.Tasks {
		if t.Name == name {
			return t, nil
		}
		names[i] = t.Name
	}
	e := &HintError{
		Msg:  fmt.Sprintf("there is no task %q in %s", name, c.Path),
		Hint: "its tasks are " + strings.Join(names, ", "),
	}
	if near := decode.Nearest(name, names); near != "" {
		e.Msg += fmt.Sprintf(", did you mean %q?", near)
	}
	return nil, e
}

var variable = regexp.MustCompile(`\$\{([^}]*)(\}?)`)

// expand replaces ${NAME} by the value of that environment variable.
func expand(s string) (string, error) { return expandTelling(s, func(string) {}) }

// expandTelling is expand that tells each value.
func expandTelling(s string, tell func(value string)) (string, error) {
	var errs []error
	out := variable.ReplaceAllStringFunc(s, func(m string) string {
		parts := variable.FindStringSubmatch(m)
		value, ok := os.LookupEnv(parts[1])
		switch {
		case parts[2] == "":
			errs = append(errs, fmt.Errorf("%q has no closing brace", m))
		case !ok:
			errs = append(errs, &HintError{
				Msg:  fmt.Sprintf("environment variable %q is not set", parts[1]),
				Hint: "set it where runner is started: cron and CI pass on few variables",
			})
		default:
			tell(value)
		}
		return value
	})
	return out, errors.Join(errs...)
}

// absolute makes a path of the configuration independent of the working
// directory.
func absolute(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
