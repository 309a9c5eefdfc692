package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manPage makes the manual page of a command from its help, in the macros of
// man(7). cobra/doc would go by way of Markdown, which takes the exit codes
// for one paragraph and has no name for the value of a flag.
func manPage(c *cobra.Command, date time.Time) string {
	c.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 %q %q runner\n", strings.ToUpper(manName(c)), date.Format(time.DateOnly), "runner "+programVersion())
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(manName(c)), roff(c.Short), roff(manSynopsis(c)))
	long, codes, _ := strings.Cut(c.Long, "\nEXIT STATUS\n")
	b.WriteString(".SH DESCRIPTION\n" + manText(long))
	manCommands(&b, c)
	manFlags(&b, "OPTIONS", c.LocalNonPersistentFlags())
	if !c.HasParent() {
		manFlags(&b, "SHARED OPTIONS", c.PersistentFlags())
	}
	if codes != "" {
		b.WriteString(".SH EXIT STATUS\n" + manText(codes))
	}
	if c.HasExample() {
		b.WriteString(".SH EXAMPLES\n" + manText(c.Example))
	}
	manSeeAlso(&b, c)
	return b.String()
}

func manSynopsis(c *cobra.Command) string {
	if c.HasAvailableSubCommands() {
		return c.CommandPath() + " COMMAND [flags]"
	}
	return c.UseLine()
}

func manCommands(b *strings.Builder, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
		}
	}
}

func manFlags(b *strings.Builder, title string, set *pflag.FlagSet) {
	set.SortFlags = false
	if !set.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		names := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			names = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + names
		}
		if name != "" {
			names += ` \fI` + roff(name) + `\fR`
		}
		if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", names, roff(usage))
	})
}

// manSeeAlso names the page above, on which the shared options are, and those
// below.
func manSeeAlso(b *strings.Builder, c *cobra.Command) {
	var pages []string
	for up := c; up.HasParent(); up = up.Parent() {
		pages = append(pages, manName(up.Parent()))
	}
	slices.Reverse(pages)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, manName(sub))
		}
	}
	for i, p := range pages {
		pages[i] = `\fB` + roff(p) + `\fR(1)`
	}
	fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", strings.Join(pages, ",\n"))
}

// manText fills paragraphs, and keeps what is indented as it is.
func manText(text string) string {
	var b strings.Builder
	kept := false
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")
		inner, indented := strings.CutPrefix(line, "  ")
		switch {
		case indented && !kept:
			b.WriteString(".nf\n")
		case kept && !indented:
			b.WriteString(".fi\n")
		}
		kept = indented
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(inner) + "\n")
	}
	if kept {
		b.WriteString(".fi\n")
	}
	return b.String()
}

var roffChars = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// roff writes a line so that none of its signs is a command.
func roff(line string) string {
	line = roffChars.Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
