package main

import (
	"fmt"
	"os"
	"path/filepath"
)

var rerunPart = part{
	letter: "b", title: "Run again when all is done", run: (*bench).rerun,
	how: "`runner run` of a million ids from a file (short: 2,000), all of them done, sorted, of 16 characters. " +
		"`parallel --resume` with a complete job log of 50,000 ids, and `make` with as many existing stamp files, are compared by the time for each id. " +
		"Peak memory is the largest resident set of the process, which Linux counts from that of the bench, about 10 MB.",
}

func (b *bench) rerun() error {
	n := b.size(1_000_000, 2000)
	if _, err := b.atLeast(n, 1, 0); err != nil {
		return err
	}
	list := []contender{{"runner", func() (usage, error) { return b.skip(n) }}}
	peers := []struct {
		name, what string
		make       func(int) (contender, error)
		times      float64
	}{{"parallel", "parallel --resume", b.resume, 8}, {"make", "make on stamp files", b.stamps, 2}}
	few := b.size(50_000, 200)
	for _, p := range peers {
		if b.lacks(p.name) == "" {
			c, err := p.make(few)
			if err != nil {
				return err
			}
			list = append(list, c)
		}
	}
	s, err := b.alternate(b.rounds(), list...)
	if err != nil {
		return err
	}
	b.measured("rerun of "+count(n)+" done ids", atLeast(600_000, " ids/s"), s["runner"].rate(n), oneRow)
	for _, p := range peers {
		a, what := atLeast(p.times, "×"), fmt.Sprintf("rerun against %s of %s ids, per id", p.what, count(few))
		if why := b.lacks(p.name); why != "" {
			b.skipped(what, a, why)
			continue
		}
		perID := s[p.name].to(func(seconds float64) float64 { return seconds * float64(n) / float64(few) })
		b.measured(what, a, s["runner"].ratio(perID), oneRow)
	}
	return b.rerunMemory(n)
}

func (b *bench) rerunMemory(n int) error {
	sizes := []int{n}
	if !b.short {
		sizes = append(sizes, 10*n)
	}
	for _, n := range sizes {
		f, err := b.atLeast(n, 1, 1)
		if err != nil {
			return err
		}
		b.measured("rerun of "+count(n)+", peak memory", atMost(60, " MB"), megabytes(f.skip), oneRow)
	}
	return nil
}

// resume is GNU parallel with a log that says that all is done.
func (b *bench) resume(n int) (contender, error) {
	ids, err := b.ids(n)
	if err != nil {
		return contender{}, err
	}
	log, err := b.lines("joblog", n+1, func(i int) string {
		if i == 1 {
			return "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand"
		}
		return fmt.Sprintf("%d\t:\t1795975655.031\t     0.001\t0\t0\t0\t0\t/bin/true u%015d", i-1, i-1)
	})
	return contender{"parallel", func() (usage, error) {
		return b.do(command{argv: []string{"parallel", "--will-cite", "-j2", "--resume", "--joblog", log, "/bin/true", "{}", "::::", ids}})
	}}, err
}

const makefile = `STAMPS := $(addprefix done/,$(shell cat ids))
all: $(STAMPS)
$(STAMPS): done/%: ; /bin/true $* && touch $@
.PHONY: all
`

// stamps is make with a file for each done id.
func (b *bench) stamps(n int) (contender, error) {
	folder, err := b.work.make("make")
	if err != nil {
		return contender{}, err
	}
	if err := os.Mkdir(filepath.Join(folder, "done"), 0o700); err != nil {
		return contender{}, err
	}
	for i := 1; i <= n; i++ {
		if err := os.WriteFile(filepath.Join(folder, "done", fmt.Sprintf("u%015d", i)), nil, 0o600); err != nil {
			return contender{}, err
		}
	}
	ids, err := b.ids(n)
	if err != nil {
		return contender{}, err
	}
	if err := os.Symlink(ids, filepath.Join(folder, "ids")); err != nil {
		return contender{}, err
	}
	err = os.WriteFile(filepath.Join(folder, "Makefile"), []byte(makefile), 0o600)
	return contender{"make", func() (usage, error) {
		return b.do(command{dir: folder, env: []string{"MAKEFLAGS=", "MAKELEVEL="}, argv: []string{"make", "-rs", "all"}})
	}}, err
}
