package main

import "fmt"

var costPart = part{
	letter: "h", title: "Cost of a record, from 10 thousand to 10 million", run: (*bench).cost,
	how: "Time for a record of parts b and c with more and fewer records, each round in a new ledger; of 10 million there is one round. Flat means: at the largest size at most half as much again as at 100,000.",
}

// cost is that of a record in a batch of n, in microseconds.
type cost struct {
	n          int
	noop, skip series
}

func (b *bench) cost() error {
	sizes := []int{10_000, 100_000, 1_000_000, 10_000_000}
	if b.short {
		sizes = []int{2000, 20_000}
	}
	for _, n := range sizes {
		rounds := b.rounds()
		if n > 1_000_000 {
			rounds = 1
		}
		f, err := b.atLeast(n, rounds, rounds)
		if err != nil {
			return err
		}
		each := func(seconds float64) float64 { return seconds * 1e6 / float64(n) }
		c := cost{n, seconds(f.fill).to(each), seconds(f.skip).to(each)}
		b.costs = append(b.costs, c)
		b.fact(fmt.Sprintf("a record of %s: noop, skip", count(n)), c.noop.String()+" µs, "+c.skip.String()+" µs")
	}
	if b.short {
		return nil
	}
	base, most := b.costs[1], b.costs[len(b.costs)-1]
	flat := atMost(1.5, "×")
	b.measured(fmt.Sprintf("noop: cost at %s, against %s", count(most.n), count(base.n)), flat, series{most.noop.median() / base.noop.median()}, ahead)
	b.measured(fmt.Sprintf("skip: cost at %s, against %s", count(most.n), count(base.n)), flat, series{most.skip.median() / base.skip.median()}, oneRow)
	return nil
}
