package cmd

import (
	"bufio"
	"context"
	"errors"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"runner/ledger"
	"runner/runner"
	"runner/tasks"
)

// selector is the flags by which rerun and mark choose records of a date.
type selector struct {
	date        string
	status      []string
	bizIDs      []string
	idsFrom     string
	errorLike   string
	limit       int
	yes, dryRun bool
}

func (o *selector) addFlags(c *cobra.Command, defaults string) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.date, "date", "", "execute `DATE` ("+dateForms[len("use "):]+")")
	f.StringSliceVar(&o.status, "status", nil, "choose those in these `STATUSES`, separated by commas ("+defaults+")")
	f.StringArrayVar(&o.bizIDs, "biz-id", nil, "choose the record with this `ID` (repeatable)")
	f.StringVar(&o.idsFrom, "ids-from", "", "choose the records whose ids are the lines of this `FILE`; - is stdin")
	f.StringVar(&o.errorLike, "error-like", "", "choose those whose error holds this `TEXT`, as it is written")
	f.IntVar(&o.limit, "limit", 0, "choose at most `N` records of a task; 0: all")
	f.BoolVar(&o.yes, "yes", false, "don't ask")
	f.BoolVar(&o.dryRun, "dry-run", false, "only say what would be done (each record: -v or -o jsonl)")
}

// named tells whether records are chosen by their ids.
func (o *selector) named() bool { return len(o.bizIDs) > 0 || o.idsFrom != "" }

// selection checks the flags and makes of them what a ledger understands, but
// for the task. Without --status, the statuses in named are chosen where ids
// are given, else those in others.
func (o *selector) selection(a *app, c *cobra.Command, where located, named, others []ledger.Status) (s ledger.Selection, err error) {
	f := c.Flags()
	switch {
	case o.limit < 0:
		return s, usagef("--limit %d is negative", o.limit)
	case !f.Changed("date"):
		return s, withHint(usagef("--date is missing"), "%s never guesses a date: --date yesterday, --date 2026-11-28", c.Name())
	case f.Changed("error-like") && o.errorLike == "":
		return s, usagef("--error-like is empty")
	case f.Changed("ids-from") && o.idsFrom == "":
		return s, usagef("--ids-from is empty")
	case slices.Contains(o.bizIDs, ""):
		return s, usagef("a biz_id is empty")
	}
	s.ErrorLike, s.Limit, s.Statuses = o.errorLike, o.limit, others
	if o.named() {
		s.Statuses = named
	}
	if len(o.status) > 0 {
		if s.Statuses, err = parseStatuses(o.status); err != nil {
			return s, err
		}
		if slices.Contains(s.Statuses, ledger.Running) {
			return s, usagef("--status running: nobody changes a running record")
		}
	}
	if s.ExecuteDate, err = parseDate(o.date, a.now(), where.zone); err != nil {
		return s, err
	}
	s.BizIDs, err = o.ids(a)
	return s, err
}

// ids are those given one by one and those of the file. A file without any is
// an error: nobody who names a file means all records.
func (o *selector) ids(a *app) ([]string, error) {
	if o.idsFrom == "" {
		return o.bizIDs, nil
	}
	src, err := tasks.OpenSource(tasks.SourceOptions{Path: o.idsFrom, Format: tasks.FormatLines, Stdin: a.stdin})
	if err != nil {
		return nil, asUsage(err)
	}
	defer src.Close() // it was only read
	ids := slices.Clone(o.bizIDs)
	for item, err := range src.Records() {
		if err != nil {
			return nil, asUsage(err)
		}
		ids = append(ids, item.BizID)
	}
	if len(ids) == len(o.bizIDs) {
		return nil, usagef("%s: it holds no id", src.Name())
	}
	return ids, nil
}

func parseStatuses(names []string) (list []ledger.Status, err error) {
	for _, name := range names {
		s, err := ledger.ParseStatus(name)
		if err != nil {
			return nil, asUsage(err)
		}
		list = append(list, s)
	}
	return list, nil
}

// openChoosing opens the ledger to change chosen records, and first settles
// what dead runs left, which may be what is to be chosen. For a dry run it
// only reads, and gives nil if there is no ledger.
func (a *app) openChoosing(ctx context.Context, where located, dryRun bool) (*ledger.Ledger, string, error) {
	if dryRun {
		led, err := a.openReader(ctx, where)
		if errors.Is(err, ledger.ErrNoLedger) {
			a.p.note("nothing to do: there is no ledger at %s yet", where.shown())
			return nil, "", nil
		}
		return led, "", err
	}
	led, store, err := a.openWriter(ctx, where, false)
	if err != nil {
		return nil, "", err
	}
	rec, err := runner.Recover(ctx, led, store.RunsDir())
	if err != nil {
		_ = led.Close()
		return nil, "", err
	}
	a.sayRecovery(rec)
	for _, s := range rec.Survivors {
		a.p.warn(survivorText(s, a.now()), "runner recover --kill"+a.sameFlags()+" ends it")
	}
	return led, store.RunsDir(), nil
}

// eachChosen calls fn with the chosen records, page by page.
func eachChosen(ctx context.Context, led *ledger.Ledger, sel ledger.Selection, fn func([]ledger.Entry) error) error {
	err := led.Select(ctx, sel, fn)
	var unknown *ledger.UnknownIDsError
	switch {
	case errors.Is(err, ledger.ErrSealed):
		return withHint(err, "nothing was done; %s brings them back", restoreLine(sel.TaskName, sel.ExecuteDate))
	case errors.As(err, &unknown):
		return withHint(err, "nothing was done; runner ledger ls --task %s --date %s --limit 0 lists those there are", sel.TaskName, sel.ExecuteDate)
	case !errors.Is(err, ledger.ErrNotFound):
		return err
	case len(sel.BizIDs) == 0: // nothing matches, and that is no error
		return nil
	}
	return withHint(usagef("%s has no records on %s", sel.TaskName, sel.ExecuteDate), "runner ledger ls --date %s lists those there are", sel.ExecuteDate)
}

// confirm asks whether to go on. Where nobody can answer it is a usage error.
func (a *app) confirm(ctx context.Context, lines []string) error {
	if !a.stdinTTY || !a.p.err.tty {
		return withHint(usagef("%s", strings.Join(lines, "; ")), "add --yes if that is meant")
	}
	for _, l := range lines {
		a.p.warn(l, "")
	}
	a.p.ask("go on? [y/N] ")
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answered <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case answer := <-answered:
		if answer != "y" && answer != "yes" {
			return usagef("nothing was done")
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxTold is how many records a message tells by name.
const maxTold = 10

// sayRefused tells of records that were refused because another hand was
// faster.
func (a *app) sayRefused(refused []error) {
	for _, r := range refused[:min(len(refused), maxTold)] {
		a.p.warn(r.Error(), "")
	}
	if more := len(refused) - maxTold; more > 0 {
		a.p.warn("and "+plural(int64(more), "record")+" more", "")
	}
}

// actor names the person behind a decision.
func actor() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}

// someOf names the first few of a list, and says how many more there are.
func someOf(names []string) string {
	text := strings.Join(names[:min(len(names), maxTold)], ", ")
	if more := len(names) - maxTold; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}
