package cmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/runner"
)

func newLedgerShowCmd(a *app) *cobra.Command {
	var o showOptions
	c := &cobra.Command{
		Use:   "show TASK BIZ_ID",
		Short: "Show the whole story of one record",
		Long: `Show the whole story of one record: its fields, its idempotency key, and a line
for each attempt, check, compensation and decision. One of a sealed batch is read
from its archive.

EXIT STATUS
  0 printed, 2 usage is wrong or there is no such record, 7 the ledger, or the
  archive that the record is in, can't be used.`,
		Example: `  runner ledger show grant-coupon u-1001 --date 2026-11-28
  runner ledger show grant-coupon u-1001 --date yesterday --captured`,
		Args: exactly("TASK", "BIZ_ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return runShow(c.Context(), a, o, args[0], args[1])
		},
	}
	o.addFlags(c)
	return c
}

type showOptions struct {
	date     string
	captured bool
}

func (o *showOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.date, "date", "today", "execute `DATE`")
	f.BoolVar(&o.captured, "captured", false, "show the kept output of its attempts too")
}

func runShow(ctx context.Context, a *app, o showOptions, task, bizID string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	date, err := parseDate(o.date, a.now(), where.zone)
	if err != nil {
		return err
	}
	k := ledger.Key{TaskName: task, BizID: bizID, ExecuteDate: date}
	entry, attempts, holder, err := a.story(ctx, where, k)
	if err != nil {
		return err
	}
	r := storyJSON{recordJSON: newRecord(entry, where.namespace()), Holder: holder, Story: newStory(attempts, o.captured)}
	fields := append(recordFields(r.recordJSON, where), field{"held by", holder.in(where.zone)})
	if err := object(a.p, r, fields); err != nil || !a.p.form.forPeople() || len(r.Story) == 0 {
		return err
	}
	a.p.blank()
	if err := list(a.p, storyColumns(where.zone), all(r.Story)); err != nil || !o.captured {
		return err
	}
	for _, l := range r.Story {
		if *l.Output != "" {
			a.p.block("output of "+l.Phase.String()+" "+strconv.Itoa(l.Number)+", fence "+strconv.FormatInt(l.Fence, 10), *l.Output)
		}
	}
	return nil
}

func (a *app) story(ctx context.Context, where located, k ledger.Key) (e ledger.Entry, story []ledger.Attempt, holder *holderJSON, err error) {
	led, err := a.openReader(ctx, where)
	if err == nil {
		defer led.Close() // it was only read
		if e, story, err = led.Story(ctx, k); errors.Is(err, ledger.ErrNotFound) {
			e, story, err = a.archivedStory(ctx, where, led, k)
		}
	}
	if err == nil && e.Status == ledger.Running {
		holder, err = holderOf(ctx, led, e.RunID)
	}
	switch {
	case errors.Is(err, ledger.ErrNoLedger):
		return e, nil, nil, withHint(usagef("there is no record %s: no ledger at %s yet", k, where.shown()), "runner run %s --date %s makes it", k.TaskName, k.ExecuteDate)
	case errors.Is(err, ledger.ErrNotFound):
		dates, derr := otherDates(ctx, led, k)
		if err = usagef("there is no record %s", k); derr == nil && len(dates) > 0 {
			return e, nil, nil, withHint(err, "there is one on %s: name it by --date", strings.Join(dates, ", "))
		}
		return e, nil, nil, withHint(err, "runner ledger ls --task %s --date %s lists those there are", k.TaskName, k.ExecuteDate)
	}
	return e, story, holder, causeOf(ctx, err)
}

// otherDates are the newest few that have a record of the same id: who leaves
// out --date asks for today, and rarely means it.
func otherDates(ctx context.Context, led *ledger.Ledger, k ledger.Key) (dates []string, err error) {
	err = led.Store().View(ctx, func(r ledger.Reader) error {
		list, err := r.List(ledger.Query{TaskName: k.TaskName, BizIDs: []string{k.BizID}, Limit: 3})
		for _, e := range list {
			dates = append(dates, e.ExecuteDate)
		}
		return err
	})
	return dates, err
}

// holderJSON is the run that holds a running record.
type holderJSON struct {
	RunID     string `json:"run_id"`
	Host      string `json:"host"`
	PID       int    `json:"pid"`
	StartedAt stamp  `json:"started_at"`
	Alive     bool   `json:"alive"`
}

func holderOf(ctx context.Context, led *ledger.Ledger, id string) (h *holderJSON, err error) {
	err = led.Store().View(ctx, func(r ledger.Reader) error {
		runs, err := r.Runs(ledger.RunQuery{ID: id})
		if err == nil && len(runs) > 0 {
			run := runs[0]
			h = &holderJSON{run.ID, run.Host, run.PID, stamp{run.StartedAt}, runner.Live(run, runsDirOf(led), led.Now())}
		}
		return err
	})
	return h, err
}

func (h *holderJSON) in(loc *time.Location) string {
	switch {
	case h == nil:
		return ""
	case !h.Alive:
		return "a run that died; the next run, or runner recover, settles it"
	}
	return fmt.Sprintf("pid %d on %s, a run since %s", h.PID, h.Host, h.StartedAt.in(loc))
}

// storyJSON is a record with all that ever happened to it.
type storyJSON struct {
	recordJSON
	Holder *holderJSON `json:"holder"` // null unless it is running
	Story  []storyLine `json:"story"`
}

type storyLine struct {
	Fence      int64         `json:"fence"`
	Phase      ledger.Phase  `json:"phase"`
	Generation int           `json:"generation"`
	Number     int           `json:"number"`
	RunID      string        `json:"run_id"`
	Actor      string        `json:"actor"`
	StartedAt  stamp         `json:"started_at"`
	EndedAt    stamp         `json:"ended_at"`
	Status     ledger.Status `json:"status"`
	Detail     string        `json:"detail"`
	Result     string        `json:"result"`
	ExitCode   *int          `json:"exit_code"`
	Error      string        `json:"error"`
	Late       string        `json:"late"`
	LateDetail string        `json:"late_detail"`
	LateAt     stamp         `json:"late_at"`
	Output     *string       `json:"output"` // null unless asked for
}

func newStory(attempts []ledger.Attempt, captured bool) []storyLine {
	lines := make([]storyLine, len(attempts))
	for i, t := range attempts {
		lines[i] = storyLine{
			Fence: t.Fence, Phase: t.Phase, Generation: t.Generation, Number: t.Number, RunID: t.RunID, Actor: t.Actor,
			StartedAt: stamp{t.StartedAt}, EndedAt: stamp{t.EndedAt}, Status: t.Status, Detail: t.Detail, Result: t.Result,
			ExitCode: t.ExitCode, Error: t.Error, Late: t.Late, LateDetail: t.LateDetail, LateAt: stamp{t.LateAt},
		}
		if captured {
			lines[i].Output = &attempts[i].Output
		}
	}
	return lines
}

func recordFields(r recordJSON, where located) []field {
	status := r.Status.String()
	if r.Detail != "" {
		status += " (" + r.Detail + ")"
	}
	return []field{
		{"task", r.TaskName},
		{"biz_id", r.BizID},
		{"execute date", r.ExecuteDate + " (" + where.zoneName + ")"},
		{"status", status},
		{"result", r.Result},
		{"error", r.Error},
		{"exit code", exitText(r.ExitCode)},
		{"attempts", strconv.Itoa(r.Attempts)},
		{"generation", strconv.Itoa(r.Generation)},
		{"fence", strconv.FormatInt(r.Fence, 10)},
		{"run", r.RunID},
		{"started", r.StartedAt.in(where.zone)},
		{"ended", r.EndedAt.in(where.zone)},
		{"next attempt", r.next().in(where.zone)},
		{"payload", string(r.Payload)},
		{"idempotency key", r.IdempotencyKey},
	}
}

func storyColumns(loc *time.Location) []column[storyLine] {
	return []column[storyLine]{
		{name: "STARTED", cell: func(l storyLine) string { return l.StartedAt.in(loc) }, spare: 1},
		{name: "PHASE", cell: func(l storyLine) string { return l.Phase.String() }},
		{name: "NUMBER", cell: func(l storyLine) string { return strconv.Itoa(l.Number) }, spare: 2},
		{name: "OUTCOME", cell: storyLine.outcome,
			tint: func(l storyLine, p palette) *color.Color { return p.status(l.Status) }},
		{name: "EXIT", cell: func(l storyLine) string { return exitText(l.ExitCode) }, spare: 3},
		{name: "ERROR", cell: func(l storyLine) string { return l.Error }, wide: true},
		{name: "TOOK", cell: storyLine.took, spare: 4},
		{name: "BY", cell: func(l storyLine) string { return l.RunID + l.Actor }, wide: true, spare: 5},
	}
}

func (l storyLine) took() string {
	if l.EndedAt.IsZero() || l.StartedAt.IsZero() {
		return ""
	}
	return l.EndedAt.Sub(l.StartedAt.Time).Round(time.Millisecond).String()
}

// outcome says where the attempt left the record, and what came late.
func (l storyLine) outcome() string {
	parts := []string{l.Status.String()}
	if l.Detail != "" {
		parts = append(parts, "("+l.Detail+")")
	}
	if l.Late != "" {
		parts = append(parts, "late: "+l.Late)
	}
	return strings.Join(parts, " ")
}
