// Command bench measures runner against what people would use instead, on the
// machine it runs on and in one run, and writes docs/benchmark.md, docs/cost.svg
// and the table in README.md. It is a program of its own: it starts the built
// binary like a user does, and imports nothing of the product.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A part measures one thing and adds its rows to the report.
type part struct {
	letter string
	title  string
	how    string // for docs/benchmark.md
	run    func(*bench) error
}

var parts = []part{spawnPart, rerunPart, noopPart, startPart, bytesPart, slowPart, sharePart, costPart, sqlPart, httpPart, archivePart}

type options struct {
	short  bool
	parts  string
	runner string
	dir    string
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == loopWord {
		exit(httpLoop(os.Args[2], os.Args[3]))
		return
	}
	var o options
	flag.BoolVar(&o.short, "short", false, "tiny sizes: only see that each part works; nothing is written")
	flag.StringVar(&o.parts, "parts", "", "only these parts, such as a,c; nothing is written")
	flag.StringVar(&o.runner, "runner", "", "the `binary` to measure (default: built from this folder)")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "measure on the file system of this `folder`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(run(ctx, o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	chosen, err := choose(o.parts)
	if err != nil {
		return err
	}
	repo, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(repo, "bench", "main.go")); err != nil {
		return errors.New("start it at the root of the repository: make bench")
	}
	work, err := newWorkspace(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, work.close()) }()
	b := &bench{ctx: ctx, short: o.short, work: work, fills: map[int]*filled{}, began: time.Now()}
	if err := b.prepare(repo, o.runner); err != nil {
		return err
	}
	for _, p := range chosen {
		b.say("%s. %s", p.letter, p.title)
		b.part = p.letter
		if err := p.run(b); err != nil {
			return fmt.Errorf("part %s: %w", p.letter, err)
		}
	}
	b.machine.end()
	b.say("finished")
	fmt.Print(b.summary())
	if o.short || o.parts != "" {
		return nil
	}
	return b.write(repo)
}

func choose(letters string) ([]part, error) {
	if letters == "" {
		return parts, nil
	}
	var chosen []part
	for letter := range strings.SplitSeq(letters, ",") {
		found := false
		for _, p := range parts {
			if p.letter == strings.TrimSpace(letter) {
				chosen, found = append(chosen, p), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no part %q: they are a to %s", letter, parts[len(parts)-1].letter)
		}
	}
	return chosen, nil
}
