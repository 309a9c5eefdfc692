package main

import (
	"fmt"
	"strconv"
	"time"
)

var slowPart = part{
	letter: "f", title: "A slow fsync", run: (*bench).slow,
	how: "fsync and fdatasync take 5 ms longer, by `strace --seccomp-bpf -f -e inject=fsync,fdatasync:delay_exit=5000`. 64 jobs of `sleep 0.02` (3,200 records, short: 128), against `xargs -n1 -P64 sleep 0.02` under the same strace, so that both pay for being traced.",
}

// delay is added to each fsync.
const delay = 5 * time.Millisecond

// slowed is a command whose fsyncs take longer by delay.
func slowed(argv ...string) []string { return traced(delay, argv) }

func traced(more time.Duration, argv []string) []string {
	strace := []string{"strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fsync,fdatasync"}
	if more > 0 {
		strace = append(strace, "-e", "inject=fsync,fdatasync:delay_exit="+strconv.FormatInt(more.Microseconds(), 10))
	}
	return append(strace, argv...)
}

func (b *bench) slow() error {
	n, jobs := b.size(3200, 128), 64
	what := fmt.Sprintf("fsync +%s, %d jobs of 20 ms, ", milliseconds(delay), jobs)
	for _, name := range []string{"xargs", "strace"} {
		if why := b.lacks(name); why != "" {
			b.skipped(what+"held, against xargs", atLeast(0.9, "×"), why)
			return nil
		}
	}
	// sleep adds up its arguments, so an id is next to nothing.
	ids, err := b.lines("naps", n, func(i int) string { return fmt.Sprintf("0.%014d", i) })
	if err != nil {
		return err
	}
	sleeper := func(name string, more time.Duration, flags ...string) contender {
		return contender{name, func() (usage, error) {
			return b.inLedger(n, traced(more, b.execArgs(ids, jobs, flags, "sleep", "0.02", "{}")))
		}}
	}
	xargs := contender{"xargs", func() (usage, error) {
		return b.do(command{stdin: ids, argv: slowed("xargs", "-n1", "-P"+strconv.Itoa(jobs), "sleep", "0.02")})
	}}
	s, err := b.alternate(b.rounds(), xargs, sleeper("held", delay), sleeper("idempotent", delay, "--idempotent"), sleeper("at once", 0))
	if err != nil {
		return err
	}
	b.against(what, "xargs", s, atLeast(0.9, "×"), atLeast(0.9, "×"))
	b.fact(what+"records/s of idempotent, held, xargs", rates(n, s["idempotent"], s["held"], s["xargs"]))
	b.fact(what+"held, against itself without the delay, both traced", s["held"].ratio(s["at once"]).String()+"×")
	b.fact("no delay, 64 jobs of 20 ms, held, against xargs, both traced", s["at once"].ratio(s["xargs"]).String()+"×")
	return nil
}
