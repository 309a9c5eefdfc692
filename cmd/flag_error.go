package cmd

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"runner/runner"
)

// flagError words what pflag says of a flag.
func flagError(c *cobra.Command, err error) error {
	var (
		invalid *pflag.InvalidValueError
		unknown *pflag.NotExistError
	)
	switch {
	case errors.As(err, &invalid):
		why := invalid.Unwrap().Error()
		if strings.Contains(why, "strconv.") {
			why = "not a number"
			if invalid.GetFlag().Value.Type() == "bool" {
				why = "not true or false"
			}
		}
		return withHint(usagef("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), strings.TrimPrefix(why, "time: ")), "%s --help lists the flags", c.CommandPath())
	case errors.As(err, &unknown):
		if near := nearFlags(c, unknown.GetSpecifiedName()); len(near) > 0 {
			return withHint(asUsage(err), "did you mean %s?", strings.Join(near, " or "))
		}
	}
	return withHint(asUsage(err), "%s --help lists the flags", c.CommandPath())
}

// nearFlags are the flags whose names begin like a name, or it like them, and
// those with the same letters but one.
func nearFlags(c *cobra.Command, name string) (near []string) {
	look := func(f *pflag.Flag) {
		if len(name) > 1 && !f.Hidden && (strings.HasPrefix(f.Name, name) || strings.HasPrefix(name, f.Name) || oneOff(f.Name, name)) {
			near = append(near, "--"+f.Name)
		}
	}
	c.Flags().VisitAll(look)
	return slices.Compact(near)
}

// oneOff tells whether two words differ by one letter, or by the order of two.
func oneOff(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(b) && a[i] == b[i] {
		i++
	}
	switch len(a) - len(b) {
	case 1:
		return a[i+1:] == b[i:]
	case 0:
		return i < len(a) && (a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:])
	}
	return false
}

// withSummary prints an error of usage as a summary too where a script that
// reads one waits for it.
func (a *app) withSummary(err error) error {
	words := slices.DeleteFunc(slices.Clone(a.args), func(s string) bool { return strings.HasPrefix(s, "-") })
	if len(words) == 0 || !slices.Contains([]string{"run", "exec", "rerun"}, words[0]) || !wantsJSON(a.args) {
		return err
	}
	s := runner.Summary{Result: runner.Invalid, Error: err.Error()}
	if perr := writeJSON(a.p.out, newSummary(s, nil), "\n"); perr != nil {
		return perr
	}
	return err
}

// wantsJSON looks for -o json among arguments that couldn't be parsed.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--":
			return false
		case "-ojson", "-ojsonl", "-o=json", "-o=jsonl", "--output=json", "--output=jsonl":
			return true
		case "-o", "--output":
			return i+1 < len(args) && strings.HasPrefix(args[i+1], "json")
		}
	}
	return false
}
