package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
)

var serverPart = part{
	letter: "k", title: "A ledger on PostgreSQL", run: (*bench).server,
	how: "A server of its own on the same machine, with fsync and synchronous_commit on, reached by its socket, and a new database for each round. " +
		"A million noop records (short: 2,000) by one and by four `runner run` at once, of a batch that is planned already: records/s of all of them from the first start to the last end, in which each reads and compares the whole input for itself first. " +
		"The same by one process in a new ledger, with the plan. A run of the million when all is done. " +
		"And 2,000 records (short: 40) that each spawn `sleep 0.02`, 2 jobs a process, held: four processes against one. " +
		"River's unique jobs are inserted before, and done by four processes of 2,000 workers each that fetch without a pause: 200,000 of them (short: 500), compared by the time for each.",
}

// server measures a ledger that many hosts could share.
func (b *bench) server() (err error) {
	s, why, err := b.startPostgres()
	if err != nil {
		return err
	}
	n, naps := b.size(1_000_000, 2000), b.size(2000, 40)
	noop, skip, slow := atLeast(30_000, " records/s"), atLeast(200_000, " ids/s"), atLeast(3.6, "×")
	noopWhat := fmt.Sprintf("postgres, 4 processes, %s noop", count(n))
	skipWhat := fmt.Sprintf("postgres, rerun of %s done ids", count(n))
	slowWhat := fmt.Sprintf("postgres, %s sleep 0.02: 4 processes, against one", count(naps))
	if s == nil {
		b.skipped(noopWhat, noop, why)
		b.skipped(skipWhat, skip, why)
		b.skipped(slowWhat, slow, why)
		return nil
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	ids, err := b.ids(n)
	if err != nil {
		return err
	}
	work := b.runs("noop", "", "--from", ids)
	var again series
	t, err := b.alternate(b.rounds(),
		contender{"1", func() (usage, error) { return s.shared(work, n, 1) }},
		contender{"4", func() (usage, error) { return s.shared(work, n, 4) }},
		contender{"new", func() (u usage, err error) {
			u, skipped, err := s.fill(work, n)
			again = append(again, skipped.wall.Seconds())
			return u, err
		}})
	if err != nil {
		return err
	}
	b.measured(noopWhat, noop, t["4"].rate(n), ahead)
	b.fact("postgres, records/s of four processes, of one, of one with the plan, "+count(n)+" noop", rates(n, t["4"], t["1"], t["new"]))
	b.measured(skipWhat, skip, again.rate(n), oneRow)
	if err := b.river(s, t["4"].to(func(seconds float64) float64 { return seconds / float64(n) })); err != nil {
		return err
	}

	// sleep adds up its arguments, so an id is next to nothing.
	if ids, err = b.lines("server-naps", naps, func(i int) string { return fmt.Sprintf("0.%014d", i) }); err != nil {
		return err
	}
	work = command{argv: b.execArgs(ids, 2, nil, "sleep", "0.02", "{}")}
	t, err = b.alternate(b.rounds(),
		contender{"1", func() (usage, error) { return s.shared(work, naps, 1) }},
		contender{"4", func() (usage, error) { return s.shared(work, naps, 4) }})
	if err != nil {
		return err
	}
	b.measured(slowWhat, slow, t["4"].ratio(t["1"]), justNow)
	b.fact("postgres, records/s of one and four processes, "+count(naps)+" sleep 0.02", rates(naps, t["1"], t["4"]))
	return nil
}

// shared lets k processes do a batch in a new ledger.
func (p *postgres) shared(run command, n, k int) (u usage, err error) {
	err = p.inDatabase(func(address string) error {
		u, _, err = p.b.race(run, address, n, k)
		return err
	})
	return u, err
}

// fill lets one process plan and do a batch in a new ledger, and then skip it.
func (p *postgres) fill(run command, n int) (filled, skipped usage, err error) {
	err = p.inDatabase(func(address string) error {
		run.env = []string{"RUNNER_LEDGER=" + address}
		if filled, err = p.b.do(run); err == nil {
			err = filled.expect(n, n)
		}
		if err != nil {
			return err
		}
		if skipped, err = p.b.do(run); err == nil {
			err = skipped.expect(0, n)
		}
		return err
	})
	return filled, skipped, err
}

// inDatabase makes a database for a while.
func (p *postgres) inDatabase(fn func(address string) error) (err error) {
	const name = "ledger"
	if err := p.exec("CREATE DATABASE " + name); err != nil {
		return err
	}
	u, err := url.Parse(p.address)
	if err == nil {
		u.Path = "/" + name
		err = fn(u.String())
	}
	return errors.Join(err, p.exec("DROP DATABASE "+name+" WITH (FORCE)"))
}

func (p *postgres) exec(statement string) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, p.address)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, statement)
	return errors.Join(err, c.Close(ctx))
}
