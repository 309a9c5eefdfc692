package postgres

import "context"

// A statement that a connection sends again and again is prepared: to parse and
// plan one costs the server more than to execute it. That leaves something on
// the session, so it is done only where the session is ours alone.

// repeated is at which use a statement is prepared: one that isn't repeated
// isn't worth the round trip.
const repeated = 4

// maxPrepared is how many statements a session keeps.
const maxPrepared = 200

// ours tells whether the server process that has begun a transaction is the one
// that this connection was made to. A pooler names another one, or itself.
func (c *conn) ours(pid int64) bool { return int64(c.c.PgConn().PID()) == pid }

// count counts a use of statements. It tells whether one is new to pgx, and
// which are to be prepared now. What has no arguments is cheap.
func (c *conn) count(steps []step) (isNew bool, prepare []string) {
	if len(c.uses) >= maxTexts {
		clear(c.uses)
	}
	for _, s := range steps {
		if c.prepared[s.sql] {
			continue
		}
		c.uses[s.sql]++
		isNew = isNew || c.uses[s.sql] == 1
		if c.prepares && c.uses[s.sql] == repeated && len(s.args) > 0 {
			prepare = append(prepare, s.sql)
		}
	}
	return isNew, prepare
}

// forget lets statements be new again, but for those that are prepared.
func (c *conn) forget(steps []step) {
	for _, s := range steps {
		delete(c.uses, s.sql)
	}
}

// prepare comes after the opening, which may have met another session.
func (c *conn) prepare(ctx context.Context, texts []string) error {
	for _, text := range texts {
		if !c.prepares || len(c.prepared) == maxPrepared {
			return nil
		}
		limited, cancel := context.WithTimeoutCause(ctx, answerTimeout, errSilent)
		_, err := c.c.Prepare(limited, text, text)
		err = c.judge(ctx, limited, err)
		cancel()
		if err != nil {
			return err
		}
		c.prepared[text] = true
	}
	return nil
}
