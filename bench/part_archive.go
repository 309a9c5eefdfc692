package main

import (
	"errors"
	"os"
	"slices"
	"time"
)

var archivePart = part{
	letter: "l", title: "Archive", run: (*bench).archive,
	how: "`runner ledger archive` of a batch of 1,000,000 done noop records (short: 2,000), while one `runner run` after another of a task with one record works on the same ledger: three transactions that wait for their turn and nothing else. Records/s until the command ends, with the file given back; how much longer than before the slowest of those runs took; and the size of the ledger against before. Three rounds (short: 1).",
}

func (b *bench) archive() error {
	n := b.size(1_000_000, 2000)
	var took, waits, sizes series
	for range b.rounds() {
		if err := b.fill(n); err != nil {
			return err
		}
		f := b.fills[n]
		one := b.runs("one", f.ledger())
		one.argv[slices.Index(one.argv, date)] = "2026-12-01"
		idle, err := b.alternate(b.size(21, 3), contender{"one", func() (usage, error) { return b.do(one) }})
		if err != nil {
			return err
		}
		before, err := os.Stat(f.ledger())
		if err != nil {
			return err
		}
		u, slowest, err := b.archiving(command{argv: []string{b.runner, "ledger", "archive", "--before", "2026-11-30", "-q"}, env: one.env}, one)
		if err != nil {
			return err
		}
		after, err := os.Stat(f.ledger())
		if err != nil {
			return err
		}
		took = append(took, u.wall.Seconds())
		waits = append(waits, max(0, slowest.Seconds()-idle["one"].median())*1000)
		sizes = append(sizes, float64(after.Size())/float64(before.Size()))
		if err := b.work.remove(f.folder); err != nil { // other parts want one that is full
			return err
		}
		delete(b.fills, n)
	}
	longest := atMost(250, " ms")
	longest.always = true
	b.measured("archive "+count(n)+" done records while runs go on", atLeast(100_000, " records/s"), took.rate(n), "file, then seal")
	b.measured("the same: how long a run waited for the ledger, at most", longest, waits, oneRow)
	b.measured("the same: the ledger afterwards, against before", atMost(0.25, "×"), sizes, "file, then seal")
	return nil
}

// archiving archives while one run after another works on the ledger, and gives
// how long the slowest of them took.
func (b *bench) archiving(archive, one command) (u usage, slowest time.Duration, err error) {
	a, err := b.start(archive)
	if err != nil {
		return u, 0, err
	}
	type result struct {
		usage
		error
	}
	ended := make(chan result, 1)
	go func() {
		u, err := a.wait()
		ended <- result{u, err}
	}()
	for {
		r, err := b.do(one)
		if err != nil {
			return u, 0, errors.Join(err, (<-ended).error)
		}
		slowest = max(slowest, r.wall)
		select {
		case e := <-ended:
			return e.usage, slowest, e.error
		default:
		}
	}
}
