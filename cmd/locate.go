package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"runner/ledger"
	"runner/tasks"
)

const configName = "runner.yaml"

// errNoConfig says that no configuration was found.
var errNoConfig = withHint(usagef("there is no %s here or in a parent folder", configName),
	"runner init writes one, --config FILE names another one")

// located is where a command works: its configuration, ledger and zone.
type located struct {
	config   *tasks.Config // nil: there is none
	ledger   string        // path or address; for people see shown
	runsDir  string        // where run files lie, unless that is beside the ledger
	zone     *time.Location
	zoneName string
}

// lease is that of runs on a shared ledger; 0: the default.
func (l located) lease() time.Duration {
	if l.config == nil {
		return 0
	}
	return l.config.Lease
}

func (l located) namespace() string {
	if l.config == nil {
		return ""
	}
	return l.config.Namespace
}

// locate finds configuration and ledger. That there is no configuration is
// an error only if need is set.
func (a *app) locate(need bool) (located, error) {
	var l located
	c, err := a.loadConfig()
	switch {
	case err == nil:
		l.config = c
	case need || !errors.Is(err, errNoConfig):
		return l, err
	}
	if l.ledger, l.runsDir, err = a.ledgerPlace(l.config); err != nil {
		return l, err
	}
	l.zone, l.zoneName, err = a.zoneOf(l.config)
	return l, err
}

// loadConfig reads the configuration; errNoConfig if there is none.
func (a *app) loadConfig() (*tasks.Config, error) {
	path, err := a.configPath()
	if err != nil {
		return nil, err
	}
	c, err := tasks.Load(path)
	if err != nil && !isUsage(err) { // it can't be read
		return nil, withHint(asUsage(err), "runner init writes one, --config FILE names another one")
	}
	return c, err
}

// configPath is --config, else $RUNNER_CONFIG, else runner.yaml in the working
// directory or the nearest parent.
func (a *app) configPath() (string, error) {
	if a.flags.config != "" {
		return a.flags.config, nil
	}
	if p := a.getenv("RUNNER_CONFIG"); p != "" {
		return p, nil
	}
	if _, err := os.Stat(configName); err == nil {
		return configName, nil // short, for it stands in every place we name
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", usagef("can't tell the working directory: %w", err)
	}
	for {
		path := filepath.Join(dir, configName)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errNoConfig
		}
		dir = parent
	}
}

func (a *app) zoneOf(c *tasks.Config) (*time.Location, string, error) {
	if tz := strings.TrimPrefix(a.getenv("TZ"), ":"); tz != "" && (c == nil || c.TimeZone == "") {
		// Go takes a zone that it doesn't know for UTC, which would be another business date.
		if _, err := time.LoadLocation(tz); err != nil && !strings.HasPrefix(tz, "/") {
			return nil, "", withHint(usagef("TZ=%s: unknown time zone", tz), "use a name like TZ=Asia/Shanghai, or timezone: in %s", configName)
		}
	}
	if c == nil || c.TimeZone == "" {
		return a.local, tasks.ZoneName(a.local), nil
	}
	loc, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return nil, "", usagef("%s: unknown timezone %q", c.Path, c.TimeZone)
	}
	return loc, c.TimeZone, nil
}

// mayCreate tells whether a ledger that isn't there is one that nobody has made
// yet. Otherwise it is lost, and no command takes it for an empty one.
func (l located) mayCreate() bool { return l.config == nil || l.config.CreateLedger }

// openReader opens the ledger for reading. It fails with ledger.ErrNoLedger
// if there is none yet.
func (a *app) openReader(ctx context.Context, l located) (*ledger.Ledger, error) {
	s, err := a.openStore(ctx, l, openOptions{readOnly: true})
	if errors.Is(err, ledger.ErrNoLedger) && !l.mayCreate() {
		return nil, &ledger.UnusableError{Path: l.shown(), Why: ledger.ErrNoLedger.Error(), Hint: hintOf(l.noLedger(err))}
	}
	if err != nil {
		return nil, err
	}
	return ledger.New(s), nil
}

// openListed opens the ledger for a listing; nil if there is none, which is an
// empty list, and said.
func (a *app) openListed(ctx context.Context, where located) (*ledger.Ledger, error) {
	led, err := a.openReader(ctx, where)
	if errors.Is(err, ledger.ErrNoLedger) {
		a.p.note("there is no ledger at %s yet", where.shown())
		return nil, nil
	}
	return led, causeOf(ctx, err)
}

// openWriter opens the ledger for a command that writes. A run makes it where
// there is none, and says so.
func (a *app) openWriter(ctx context.Context, l located, create bool) (*ledger.Ledger, store, error) {
	s, err := a.openStore(ctx, l, openOptions{create: create && l.mayCreate()})
	if errors.Is(err, ledger.ErrNoLedger) {
		return nil, nil, l.noLedger(err)
	}
	if err != nil {
		return nil, nil, err
	}
	if s.Created() {
		a.p.note("created the ledger %s", s.Path())
	}
	return ledger.New(s), s, nil
}

func (l located) noLedger(err error) error {
	if !l.mayCreate() {
		return withHint(err, "create_ledger is false: mount the volume it is on, or set create_ledger: true for the first run")
	}
	return withHint(err, "runner run makes it; --ledger PATH names another one")
}
