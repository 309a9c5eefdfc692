package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

var slowPart = part{
	letter: "f", title: "A slow fsync", run: (*bench).slow,
	how: "fsync and fdatasync take 5 ms longer, by a seccomp filter that asks the bench about them and about nothing else. 64 jobs of `sleep 0.02` (3,200 records, short: 128), against `xargs -n1 -P64 sleep 0.02` under the same filter.",
}

// delay is added to each fsync.
const delay = 5 * time.Millisecond

// canDelay sees whether an fsync is delayed, if it is to be.
func (b *bench) canDelay() error {
	u, err := b.do(command{argv: []string{"sync", b.base}, delay: delay})
	if err == nil && u.wall < delay {
		err = errors.New("no fsync was delayed")
	}
	return err
}

func (b *bench) slow() error {
	n, jobs := b.size(3200, 128), 64
	what := fmt.Sprintf("fsync +%s, %d jobs of 20 ms, ", milliseconds(delay), jobs)
	why := b.lacks("xargs")
	if err := b.canDelay(); err != nil && why == "" {
		why = "an fsync can't be delayed here: " + err.Error()
	}
	if why != "" {
		b.skipped(what+"held, against xargs", atLeast(0.9, "×"), why)
		return nil
	}
	// sleep adds up its arguments, so an id is next to nothing.
	ids, err := b.lines("naps", n, func(i int) string { return fmt.Sprintf("0.%014d", i) })
	if err != nil {
		return err
	}
	sleeper := func(name string, more time.Duration, flags ...string) contender {
		return contender{name, func() (usage, error) {
			return b.inLedger(n, command{argv: b.execArgs(ids, jobs, flags, "sleep", "0.02", "{}"), delay: more})
		}}
	}
	xargs := contender{"xargs", func() (usage, error) {
		return b.do(command{stdin: ids, argv: []string{"xargs", "-n1", "-P" + strconv.Itoa(jobs), "sleep", "0.02"}, delay: delay})
	}}
	s, err := b.alternate(b.rounds(), xargs, sleeper("held", delay), sleeper("idempotent", delay, "--idempotent"), sleeper("at once", 0))
	if err != nil {
		return err
	}
	b.against(what, "xargs", s, atLeast(0.9, "×"), atLeast(0.9, "×"))
	b.fact(what+"records/s of idempotent, held, xargs", rates(n, s["idempotent"], s["held"], s["xargs"]))
	b.fact(what+"held, against itself with the fsync as it is", s["held"].ratio(s["at once"]).String()+"×")
	b.fact("fsync as it is, 64 jobs of 20 ms, held, against xargs", s["at once"].ratio(s["xargs"]).String()+"×")
	return nil
}
