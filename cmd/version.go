package cmd

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	sqlite3 "modernc.org/sqlite/lib"
)

// version is set by the build: -ldflags "-X runner/cmd.version=v1.2.3".
var version string

type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	SQLite  string `json:"sqlite"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of runner, of Go and of SQLite.

EXIT STATUS
  0.`,
		Example: `  runner version
  runner version -o json`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return runVersion(a) },
	}
}

func runVersion(a *app) error {
	v := thisVersion()
	return object(a.p, v, []field{
		{"runner", v.Version},
		{"commit", v.Commit},
		{"go", v.Go},
		{"sqlite", v.SQLite},
		{"system", v.OS + "/" + v.Arch},
	})
}

func thisVersion() versionInfo {
	v := versionInfo{
		Version: programVersion(),
		Go:      runtime.Version(),
		SQLite:  sqlite3.SQLITE_VERSION,
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	return v
}

// programVersion is what a run stores of the program: the version it was
// built as, else that of the module.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
