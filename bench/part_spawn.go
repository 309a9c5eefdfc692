package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

var spawnPart = part{
	letter: "a", title: "Records that each spawn a process", run: (*bench).spawn,
	how: "10,000 records that each start `/bin/true` (short: 100), each time in a new ledger: " +
		"`runner exec --from ids -j N [--idempotent] -- /bin/true {}` against `xargs -n1 -P N /bin/true`, " +
		"and GNU `parallel -j N --joblog`, which gets a fifth of the ids, for each id.",
}

func (b *bench) spawn() error {
	n := b.size(10_000, 100)
	ids, err := b.ids(n)
	if err != nil {
		return err
	}
	some, err := b.ids(n / fewer)
	if err != nil {
		return err
	}
	for _, at := range []struct {
		jobs             int
		idempotent, held float64
	}{{2, 0.75, 0.55}, {8, 0.9, 0.75}} {
		list := []contender{b.exec("idempotent", ids, n, at.jobs, "--idempotent"), b.exec("held", ids, n, at.jobs)}
		if b.lacks("xargs") == "" {
			list = append(list, b.xargs(ids, at.jobs))
		}
		if b.lacks("parallel") == "" {
			list = append(list, b.parallel(some, at.jobs))
		}
		s, err := b.alternate(b.rounds(), list...)
		if err != nil {
			return err
		}
		s["parallel"] = s["parallel"].to(func(seconds float64) float64 { return seconds * fewer })
		what := fmt.Sprintf("spawn %s, %d jobs, ", count(n), at.jobs)
		b.against(what, "xargs", s, atLeast(at.idempotent, "×"), atLeast(at.held, "×"))
		b.against(what, "parallel", s, atLeast(4, "×"), atLeast(4, "×"))
		b.fact(what+"records/s of idempotent, held, xargs, parallel", rates(n, s["idempotent"], s["held"], s["xargs"], s["parallel"]))
	}
	return nil
}

// fewer is how many times fewer ids GNU parallel gets, for it takes long.
const fewer = 5

func (b *bench) against(what, peer string, s map[string]series, idempotent, held aim) {
	for _, m := range []struct {
		name, durability string
		aim              aim
	}{{"idempotent", ahead, idempotent}, {"held", justNow, held}} {
		if why := b.lacks(peer); why != "" {
			b.skipped(what+m.name+", against "+peer, m.aim, why)
			continue
		}
		b.measured(what+m.name+", against "+peer, m.aim, s[m.name].ratio(s[peer]), m.durability)
	}
}

// rates are records/s, for people.
func rates(n int, list ...series) string {
	var all []string
	for _, s := range list {
		if len(s) == 0 {
			all = append(all, "–")
			continue
		}
		all = append(all, number(s.rate(n).median()))
	}
	return strings.Join(all, " · ")
}

func (b *bench) xargs(ids string, jobs int) contender {
	return contender{"xargs", func() (usage, error) {
		return b.do(command{stdin: ids, argv: []string{"xargs", "-n1", "-P" + strconv.Itoa(jobs), "/bin/true"}})
	}}
}

func (b *bench) parallel(ids string, jobs int) contender {
	return contender{"parallel", func() (usage, error) {
		folder, err := b.work.make("parallel")
		if err != nil {
			return usage{}, err
		}
		u, err := b.do(command{argv: []string{"parallel", "--will-cite", "-j" + strconv.Itoa(jobs), "--joblog", filepath.Join(folder, "log"), "/bin/true", "{}", "::::", ids}})
		if err != nil {
			return u, err
		}
		return u, b.work.remove(folder)
	}}
}

func (b *bench) exec(name, ids string, n, jobs int, flags ...string) contender {
	return contender{name, func() (usage, error) {
		return b.inLedger(n, command{argv: b.execArgs(ids, jobs, flags, "/bin/true", "{}")})
	}}
}

func (b *bench) execArgs(ids string, jobs int, flags []string, words ...string) []string {
	argv := append([]string{b.runner, "exec", "spawn", "--date", date, "--from", ids, "-j", strconv.Itoa(jobs), "-q", "--progress", "none", "-o", "json"}, flags...)
	return append(append(argv, "--"), words...)
}

// inLedger runs it in a new ledger, in which n records are done then.
func (b *bench) inLedger(n int, c command) (usage, error) {
	folder, err := b.work.make("spawn")
	if err != nil {
		return usage{}, err
	}
	c.env = append(c.env, "RUNNER_LEDGER="+filepath.Join(folder, "ledger.db"))
	u, err := b.do(c)
	if err == nil {
		err = u.expect(n, n)
	}
	if err != nil {
		return u, err
	}
	return u, b.work.remove(folder)
}
