package main

import (
	"path/filepath"
	"strconv"
	"time"
)

// filled is a ledger of n done records, kept for all parts that need one.
type filled struct {
	folder string
	fill   []usage // of a run with noop each
	skip   []usage // of runs of the same input afterwards
}

func (f filled) ledger() string { return filepath.Join(f.folder, "ledger.db") }

// runs is a run of the task, of which nothing but the summary is printed.
func (b *bench) runs(task, ledger string, more ...string) command {
	argv := []string{b.runner, "run", task, "--date", date, "-q", "--progress", "none", "-o", "json"}
	return command{argv: append(argv, more...), env: []string{"RUNNER_LEDGER=" + ledger}}
}

// fill plans and runs n noop records in a new ledger.
func (b *bench) fill(n int) error {
	ids, err := b.ids(n)
	if err != nil {
		return err
	}
	f := b.fills[n]
	if f == nil {
		f = &filled{}
		b.fills[n] = f
	} else if err := b.work.remove(f.folder); err != nil {
		return err
	}
	if f.folder, err = b.work.make("noop"); err != nil {
		return err
	}
	u, err := b.do(b.runs("noop", f.ledger(), "--from", ids))
	if err == nil {
		err = u.expect(n, n)
	}
	f.fill = append(f.fill, u)
	return err
}

// skip runs the same ids again. At least one fill comes before it.
func (b *bench) skip(n int) (u usage, err error) {
	f := b.fills[n]
	if f == nil {
		if err := b.fill(n); err != nil {
			return u, err
		}
		f = b.fills[n]
	}
	ids, err := b.ids(n)
	if err != nil {
		return u, err
	}
	u, err = b.do(b.runs("noop", f.ledger(), "--from", ids))
	if err == nil {
		err = u.expect(0, n)
	}
	f.skip = append(f.skip, u)
	return u, err
}

// atLeast sees that n was filled and skipped so often.
func (b *bench) atLeast(n, fills, skips int) (*filled, error) {
	for b.fills[n] == nil || len(b.fills[n].fill) < fills {
		if err := b.fill(n); err != nil {
			return nil, err
		}
	}
	f := b.fills[n]
	for len(f.skip) < skips {
		if _, err := b.skip(n); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func seconds(list []usage) (s series) {
	for _, u := range list {
		s = append(s, u.wall.Seconds())
	}
	return s
}

func megabytes(list []usage) (s series) {
	for _, u := range list {
		s = append(s, float64(u.memory)/1e6)
	}
	return s
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64) + " ms"
}

// count is a number of records for people.
func count(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return strconv.Itoa(n/1_000_000) + "M"
	case n >= 1000 && n%1000 == 0:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}
