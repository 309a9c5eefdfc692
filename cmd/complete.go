package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"runner/ledger"
)

const (
	maxOffered  = 100             // what a shell still shows
	offerWithin = 2 * time.Second // whoever presses tab waits no longer
)

// offer gives the values that begin with what was typed.
type offer func(ctx context.Context, c *cobra.Command, args []string, typed string) []string

// addCompletions offers values for the arguments and flags of all commands,
// by their names. Nothing is created, and what goes wrong offers nothing.
func (a *app) addCompletions(root *cobra.Command) {
	flags := map[string]offer{
		"task": a.offerTasks, "date": a.offerDates, "biz-id": a.offerBizIDs, "run": a.offerRuns,
		"status": func(_ context.Context, _ *cobra.Command, _ []string, typed string) []string {
			return offerStatuses(typed)
		},
	}
	arguments := map[string][]offer{ // the last one is for all that follow
		"runner run":            {a.offerTasks, nil},
		"runner exec":           {a.offerTasks},
		"runner rerun":          {a.offerTasks},
		"runner status":         {a.offerTasks},
		"runner gaps":           {a.offerTasks},
		"runner ledger show":    {a.offerTasks, a.offerBizIDs, nil},
		"runner ledger mark":    {a.offerTasks, a.offerBizIDs},
		"runner ledger restore": {a.offerTasks, nil},
		"runner runs show":      {a.offerRuns, nil},
		"runner tasks show":     {a.offerTasks, nil},
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for name, o := range flags {
			if c.LocalNonPersistentFlags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, completion(o)) // the flag exists
			}
		}
		if offers := arguments[c.CommandPath()]; offers != nil {
			c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				if c.Name() == "exec" && len(args) > 0 { // the command and its files
					return nil, cobra.ShellCompDirectiveDefault
				}
				return completion(offers[min(len(args), len(offers)-1)])(c, args, typed)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

func completion(o offer) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if o == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), offerWithin)
		defer cancel()
		var values []string
		for _, v := range o(ctx, c, args, typed) {
			if strings.HasPrefix(v, typed) && v == visible(v) && !slices.Contains(values, v) && len(values) < maxOffered {
				values = append(values, v)
			}
		}
		return values, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// read calls fn with a snapshot of the ledger, if there is one.
func (a *app) read(ctx context.Context, fn func(located, ledger.Reader) error) {
	where, err := a.locate(false)
	if err != nil {
		return
	}
	led, err := a.openReader(ctx, where)
	if err != nil {
		return
	}
	defer led.Close() // it was only read
	_ = led.Store().View(ctx, func(r ledger.Reader) error { return fn(where, r) })
}

// offerTasks names those of the configuration, else those of the ledger.
func (a *app) offerTasks(ctx context.Context, c *cobra.Command, args []string, _ string) (names []string) {
	if where, err := a.locate(false); err == nil && where.config != nil && c.Name() != "exec" {
		for _, t := range where.config.Tasks {
			names = append(names, t.Name)
		}
	} else {
		a.read(ctx, func(_ located, r ledger.Reader) error {
			batches, err := r.Batches("", "")
			for _, b := range batches {
				names = append(names, b.TaskName)
			}
			return err
		})
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(args, n) })
}

// offerDates names today, yesterday and the dates that the ledger holds.
func (a *app) offerDates(ctx context.Context, c *cobra.Command, args []string, _ string) []string {
	dates := []string{"today", "yesterday"}
	a.read(ctx, func(_ located, r ledger.Reader) error {
		batches, err := r.Batches(taskOf(c, args), "")
		for _, b := range slices.Backward(batches) {
			dates = append(dates, b.ExecuteDate)
		}
		return err
	})
	return dates
}

// offerBizIDs names records of the task and date that were given so far.
func (a *app) offerBizIDs(ctx context.Context, c *cobra.Command, args []string, typed string) (ids []string) {
	a.read(ctx, func(where located, r ledger.Reader) error {
		q := ledger.Query{TaskName: taskOf(c, args), BizPrefix: typed, Limit: maxOffered}
		if f := c.Flags().Lookup("date"); f != nil && f.Value.String() != "" {
			q.ExecuteDate, _ = parseDate(f.Value.String(), a.now(), where.zone) // a range: any date
		}
		found, err := r.List(q)
		for _, e := range found {
			ids = append(ids, e.BizID)
		}
		return err
	})
	return ids
}

func (a *app) offerRuns(ctx context.Context, _ *cobra.Command, _ []string, typed string) (ids []string) {
	a.read(ctx, func(_ located, r ledger.Reader) error {
		runs, err := r.Runs(ledger.RunQuery{IDPart: typed, Limit: maxOffered})
		for _, run := range runs {
			ids = append(ids, run.ID)
		}
		return err
	})
	return ids
}

// offerStatuses completes the last word of a list with commas.
func offerStatuses(typed string) (lists []string) {
	before := typed[:strings.LastIndex(typed, ",")+1]
	for _, s := range ledger.Statuses {
		if !slices.Contains(strings.Split(before, ","), s.String()) {
			lists = append(lists, before+s.String())
		}
	}
	return lists
}

// taskOf is the task that a command line is about, as far as it says so.
func taskOf(c *cobra.Command, args []string) string {
	if f := c.Flags().Lookup("task"); f != nil {
		return f.Value.String()
	}
	if len(args) > 0 {
		return args[0]
	}
	return ""
}
