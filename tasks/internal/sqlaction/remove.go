package sqlaction

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// GuardPart is how many records' guards are removed in one transaction, at
// most. It takes milliseconds, for actions wait for it; and MariaDB rewrites
// longer lists into joins.
const GuardPart = 500

// GuardOptions say whose guards are removed.
type GuardOptions struct {
	Address   func() (string, error)
	Dir       string // of relative SQLite files
	Namespace string
	Task      string
}

// Effect is what a guard stands for, on an execute date.
type Effect struct {
	BizID      string
	Generation int
}

// Guards removes what guarded actions of a task have left, and puts it back. One
// goroutine uses it at a time.
type Guards struct {
	GuardOptions
	pool  *pool
	there bool // there is a table of guards
}

// OpenGuards connects to the database of the guards. It makes nothing there.
func OpenGuards(ctx context.Context, o GuardOptions) (*Guards, error) {
	db, err := open(o.Address, o.Dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	g := &Guards{GuardOptions: o, pool: newPool(db, 1)}
	s, err := connect(ctx, db)
	if err == nil {
		g.there, err = s.hasGuards(ctx)
		_ = s.close() // nothing is open on it
	}
	if err != nil {
		_ = g.Close() // the other error is told
		return nil, err
	}
	return g, nil
}

// Close ends its connection.
func (g *Guards) Close() error { return g.pool.close() }

// Remove removes the guards of effects on an execute date, and of the same of
// lower generations, in one transaction, and tells how many there were. With
// them goes in that they were removed under a seal.
func (g *Guards) Remove(ctx context.Context, date, seal string, effects []Effect) (n int64, err error) {
	if len(effects) == 0 {
		return 0, ctx.Err()
	}
	highest := 0
	ids := map[int][]string{}
	for _, e := range effects {
		for n := 1; n <= e.Generation; n++ {
			ids[n] = append(ids[n], e.BizID)
		}
		highest = max(highest, e.Generation)
	}
	marker := guardKey{g.Namespace, g.Task, markerID(date, seal), date, -highest}
	err = g.change(ctx, func(ctx context.Context, s session) error {
		n = 0
		if _, err := s.insertGuards(ctx, []guardKey{marker}); err != nil {
			return err
		}
		for generation := 1; generation <= highest; generation++ {
			removed, err := s.deleteGuards(ctx, g.Namespace, g.Task, date, generation, ids[generation])
			if err != nil {
				return err
			}
			n += removed
		}
		if n == 0 {
			return nil // nor does the marker stay
		}
		return s.commit(ctx)
	})
	return n, err
}

// PutBack makes sure that there are the guards of effects on an execute date,
// and of their lower generations.
func (g *Guards) PutBack(ctx context.Context, date string, effects []Effect) error {
	var keys []guardKey
	for _, e := range effects {
		for n := 1; n <= e.Generation; n++ {
			keys = append(keys, guardKey{g.Namespace, g.Task, e.BizID, date, n})
		}
	}
	slices.SortFunc(keys, guardKey.compare)
	for part := range slices.Chunk(keys, GuardPart) {
		err := g.change(ctx, func(ctx context.Context, s session) error {
			if _, err := s.insertGuards(ctx, part); err != nil {
				return err
			}
			return s.commit(ctx)
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// AllBack takes out that guards of an execute date were removed under a seal.
func (g *Guards) AllBack(ctx context.Context, date, seal string) error {
	return g.change(ctx, func(ctx context.Context, s session) error {
		upTo, err := s.marked(ctx, g.Namespace, g.Task, date)
		for n := 1; n <= upTo && err == nil; n++ {
			err = s.deleteGuard(ctx, guardKey{g.Namespace, g.Task, markerID(date, seal), date, -n})
		}
		if err != nil {
			return err
		}
		return s.commit(ctx)
	})
}

// change does fn, which commits, in a transaction, again where others were in
// its way. After that it rests for as long as that took: in a database with one
// writer at a time, others would hardly ever get in between.
func (g *Guards) change(ctx context.Context, fn func(context.Context, session) error) error {
	if !g.there {
		return ctx.Err()
	}
	began := time.Now()
	for try := 1; ; try++ {
		err := g.once(ctx, fn)
		if err == nil {
			return pause(ctx, time.Since(began))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if g.pool.db.class(err) != conflict || try >= g.pool.db.tries() {
			return err
		}
		if err := pause(ctx, time.Duration(try)*10*time.Millisecond); err != nil {
			return err
		}
	}
}

func (g *Guards) once(ctx context.Context, fn func(context.Context, session) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, commitTime, fmt.Errorf("they could not be changed within %s", commitTime))
	defer cancel()
	err := g.pool.do(ctx, false, func(s session) error { return fn(ctx, s) })
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}
