package main

var reportPart = part{
	letter: "m", title: "A report on a large ledger", run: (*bench).report,
	how: "On ledgers of 100,000 and of 10 million done records (short: 2,000 and 20,000): `runner report`, the calendar of a month, and `runner report --html`, the page. 3 rounds. The page looks at the newest million records for the slowest ones.",
}

func (b *bench) report() error {
	small, large := b.size(100_000, 2000), b.size(10_000_000, 20_000)
	memory := map[int]series{}
	for _, n := range []int{small, large} {
		f, err := b.atLeast(n, 1, 0)
		if err != nil {
			return err
		}
		one := func(more ...string) ([]usage, error) {
			var list []usage
			for range b.rounds() {
				argv := append([]string{b.runner, "report", "--from", "2026-11-01", "--to", "2026-11-30", "-q"}, more...)
				u, err := b.do(command{argv: argv, env: []string{"RUNNER_LEDGER=" + f.ledger()}})
				if err != nil {
					return nil, err
				}
				list = append(list, u)
			}
			return list, nil
		}
		calendar, err := one()
		if err != nil {
			return err
		}
		page, err := one("--html", "-")
		if err != nil {
			return err
		}
		memory[n] = megabytes(page)
		if n != large {
			continue
		}
		toMS := func(s float64) float64 { return s * 1000 }
		b.measured("report of "+count(n)+" records: the calendar", atMost(50, " ms"), seconds(calendar).to(toMS), nothing)
		b.measured("report of "+count(n)+" records: the page", atMost(2000, " ms"), seconds(page).to(toMS), nothing)
		b.measured("report of "+count(n)+" records, peak memory", atMost(60, " MB"), memory[n], nothing)
	}
	b.measured("report: memory at "+count(large)+", against "+count(small), atMost(1.25, "×"), memory[small].ratio(memory[large]), nothing)
	return nil
}
