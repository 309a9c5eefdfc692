package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// bench is what all parts share.
type bench struct {
	ctx     context.Context
	short   bool
	work    *workspace
	repo    string
	base    string // folder of ids and of runner.yaml
	runner  string // the measured binary
	empty   string // a Go program that does nothing
	peers   map[string]string
	missing map[string]string // why a peer can't be used
	machine machine
	fills   map[int]*filled
	rows    []row
	costs   []cost
	part    string
	began   time.Time
}

// date is the execute date of all records.
const date = "2026-11-11"

const config = `tasks:
  noop:
    go: noop
    idempotent: true
  one:
    go: noop
    idempotent: true
` + httpTasks

func (b *bench) prepare(repo, binary string) (err error) {
	if b.base, err = b.work.make("base"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.base, "runner.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	if err := b.build(repo, binary); err != nil {
		return err
	}
	b.findPeers()
	if err := os.Chdir(b.base); err != nil {
		return err
	}
	b.machine, err = look(b.base)
	if err == nil {
		b.say("%s", b.machine)
	}
	return err
}

func (b *bench) build(repo, binary string) (err error) {
	b.empty = filepath.Join(b.base, "empty")
	source := filepath.Join(b.base, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return err
	}
	if _, err := b.do(command{argv: []string{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.empty, source}}); err != nil {
		return err
	}
	if binary != "" {
		if !filepath.IsAbs(binary) {
			binary = filepath.Join(repo, binary)
		}
		b.runner = binary
		return nil
	}
	b.runner = filepath.Join(b.base, "runner")
	_, err = b.do(command{dir: repo, env: []string{"CGO_ENABLED=0"}, argv: []string{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.runner, "."}})
	return err
}

// size is that of a full run, or a tiny one.
func (b *bench) size(full, short int) int {
	if b.short {
		return short
	}
	return full
}

// rounds is how often each contender runs.
func (b *bench) rounds() int { return b.size(3, 1) }

// ids is a file with n ids of 16 characters, made once.
func (b *bench) ids(n int) (string, error) {
	return b.lines(fmt.Sprintf("ids-%d", n), n, func(i int) string { return fmt.Sprintf("u%015d", i) })
}

func (b *bench) lines(name string, n int, line func(int) string) (string, error) {
	path := filepath.Join(b.base, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, writeLines(path, n, line)
}

func (b *bench) say(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "== %s (%.0fs)\n", fmt.Sprintf(format, values...), time.Since(b.began).Seconds())
}
