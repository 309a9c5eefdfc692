package cmd

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// starterConfig is a task that runs as it stands.
//
//go:embed init.yaml
var starterConfig string

const (
	starterTask    = "hello"
	starterIDs     = "names.txt"
	starterRecords = "ann\nbob\n小明\n"
)

func newInitCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a commented runner.yaml with a task that runs",
		Long: `Write a commented runner.yaml, with a task that runs as it stands and the list
of its records. --config FILE writes that file instead. Nothing is overwritten.

EXIT STATUS
  0 written, 2 one of the files exists or can't be written.`,
		Example: `  runner init && runner run hello
  runner init --config jobs/runner.yaml`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return runInit(a) },
	}
}

type initJSON struct {
	Files []string `json:"files"`
	Next  string   `json:"next"`
}

func runInit(a *app) error {
	path := a.flags.config
	if path == "" {
		path = configName
	}
	// The configuration comes last: where it stands, all of it does.
	files := []struct{ path, text string }{
		{filepath.Join(filepath.Dir(path), starterIDs), starterRecords},
		{path, starterConfig},
	}
	for _, f := range files {
		if _, err := os.Lstat(f.path); err == nil {
			return existsError(f.path)
		}
	}
	var v initJSON
	for _, f := range files {
		if err := writeNew(f.path, f.text); err != nil {
			return err
		}
		v.Files = append(v.Files, f.path)
	}
	v.Next = "runner run " + starterTask
	if a.flags.config != "" {
		v.Next += " --config " + shellWord(path)
	}
	return object(a.p, v, []field{{"wrote", strings.Join(v.Files, ", ")}, {"next", v.Next}})
}

func writeNew(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return asUsage(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return existsError(path)
	}
	if err != nil {
		return asUsage(err)
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path) // half a file would stand in the way of the next try
		return asUsage(err)
	}
	return nil
}

func existsError(path string) error {
	return withHint(usagef("%s exists already, nothing was written", path), "remove it, or go to another folder")
}

// shellWord quotes s for a POSIX shell where it has to be.
func shellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
