package cmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"runner/ledger"
)

func newReportCmd(a *app) *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report",
		Short: "Draw a calendar of days by task, or write it as a page",
		Long: `Draw a calendar: a row for each task, a mark for each day. A day is complete,
failed, in doubt, open (records are left to do), running, missing (it should have
run by the schedule of the task and never did) or sealed (complete and archived);
a day without a mark had nothing to do. In other forms (-o) there is a row for
each marked day, and Markdown has the calendar.

Without --from and --to it is of the 30 days until today. Tasks are those that
have a schedule, and those that have a day in the ledger.

With --html it is written as one self-contained page, which needs no network and
no script: the calendar, what needs a person with the commands for it, how long
the days of each task took, the records that took longest, the errors of what
failed, grouped, and what is in doubt. FILE is replaced as a whole; - is stdout.
Where a ledger is large the lists are of the newest records, and the page says of
how many.

EXIT STATUS
  0 printed or written, whatever it shows; 1 the page can't be written, 2 usage
  is wrong, 7 the ledger can't be used.`,
		Example: `  runner report
  runner report --task grant-coupon --from 2026-11-01 --to 2026-11-30
  runner report --html /srv/www/runner.html`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return runReport(c.Context(), a, c, o) },
	}
	o.addFlags(c)
	return c
}

type reportOptions struct {
	from, to string
	tasks    []string
	html     string
}

// reportDays is how many days a report has unless it is told which.
const reportDays = 30

func (o *reportOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.from, "from", "", "from this execute `DATE` on (default: 29 days before --to)")
	f.StringVar(&o.to, "to", "", "until this execute `DATE`, included (default: today)")
	f.StringArrayVar(&o.tasks, "task", nil, "of this `TASK` (repeatable)")
	f.StringVar(&o.html, "html", "", "write a page to this `FILE` instead; - is stdout")
}

func runReport(ctx context.Context, a *app, c *cobra.Command, o reportOptions) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	where, err := a.locate(false)
	if err != nil {
		return err
	}
	dates, err := o.dates(a, c, where)
	if err != nil {
		return err
	}
	if err := o.checkHTML(a, c); err != nil {
		return err
	}
	led, err := a.openListed(ctx, where)
	if err != nil {
		return err
	}
	if led != nil {
		defer led.Close() // it was only read
	}
	r, err := a.newReport(ctx, where, led, dates, o.tasks)
	if err != nil {
		return causeOf(ctx, err)
	}
	if len(r.tasks) == 0 {
		a.p.note("no task has a schedule or ran in these days")
	}
	if o.html == "" {
		return a.printReport(r)
	}
	return causeOf(ctx, o.writeHTML(ctx, a, r, led))
}

// dates are the days of the report, ascending.
func (o *reportOptions) dates(a *app, c *cobra.Command, where located) (days []day, err error) {
	last := today(a.now(), where.zone)
	if c.Flags().Changed("to") {
		if last, err = parseDay(o.to, a.now(), where.zone, dateForms); err != nil {
			return nil, err
		}
	}
	first := last.add(1 - reportDays)
	if c.Flags().Changed("from") {
		if first, err = parseDay(o.from, a.now(), where.zone, dateForms); err != nil {
			return nil, err
		}
	}
	n := first.daysTo(last) + 1
	switch {
	case n < 1:
		return nil, usagef("--to %s is before --from %s", last, first)
	case n > maxDates:
		return nil, withHint(usagef("from %s to %s are %d days, at most %d are allowed", first, last, n, maxDates), "take a shorter range")
	}
	for i := range n {
		days = append(days, first.add(i))
	}
	return days, nil
}

// toStdout is the FILE that stands for stdout.
const toStdout = "-"

func (o *reportOptions) checkHTML(a *app, c *cobra.Command) error {
	switch {
	case !c.Flags().Changed("html"):
		return nil
	case a.p.form != formTable:
		return usagef("--html and -o exclude each other")
	case o.html == toStdout:
		return nil
	}
	return checkTarget("html", o.html)
}

func (o *reportOptions) writeHTML(ctx context.Context, a *app, r *report, led *ledger.Ledger) error {
	p, err := newPage(ctx, a, r, led)
	if err != nil {
		return err
	}
	if o.html == toStdout {
		return quietly(p.write(a.p.out))
	}
	if err := replaceFile(o.html, func(w io.Writer) error { return p.write(w) }); err != nil {
		return withHint(err, "the page needs a folder that can be written")
	}
	if a.p.err.tty {
		a.p.note("wrote %s", o.html)
	}
	return nil
}
