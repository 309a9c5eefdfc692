package main

var startPart = part{
	letter: "d", title: "Starts on a large ledger", run: (*bench).starts,
	how: "On the ledger of part c: a run of a task with one record that is done, a `rerun` that finds nothing, and `ledger ls` of the newest 50 of all, in turn with a Go program whose `main` is empty; 41 rounds (short: 3).",
}

func (b *bench) starts() error {
	n := b.size(1_000_000, 2000)
	f, err := b.atLeast(n, 1, 0)
	if err != nil {
		return err
	}
	one := b.runs("one", f.ledger())
	if _, err := b.do(one); err != nil {
		return err
	}
	simple := func(name string, argv ...string) contender {
		return contender{name, func() (usage, error) { return b.do(command{argv: argv, env: one.env}) }}
	}
	s, err := b.alternate(b.size(41, 3),
		simple("empty", b.empty),
		simple("one", one.argv...),
		simple("rerun", b.runner, "rerun", "noop", "--date", date, "-q"),
		simple("ls", b.runner, "ledger", "ls", "-q"))
	if err != nil {
		return err
	}
	for _, r := range [][3]string{{"one", "nothing to do: run", oneRow}, {"rerun", "nothing to do: rerun", nothing}, {"ls", "ledger ls, newest 50", nothing}} {
		more := s[r[0]].each(s["empty"], func(a, empty float64) float64 { return (a - empty) * 1000 })
		b.measured(r[1]+", on "+count(n)+" records, more than an empty Go program", atMost(15, " ms"), more, r[2])
	}
	b.fact("the empty Go program", s["empty"].to(func(v float64) float64 { return v * 1000 }).String()+" ms")
	return nil
}
