package sqlaction

import (
	"context"
	"fmt"
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

// Guards removes what guarded actions of a task have left. One goroutine uses
// it at a time.
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

// Remove removes the guards of records on an execute date, of all their
// generations, in one transaction, and tells how many there were. After that
// it rests for as long as that took: in a database with one writer at a time,
// others would hardly ever get in between.
func (g *Guards) Remove(ctx context.Context, date string, ids []string) (n int64, err error) {
	if !g.there || len(ids) == 0 {
		return 0, ctx.Err()
	}
	began := time.Now()
	for try := 1; ; try++ {
		n, err = g.remove(ctx, date, ids)
		if err == nil {
			return n, pause(ctx, time.Since(began))
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if g.pool.db.class(err) != conflict || try >= g.pool.db.tries() {
			return 0, err
		}
		if err := pause(ctx, time.Duration(try)*10*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

func (g *Guards) remove(ctx context.Context, date string, ids []string) (n int64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commitTime, fmt.Errorf("they could not be removed within %s", commitTime))
	defer cancel()
	err = g.pool.do(ctx, false, func(s session) error {
		if n, err = s.deleteGuards(ctx, g.Namespace, g.Task, date, ids); err != nil {
			return err
		}
		return s.commit(ctx)
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return n, err
}
