package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"runner/ledger"
)

func newLedgerMarkCmd(a *app) *cobra.Command {
	o := markOptions{as: choice{allowed: []string{"done", "skipped", "failed"}}}
	c := &cobra.Command{
		Use:   "mark TASK [BIZ_ID…]",
		Short: "Settle records by your word: done, skipped or failed",
		Long: `Settle records of a date by your word, with a reason that stays in their
stories: done – it took effect, skipped – it is not to be done, failed – it
did not take effect and may be rerun. Nothing is executed.

Records are chosen by id, by --ids-from, --status and --error-like, which all
must fit. Those not named by id are marked only with --yes or after a question.
What dead runs left is settled first. A record that is already so is left as it
is; one that is running, or done or skipped otherwise, is refused, and then
none is changed.

EXIT STATUS
  0 marked, already so, or nothing was chosen; 2 usage is wrong, an id is not
  known or a record is refused, 5 a chosen record is running, 7 the ledger
  can't be used. With 2 and 5 nothing was changed, unless another hand was
  faster, which is said.`,
		Example: `  runner ledger mark grant-coupon u-1001 u-1002 --date yesterday --as skipped --reason 'refunded by hand'
  runner ledger mark pay --date 2026-11-28 --ids-from settled.txt --as done --reason "bank's report of 11-29"`,
		RunE: func(c *cobra.Command, args []string) error { return runMark(c.Context(), a, c, o, args) },
	}
	o.addFlags(c)
	return c
}

type markOptions struct {
	selector
	as     choice
	reason string
}

func (o *markOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.Var(&o.as, "as", "what they are")
	f.StringVar(&o.reason, "reason", "", "why; `TEXT` is kept with each record")
	o.selector.addFlags(c, "default pending, failed and in_doubt; with ids any")
	completeWith(c, "as", o.as.allowed...)
}

func runMark(ctx context.Context, a *app, c *cobra.Command, o markOptions, args []string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	r := markJSON{As: o.as.value, Reason: o.reason, DryRun: o.dryRun, Actor: actor()}
	err := causeOf(ctx, a.mark(ctx, c, o, args, &r))
	if err != nil {
		r.Error, r.Result = err.Error(), markResult(err)
	}
	if perr := a.printMark(c, r); perr != nil {
		return perr
	}
	return err
}

// mark goes all the way from the flags to the ledger.
func (a *app) mark(ctx context.Context, c *cobra.Command, o markOptions, args []string, r *markJSON) error {
	sel, where, err := o.check(a, c, args, r)
	if err != nil {
		return err
	}
	led, _, err := a.openChoosing(ctx, where, o.dryRun)
	if err != nil || led == nil {
		return err
	}
	defer led.Close() // every transaction is durable already
	p := marking{as: r.status(), d: ledger.Decision{Actor: r.Actor, Reason: o.reason}, rows: o.dryRun && (a.flags.verbose || a.p.form == formJSONL)}
	err = eachChosen(ctx, led, sel, func(page []ledger.Entry) error {
		for _, e := range page {
			p.judge(e, a)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Chosen, r.Unchanged, r.preview = p.chosen, p.same, p.preview
	if p.chosen == 0 {
		a.p.note("nothing to mark: no record of %s %s matches", sel.TaskName, sel.ExecuteDate)
	}
	if err := p.refusal(o.dryRun); err != nil {
		return err
	}
	r.Marked = int64(len(p.ids))
	if o.dryRun || len(p.ids) == 0 {
		return nil
	}
	return a.settleMarked(ctx, led, o, p, r)
}

// settleMarked asks, if records weren't named, and marks.
func (a *app) settleMarked(ctx context.Context, led *ledger.Ledger, o markOptions, p marking, r *markJSON) error {
	r.Marked = 0
	if !o.named() && !o.yes {
		line := fmt.Sprintf("%s of %s %s would be marked as %s", plural(int64(len(p.ids)), "record"), r.TaskName, r.ExecuteDate, r.As)
		if err := a.confirm(ctx, []string{line}); err != nil {
			return err
		}
	}
	refused, err := led.Mark(ctx, p.ids, p.as, p.d)
	if err != nil {
		return err
	}
	r.Marked = int64(len(p.ids) - len(refused))
	if len(refused) == 0 {
		return nil
	}
	a.sayRefused(refused)
	return fmt.Errorf("changed by another hand meanwhile, and not marked: %s: %w", plural(int64(len(refused)), "record"), refused[0])
}

// check reads the flags before anything is opened.
func (o *markOptions) check(a *app, c *cobra.Command, args []string, r *markJSON) (sel ledger.Selection, where located, err error) {
	if len(args) == 0 {
		return sel, where, withHint(usagef("TASK is missing"), "usage: %s", c.UseLine())
	}
	r.TaskName, o.bizIDs = args[0], append(args[1:], o.bizIDs...)
	switch {
	case o.as.value == "":
		return sel, where, withHint(usagef("--as is missing"), "say what they are: --as done, --as skipped or --as failed")
	case strings.TrimSpace(o.reason) == "":
		return sel, where, withHint(usagef("--reason is missing"), "say why, for those who ask later: --reason 'refunded by hand'")
	case !o.named() && len(o.status) == 0 && o.errorLike == "":
		return sel, where, withHint(usagef("no record is chosen"), "name biz_ids, or choose by --ids-from, --status or --error-like")
	}
	if where, err = a.locate(false); err != nil {
		return sel, where, err
	}
	r.TimeZone = where.zoneName
	sel, err = o.selection(a, c, where, ledger.Statuses, []ledger.Status{ledger.Pending, ledger.Failed, ledger.InDoubt})
	sel.TaskName, r.ExecuteDate = r.TaskName, sel.ExecuteDate
	return sel, where, err
}

// marking is what the rules say of the chosen records.
type marking struct {
	as      ledger.Status
	d       ledger.Decision
	chosen  int64
	ids     []int64 // to be marked
	same    int64   // already so
	busy    []error
	refused []error
	rows    bool // keep a line for each
	preview []preview
}

func (p *marking) judge(e ledger.Entry, a *app) {
	p.chosen++
	would, reason := "mark", "as "+p.as.String()
	_, err := ledger.Mark(e, p.as, p.d, a.now())
	var r *ledger.RefusedError
	switch {
	case ledger.MarkedSo(e, p.as, p.d):
		p.same++
		would, reason = "skip", "it is "+p.as.String()+" already"
	case errors.As(err, &r) && r.Busy:
		p.busy = append(p.busy, err)
		would, reason = "wait", r.Why
	case errors.As(err, &r):
		p.refused = append(p.refused, err)
		would, reason = "refuse", r.Why
	default:
		p.ids = append(p.ids, e.ID)
	}
	if p.rows {
		p.preview = append(p.preview, preview{
			TaskName: e.TaskName, BizID: e.BizID, ExecuteDate: e.ExecuteDate,
			Status: e.Status.String(), Would: would, Reason: reason,
		})
	}
}

// refusal is the reason why nothing may be changed.
func (p *marking) refusal(dryRun bool) error {
	tell := func(list []error) error {
		if len(list) == 1 {
			return list[0]
		}
		return fmt.Errorf("%w, and %s more like it", list[0], plural(int64(len(list)-1), "record"))
	}
	switch {
	case len(p.busy) > 0 && !dryRun:
		return withHint(tell(p.busy), "nothing was changed; wait until its run has ended (runner status)")
	case len(p.refused) > 0:
		return withHint(tell(p.refused), "nothing was changed; runner rerun makes it runnable again, runner ledger show tells its story")
	}
	return nil
}

// markJSON is what mark did. Its names are an interface: they only grow.
type markJSON struct {
	TaskName    string `json:"task_name"`
	ExecuteDate string `json:"execute_date"`
	TimeZone    string `json:"time_zone"`
	Result      string `json:"result"` // marked, dry_run, busy, invalid, ledger_error
	Error       string `json:"error,omitempty"`
	As          string `json:"as"`
	Reason      string `json:"reason"`
	Actor       string `json:"actor"`
	Chosen      int64  `json:"chosen"`
	Marked      int64  `json:"marked"` // with dry_run: would be
	Unchanged   int64  `json:"unchanged"`
	DryRun      bool   `json:"dry_run"`

	preview []preview
}

func (r markJSON) status() ledger.Status {
	s, _ := ledger.ParseStatus(r.As) // one of three
	return s
}

func markResult(err error) string {
	switch codeOfError(err) {
	case exitBusy:
		return "busy"
	case exitLedger:
		return "ledger_error"
	}
	return "invalid"
}

// printMark prints what mark did; an error only where JSON is wanted.
func (a *app) printMark(c *cobra.Command, r markJSON) error {
	if r.Result == "" {
		r.Result = "marked"
		if r.DryRun {
			r.Result = "dry_run"
		}
	}
	switch {
	case r.Error != "":
		if a.p.form != formJSON && a.p.form != formJSONL {
			return nil
		}
		return quietly(writeJSON(a.p.out, r, "\n"))
	case r.DryRun && a.p.form == formJSONL:
		return list(a.p, previewColumns, all(r.preview))
	case a.p.form == formJSON:
		return quietly(writeJSON(a.p.out, r, "\n"))
	case a.p.form != formTable:
		return list(a.p, markColumns, all([]markJSON{r}))
	case len(r.preview) > 0:
		if err := list(a.p, previewColumns, all(r.preview)); err != nil {
			return err
		}
	}
	if a.p.quiet && !r.DryRun && !c.Flags().Changed("output") {
		return nil
	}
	return a.p.say("%s", r.sentence())
}

func (r markJSON) sentence() string {
	verb := "marked"
	if r.DryRun {
		verb = "would be marked"
	}
	s := fmt.Sprintf("%s %s (%s): %s %s as %s", r.TaskName, r.ExecuteDate, r.TimeZone, plural(r.Marked, "record"), verb, r.As)
	if r.Unchanged > 0 {
		s += fmt.Sprintf(", %d already so", r.Unchanged)
	}
	return s
}

var markColumns = []column[markJSON]{
	{name: "TASK", cell: func(r markJSON) string { return r.TaskName }},
	{name: "DATE", cell: func(r markJSON) string { return r.ExecuteDate }},
	{name: "ZONE", cell: func(r markJSON) string { return r.TimeZone }},
	{name: "RESULT", cell: func(r markJSON) string { return r.Result }},
	{name: "AS", cell: func(r markJSON) string { return r.As }},
	{name: "CHOSEN", cell: func(r markJSON) string { return fmt.Sprint(r.Chosen) }},
	{name: "MARKED", cell: func(r markJSON) string { return fmt.Sprint(r.Marked) }},
	{name: "UNCHANGED", cell: func(r markJSON) string { return fmt.Sprint(r.Unchanged) }},
	{name: "REASON", cell: func(r markJSON) string { return r.Reason }},
}
