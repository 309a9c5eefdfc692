package cmd

import (
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newManCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "man [DIR]",
		Short: "Write the manual pages",
		Long: `Write the manual pages of all commands into DIR, which is made if it isn't
there; without DIR only that of runner itself, to stdout. The same program
writes the same bytes each time: their date is that of the commit it was built
from, or the one in $SOURCE_DATE_EPOCH.

EXIT STATUS
  0 written, 2 DIR can't be written or $SOURCE_DATE_EPOCH is no number.`,
		Example: `  runner man | man -l -
  runner man /usr/local/share/man/man1`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return exactly("DIR")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return runMan(a, c.Root(), args) },
	}
}

type manJSON struct {
	Dir   string `json:"dir"`
	Pages int    `json:"pages"`
}

func runMan(a *app, root *cobra.Command, args []string) error {
	date, err := manDate(a.getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	if len(args) == 0 {
		_, err := io.WriteString(a.p.out, manPage(root, date))
		return quietly(err)
	}
	v := manJSON{Dir: args[0]}
	if err := os.MkdirAll(v.Dir, 0o777); err != nil {
		return asUsage(err)
	}
	var write func(*cobra.Command) error
	write = func(c *cobra.Command) error {
		if c.HasParent() && !c.IsAvailableCommand() {
			return nil
		}
		v.Pages++
		if err := os.WriteFile(filepath.Join(v.Dir, manName(c)+".1"), []byte(manPage(c, date)), 0o666); err != nil {
			return asUsage(err)
		}
		for _, sub := range c.Commands() {
			if err := write(sub); err != nil {
				return err
			}
		}
		return nil
	}
	if err := write(root); err != nil {
		return err
	}
	return object(a.p, v, []field{{"wrote", plural(int64(v.Pages), "page")}, {"into", v.Dir}})
}

// manDate is the date in the pages: never that of today, so that a package
// can be built again byte by byte.
func manDate(epoch string) (time.Time, error) {
	if epoch != "" {
		s, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return time.Time{}, usagef("$SOURCE_DATE_EPOCH: %q is no number of seconds since 1970", epoch)
		}
		return time.Unix(s, 0).UTC(), nil
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if t, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				return t.UTC(), nil
			}
		}
	}
	return time.Unix(0, 0).UTC(), nil
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }
