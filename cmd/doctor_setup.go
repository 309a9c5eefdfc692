package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"runner/ledger"
	"runner/runner"
	"runner/tasks"
)

// checkConfig finds configuration, zone and the ledger's place. It is false
// where the last isn't known.
func (d *doctor) checkConfig() bool {
	c, err := d.a.loadConfig()
	var wrong *tasks.ConfigError
	switch {
	case errors.As(err, &wrong):
		for _, p := range wrong.Problems {
			d.bad("configuration", wrongSetup, p.Hint, "%s: %s", at(p.File, p.Line, p.Column), p.Msg)
		}
	case errors.Is(err, errNoConfig):
		d.where.config, err = nil, nil
		d.ok("configuration", "there is no %s here or in a parent folder; runner exec needs none", configName)
	case err != nil:
		d.bad("configuration", wrongSetup, hintOf(err), "%s", err.Error())
	default:
		d.where.config = c
		d.ok("configuration", "%s, %s", c.Path, plural(int64(len(c.Tasks)), "task"))
	}
	if err != nil && d.a.flags.ledger == "" && d.a.getenv("RUNNER_LEDGER") == "" {
		d.warn("ledger", "put the configuration right, or name the ledger with --ledger", "not looked at: the configuration says where it is")
		return false
	}
	if d.where.ledger, d.where.runsDir, err = d.a.ledgerPlace(d.where.config); err != nil {
		d.bad("ledger", noLedgerUse, hintOf(err), "%s", err.Error())
		return false
	}
	if d.where.zone, d.where.zoneName, err = d.a.zoneOf(d.where.config); err != nil {
		d.bad("time zone", wrongSetup, hintOf(err), "%s", err.Error())
		d.where.zone = d.a.local
	}
	return true
}

// checkTasks asks of each task of the configuration whether what it runs can
// be started at all.
func (d *doctor) checkTasks() {
	if d.where.config == nil {
		return
	}
	for _, t := range d.where.config.Tasks {
		if d.wants(t.Name) {
			d.checkTask(t)
		}
	}
}

// checkStored asks the same of a task that was asked for and that only the
// ledger knows, as exec leaves them.
func (d *doctor) checkStored(ctx context.Context, led *ledger.Ledger) {
	for _, name := range d.names {
		if d.where.task(name) != nil {
			continue
		}
		t, err := d.a.definition(ctx, d.where, led, ledger.Selection{TaskName: name}, 0)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		d.known = append(d.known, name)
		if err != nil {
			d.bad("task "+name, wrongSetup, hintOf(err), "%s", err.Error())
			continue
		}
		closeActions([]job{{task: t}})
		d.ok("task "+name, "what it ran last is there")
	}
}

// checkNames tells of tasks that were asked for and that nobody knows.
func (d *doctor) checkNames() {
	for _, name := range d.names {
		if d.where.task(name) != nil || slices.Contains(d.known, name) {
			continue
		}
		err := withHint(usagef("there is no task %q in the ledger, and no configuration", name), "runner status lists the tasks of the ledger")
		if d.where.config != nil {
			_, err = d.where.config.Task(name)
		}
		d.bad("task "+name, wrongSetup, hintOf(err), "%s", err.Error())
	}
}

// wants tells whether a task was asked for.
func (d *doctor) wants(task string) bool { return len(d.names) == 0 || slices.Contains(d.names, task) }

func (d *doctor) checkTask(t *tasks.Task) {
	check := "task " + t.Name
	built, err := t.Build(0)
	if err != nil {
		d.bad(check, wrongSetup, hintOf(err), "%s", err.Error())
		return
	}
	defer closeActions([]job{{task: built}})
	fine := true
	checkName := "check: "
	if t.Guarded() {
		checkName = "guard: "
	}
	// An action prepares what belongs to it too, and says the same of that.
	said := map[string]bool{}
	for _, part := range []struct {
		name   string
		action runner.Action
	}{{"", built.Action}, {checkName, built.Check}, {"compensate: ", built.Compensate}} {
		if part.action == nil {
			continue
		}
		if err := part.action.Prepare(); err != nil {
			text := part.name + err.Error()
			if fine = false; !said[text] && !said[err.Error()] {
				d.bad(check, wrongSetup, hintOf(err), "%s", text)
			}
			said[text] = true
		}
	}
	for _, well := range []bool{false, true} {
		h := t.Hook(well)
		if h == nil {
			continue
		}
		if err := h.Find(); err != nil {
			d.bad(check, wrongSetup, hintOf(err), "%s: %s", h.Name, err.Error())
			fine = false
		}
	}
	d.checkInput(t)
	switch {
	case !fine:
	case built.Policy.Timeout == 0:
		d.warn(check, "set timeout:, for example 1h", "it has no timeout: an attempt that hangs holds its record for ever")
	default:
		d.ok(check, "what it runs is there")
	}
}

// Below these a disk is short of room, and too full to begin at all.
const (
	littleRoom = 100 << 20
	noRoom     = 1 << 20
)

// checkTemp looks at the folder in which inputs are spooled.
func (d *doctor) checkTemp() {
	dir := os.TempDir()
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("%s is no folder", dir)
	}
	if err == nil {
		err = folderWritable(dir)
	}
	if err != nil {
		d.bad("temporary folder", otherwise, "set TMPDIR to a folder that can be written", "%s", err.Error())
		return
	}
	if free, ok := freeBytes(dir); ok && free < littleRoom {
		d.warn("temporary folder", "free some space, or set TMPDIR: inputs that can be read only once are kept there", "%s: %s free", dir, bytesText(free))
		return
	}
	d.ok("temporary folder", "%s", dir)
}

// checkRoom looks at the disk that the ledger is on.
func (d *doctor) checkRoom(dir string, wal int64) {
	free, known := freeBytes(dir)
	switch {
	case !known:
	case free < noRoom:
		d.bad("disk", noLedgerUse, "free some space: without it no claim can be written, and nothing starts", "%s free where %s lies", bytesText(free), dir)
	case free < littleRoom || free < 2*wal:
		d.warn("disk", "free some space", "%s free where %s lies", bytesText(free), dir)
	default:
		d.ok("disk", "%s free", bytesText(free))
	}
}
