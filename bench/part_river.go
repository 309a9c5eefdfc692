package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// river measures River's unique jobs on the same server. perRecord is what
// runner's records took.
func (b *bench) river(p *postgres, perRecord series) error {
	n := b.size(200_000, 500)
	what, target := "postgres, 4 processes, noop, against River's unique jobs", atLeast(1, "×")
	binary := filepath.Join(b.base, "river")
	build := command{dir: filepath.Join(b.repo, "bench", "river"), env: []string{"CGO_ENABLED=0"}, argv: []string{"go", "build", "-trimpath", "-o", binary, "."}}
	if _, err := b.do(build); err != nil { // it may have to be fetched
		b.say("%v", err)
		b.skipped(what, target, "River can't be built here")
		return b.ctx.Err()
	}
	ids, err := b.ids(n)
	if err != nil {
		return err
	}
	t, err := b.alternate(b.rounds(), contender{"river", func() (u usage, err error) {
		err = p.inDatabase(func(address string) error {
			if _, err := b.do(command{argv: []string{binary, "insert", address, ids}}); err != nil {
				return err
			}
			u, err = b.workRiver(binary, address, n)
			return err
		})
		return u, err
	}})
	if err != nil {
		return err
	}
	each := t["river"].to(func(seconds float64) float64 { return seconds / float64(n) })
	b.measured(what, target, perRecord.ratio(each), ahead)
	b.fact("postgres, jobs/s of River, "+count(n), rates(n, t["river"]))
	return nil
}

// workRiver lets four processes do all jobs, and looks whether they did.
func (b *bench) workRiver(binary, address string, n int) (u usage, err error) {
	began := time.Now()
	var all []*started
	for range 4 {
		s, err := b.start(command{argv: []string{binary, "work", address}})
		if err != nil {
			return u, err
		}
		all = append(all, s)
	}
	sum := 0
	for _, s := range all {
		one, failed := s.wait()
		did, unread := strconv.Atoi(strings.TrimSpace(string(one.out)))
		err = errors.Join(err, failed, unread)
		sum += did
	}
	u.wall = time.Since(began)
	if err == nil && sum != n {
		err = fmt.Errorf("river did %d jobs of %d", sum, n)
	}
	return u, err
}
