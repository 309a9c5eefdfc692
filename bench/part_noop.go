package main

import "fmt"

var noopPart = part{
	letter: "c", title: "Records that do nothing", run: (*bench).noop,
	how: "`runner run` of a task with `go: noop` and `idempotent: true` (short: 2,000 records): a million are planned, claimed, run and settled in a new ledger, the start of the process included.",
}

func (b *bench) noop() error {
	n := b.size(1_000_000, 2000)
	f, err := b.atLeast(n, b.rounds(), 0)
	if err != nil {
		return err
	}
	b.measured("plan, claim, run and settle "+count(n)+" noop", atLeast(100_000, " records/s"), seconds(f.fill).rate(n), ahead)
	b.measured("the same, peak memory", atMost(100, " MB"), megabytes(f.fill), ahead)
	u, err := b.do(command{argv: []string{b.empty}})
	b.fact("peak memory of an empty Go program, measured the same way", megabytes([]usage{u}).String()+" MB")
	return err
}

var bytesPart = part{
	letter: "e", title: "Bytes on disk", run: (*bench).bytes,
	how: "All files of the ledger after the run of part c, with ids of 16 characters, divided by its records.",
}

func (b *bench) bytes() error {
	n := b.size(1_000_000, 2000)
	f, err := b.atLeast(n, 1, 0)
	if err != nil {
		return err
	}
	size, err := folderSize(f.folder)
	if err != nil {
		return err
	}
	b.measured(fmt.Sprintf("a done record on disk, of %s", count(n)), atMost(120, " bytes"), series{float64(size) / float64(n)}, ahead)
	return nil
}
