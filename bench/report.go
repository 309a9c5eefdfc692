package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// row is one line of the table.
type row struct {
	part, what, target string
	measured           string
	met                string
	durability         string
}

// How durable what a figure stands for was; docs/benchmark.md explains the words.
const (
	ahead   = "claims ahead"
	justNow = "just in time"
	oneRow  = "the run's row"
	nothing = "read only"
)

// aim is a target: that the median is at least, or at most, a value; or with
// always that each round is.
type aim struct {
	value  float64
	most   bool
	always bool
	unit   string
}

func atLeast(v float64, unit string) aim { return aim{value: v, unit: unit} }
func atMost(v float64, unit string) aim  { return aim{value: v, unit: unit, most: true} }

func (a aim) String() string {
	sign := "≥"
	if a.most {
		sign = "≤"
	}
	digits := number(a.value)
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	if a.always {
		return sign + " " + digits + a.unit + " each time"
	}
	return sign + " " + digits + a.unit
}

func (a aim) met(s series) string {
	judged := series{s.median()}
	if a.always {
		judged = s
	}
	for _, v := range judged {
		if math.IsNaN(v) || (a.most && v > a.value) || (!a.most && v < a.value) {
			return "**no**"
		}
	}
	return "yes"
}

// measured adds a row. In a short run the sizes are too small to judge.
func (b *bench) measured(what string, a aim, s series, durability string) {
	r := row{part: b.part, what: what, target: a.String(), measured: s.String() + a.unit, met: a.met(s), durability: durability}
	if b.short {
		r.met = "–"
	}
	b.add(r)
}

func (b *bench) skipped(what string, a aim, why string) {
	b.add(row{part: b.part, what: what, target: a.String(), measured: "not measured: " + why, met: "–", durability: "–"})
}

// fact is a figure without a target.
func (b *bench) fact(what, measured string) {
	b.add(row{part: b.part, what: what, target: "–", measured: measured, met: "–", durability: "–"})
}

func (b *bench) add(r row) {
	b.rows = append(b.rows, r)
	b.say("   %s: %s, target %s, met: %s", r.what, r.measured, r.target, r.met)
}

// table is of all rows, or of those with a target alone.
func (b *bench) table(all bool) string {
	var t strings.Builder
	t.WriteString("| | what | target | median (spread) | met | durability |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range b.rows {
		if all || r.target != "–" {
			fmt.Fprintf(&t, "| %s | %s | %s | %s | %s | %s |\n", r.part, r.what, r.target, r.measured, r.met, r.durability)
		}
	}
	return t.String()
}

func (b *bench) summary() string {
	return fmt.Sprintf("%s\n\n%s", b.machine, b.table(true))
}

const intro = `<!-- Written by make bench. -->

# Benchmark

` + "`make bench`" + ` measures runner and its peers on one machine in one run, in
turn, and writes this page, cost.svg and the table in the README; with
` + "`PARTS=a,c`" + ` it only prints the table of these parts, and with ` + "`SHORT=1`" + ` it sees
that each part works. Ratios are made round by round: above 1, runner is the
faster one. A figure is the median, with the least and the most of the rounds in
brackets.

`

const durabilities = `
## Durability

In each figure the ledger is SQLite in WAL mode with ` + "`synchronous=FULL`" + `, or in
part k PostgreSQL with fsync and synchronous_commit on: a commit is on the disk
before it counts. The journal of a run is written at once and not
synced: it outlives its process, not its machine.

- *` + ahead + `* (` + "`idempotent: true`" + `): records are claimed ahead, up to a thousand in a
  durable commit before any of them starts; outcomes are in the journal at once and
  durable in the ledger before the run ends. A power cut repeats some of them.
- *` + justNow + `* (the default): the claim of each record is durable before it
  starts, in a commit it shares with what else is due at that moment. Outcomes as
  above.
- *` + oneRow + `*: no record was left to do; that there was a run is durable.
- *` + nothing + `*: nothing is written.

## How it is measured

`

func (b *bench) page() string {
	var p strings.Builder
	p.WriteString(intro + "Measured on " + b.machine.String() + ".\n\n" + b.table(true) + durabilities)
	for _, part := range parts {
		fmt.Fprintf(&p, "**%s. %s.** %s\n\n", part.letter, part.title, part.how)
	}
	return p.String() + "![cost of a record](cost.svg)\n"
}

const (
	readmeBegin = "<!-- bench: written by make bench -->\n"
	readmeEnd   = "<!-- /bench -->\n"
)

// quoted is the README with the table in its place.
func (b *bench) quoted(readme string) (string, error) {
	before, rest, found := strings.Cut(readme, readmeBegin)
	_, after, ended := strings.Cut(rest, readmeEnd)
	if !found || !ended {
		return "", errors.New("README.md has no place for the table")
	}
	return before + readmeBegin + b.table(false) + "\n" + b.machine.String() + ".\n" + readmeEnd + after, nil
}

func (b *bench) write(repo string) error {
	path := filepath.Join(repo, "README.md")
	readme, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	quoted, err := b.quoted(string(readme))
	if err != nil {
		return err
	}
	docs := filepath.Join(repo, "docs")
	return errors.Join(
		os.WriteFile(path, []byte(quoted), 0o644),
		os.WriteFile(filepath.Join(docs, "benchmark.md"), []byte(b.page()), 0o644),
		os.WriteFile(filepath.Join(docs, "cost.svg"), []byte(plot(b.costs)), 0o644))
}
