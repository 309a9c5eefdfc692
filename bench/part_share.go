package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"
)

var sharePart = part{
	letter: "g", title: "Several processes on one ledger", run: (*bench).share,
	how: "One, two and four `runner run` at once, of one batch that is planned already: 400,000 noop records, and 4,000 that each spawn `sleep 0.001`, 2 jobs a process (short: 2,000 and 100): records/s of all of them from the first start to the last end, against those of one; and by how much the share of the worst differs from an equal one. Each reads and compares the whole input for itself first.",
}

func (b *bench) share() error {
	n := b.size(400_000, 2000)
	ids, err := b.ids(n)
	if err != nil {
		return err
	}
	if err := b.shared(count(n)+" noop", n, b.runs("noop", "", "--from", ids)); err != nil {
		return err
	}
	n = b.size(4000, 100)
	// sleep adds up its arguments, so an id is next to nothing.
	if ids, err = b.lines("short-naps", n, func(i int) string { return fmt.Sprintf("0.%014d", i) }); err != nil {
		return err
	}
	return b.shared(count(n)+" sleep 0.001", n, command{argv: b.execArgs(ids, 2, []string{"--idempotent"}, "sleep", "0.001", "{}")})
}

func (b *bench) shared(what string, n int, run command) error {
	off := map[int]series{}
	var list []contender
	for _, k := range []int{1, 2, 4} {
		list = append(list, contender{fmt.Sprint(k), func() (usage, error) {
			u, worst, err := b.together(run, n, k)
			off[k] = append(off[k], 100*worst)
			return u, err
		}})
	}
	s, err := b.alternate(b.rounds(), list...)
	if err != nil {
		return err
	}
	fair := atMost(20, " %")
	fair.always = true // for a process that gets nothing once is not treated fairly
	for _, k := range []int{2, 4} {
		name := fmt.Sprintf("%d processes, %s: ", k, what)
		b.measured(name+"together, against one", atLeast(1, "×"), s[fmt.Sprint(k)].ratio(s["1"]), ahead)
		b.measured(name+"the worst share off an equal one", fair, off[k], ahead)
	}
	b.fact("records/s of one, two and four processes, "+what, rates(n, s["1"], s["2"], s["4"]))
	return nil
}

// together lets k processes do a batch that is planned already. The worst share
// is told as a part of an equal one.
func (b *bench) together(run command, n, k int) (u usage, worst float64, err error) {
	folder, err := b.work.make("share")
	if err != nil {
		return u, 0, err
	}
	if u, worst, err = b.race(run, filepath.Join(folder, "ledger.db"), n, k); err != nil {
		return u, worst, err
	}
	return u, worst, b.work.remove(folder)
}

// race plans a batch, lets k processes do it, and looks whether that was each
// record once.
func (b *bench) race(run command, ledger string, n, k int) (u usage, worst float64, err error) {
	run.env = []string{"RUNNER_LEDGER=" + ledger}
	first := run
	first.argv = slices.Insert(slices.Clone(run.argv), 3, "--limit", "1")
	if _, err := b.do(first); err != nil && b.ctx.Err() != nil {
		return u, 0, err // that records wait for a later run is no error here
	}
	began := time.Now()
	var all []*started
	for range k {
		s, err := b.start(run)
		if err != nil {
			return u, 0, err
		}
		all = append(all, s)
	}
	sum := 0
	for _, s := range all {
		one, failed := s.wait()
		r, unread := one.ran()
		err = errors.Join(err, failed, unread)
		sum += r.Executed
		worst = max(worst, math.Abs(float64(r.Executed)*float64(k)/float64(n-1)-1))
	}
	u.wall = time.Since(began)
	switch {
	case err != nil:
		return u, worst, err
	case sum != n-1:
		return u, worst, fmt.Errorf("%d processes executed %d records of %d", k, sum, n-1)
	}
	return u, worst, nil
}
