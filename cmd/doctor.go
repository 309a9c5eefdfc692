package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"
)

func newDoctorCmd(a *app) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor [TASK…]",
		Short: "Tell what would stop a run, here and now",
		Long: `Look for whatever would stop a run here and now, or needs a person: the
configuration, the programs and input files of its tasks, the ledger (rights and owner, file
system, integrity, schema, size), dead runs and what is left of their attempts,
records in doubt, batches that nobody works on, dates that a schedule names and
that never ran, the clock, room on disk. With TASK, only those tasks' programs,
schedules, batches and doubts.

Nothing is changed, and nothing made. A row is ok, warn (no run is stopped by
it) or bad.

EXIT STATUS
  0 nothing is bad; else the first that applies: 7 the ledger can't be used,
  2 the configuration is wrong, or a program or an input is missing, 5 attempts of dead runs
  are still alive, 3 records in doubt need a person, 1 anything else that is
  bad: dead runs that hold records, a halt, a missed date, batches open for more
  than a day that nobody works on, a clock that was set back, an archive file
  that is missing. 129, 130, 143
  interrupted.`,
		Example: `  runner doctor
  runner doctor grant-coupon --fast -o json`,
		RunE: func(c *cobra.Command, args []string) error { return runDoctor(c.Context(), a, o, args) },
	}
	c.Flags().BoolVar(&o.fast, "fast", false, "don't check the integrity of the ledger, which reads all of it")
	return c
}

type doctorOptions struct{ fast bool }

// findingJSON is one thing that was looked at. Its names are an interface:
// they only grow.
type findingJSON struct {
	Check string `json:"check"`
	State string `json:"state"` // ok, warn or bad
	Found string `json:"found"`
	Hint  string `json:"hint"` // the next step; may be empty

	facts outcomeFacts // of a bad one: what it means for the exit code
}

// The states of a finding.
const (
	stateOK   = "ok"
	stateWarn = "warn"
	stateBad  = "bad"
)

// What a bad finding means for the exit code.
var (
	noLedgerUse = outcomeFacts{LedgerError: true}
	wrongSetup  = outcomeFacts{Usage: true}
	stillAlive  = outcomeFacts{Busy: true}
	inDoubt     = outcomeFacts{InDoubt: 1}
	otherwise   = outcomeFacts{Failed: 1}
)

// doctor collects findings.
type doctor struct {
	a     *app
	o     doctorOptions
	names []string // of the tasks asked for; empty: all
	known []string // of these, that only the ledger knows
	where located
	rows  []findingJSON
}

func (d *doctor) ok(check, format string, args ...any) {
	d.rows = append(d.rows, findingJSON{Check: check, State: stateOK, Found: fmt.Sprintf(format, args...)})
}

func (d *doctor) warn(check, hint, format string, args ...any) {
	d.rows = append(d.rows, findingJSON{Check: check, State: stateWarn, Found: fmt.Sprintf(format, args...), Hint: hint})
}

func (d *doctor) bad(check string, facts outcomeFacts, hint, format string, args ...any) {
	d.rows = append(d.rows, findingJSON{check, stateBad, fmt.Sprintf(format, args...), hint, facts})
}

func runDoctor(ctx context.Context, a *app, o doctorOptions, names []string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	d := &doctor{a: a, o: o, names: names}
	if d.checkConfig() {
		d.checkTasks()
		if err := d.checkLedger(ctx); err != nil {
			return causeOf(ctx, err)
		}
		d.checkNames()
	}
	d.checkTemp()
	if err := d.print(); err != nil {
		return err
	}
	var bad []outcomeFacts
	for _, r := range d.rows {
		bad = append(bad, r.facts)
	}
	if code := codeOf(bad); code != exitOK {
		return &errReported{code}
	}
	return nil
}

// print lists what was found. On a terminal nothing of it is cut, as what is bad
// must be readable: lines are wrapped, and the hint stands below.
func (d *doctor) print() error {
	if limit := d.a.p.out.columns(); d.a.p.form == formTable && limit > 0 {
		return list(d.a.p, doctorColumns[:3], all(wrapFindings(d.rows, limit)))
	}
	return list(d.a.p, doctorColumns, all(d.rows))
}

// wrapFindings makes of each finding as many rows as its text has lines.
func wrapFindings(found []findingJSON, limit int) (rows []findingJSON) {
	wide := 0
	for _, f := range found {
		wide = max(wide, columnsOf(visible(f.Check)))
	}
	room := max(limit-wide-len("STATE")-2*tableGap, roomyText)
	for _, f := range found {
		lines := wrap(visible(f.Found), room)
		if f.Hint != "" {
			lines = append(lines, wrap("hint: "+visible(f.Hint), room)...)
		}
		for i, line := range lines {
			f.Found = line
			if i > 0 {
				f.Check, f.State = " ", " " // not "", which is shown as -
			}
			rows = append(rows, f)
		}
	}
	return rows
}

var doctorColumns = []column[findingJSON]{
	{name: "CHECK", cell: func(f findingJSON) string { return f.Check }},
	{name: "STATE", cell: func(f findingJSON) string { return f.State }, tint: findingJSON.tint},
	{name: "FOUND", cell: func(f findingJSON) string { return f.Found }},
	{name: "HINT", cell: func(f findingJSON) string { return f.Hint }},
}

func (f findingJSON) tint(p palette) *color.Color {
	switch f.State {
	case stateBad:
		return p.bad
	case stateWarn:
		return p.doubt
	}
	return p.good
}

// ago is how long ago something was, in its two largest units.
func (d *doctor) ago(at time.Time) string {
	ms := max(d.a.now().Sub(at), 0).Milliseconds()
	return shortSpan(&ms)
}

// bytesText is a size in the largest unit that fits.
func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
