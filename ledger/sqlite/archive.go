package sqlite

import (
	"database/sql/driver"

	"runner/ledger"
	"runner/ledger/internal/table"
)

// Forget removes records along their numbers, of which most batches have one
// row: pages of the table go one after the other.
func (t *tx) Forget(batch, after int64, limit int) (last int64, err error) {
	first := int64(0)
	err = t.c.query(`SELECT min(id), max(id) FROM (SELECT id FROM record WHERE id > $2 AND +batch_id = $1
		AND id <= (SELECT last_id FROM batch WHERE id = $1) ORDER BY id LIMIT $3)`, func(row []driver.Value) error {
		first, last = integer(row[0]), integer(row[1])
		return nil
	}, batch, after, int64(limit))
	if err != nil || last == 0 {
		if err != nil {
			err = t.fail(err)
		}
		return 0, err
	}
	const ofBatch = ` WHERE record_id BETWEEN $1 AND $2
		AND EXISTS (SELECT 1 FROM record r WHERE r.id = record_id AND +r.batch_id = $3)`
	for _, query := range []string{
		"DELETE FROM output" + ofBatch,
		"DELETE FROM attempt" + ofBatch,
		"DELETE FROM record WHERE id BETWEEN $1 AND $2 AND +batch_id = $3",
	} {
		if _, err := t.c.exec(query, first, last, batch); err != nil {
			return 0, t.fail(err)
		}
	}
	return last, nil
}

var recallSQL = `INSERT INTO record(id, batch_id, biz_id, status, attempts, fence, generation, phase,
act_fence, comp_fence, run_no, started_at, ended_at, not_before, delay, later_since,
ask_first, suspect, exit_code, detail, result, error, payload)
VALUES (` + table.Placeholders(23) + `) ON CONFLICT (id) DO NOTHING`

// Recall writes records one by one: each is different.
func (t *tx) Recall(records []ledger.Entry) error {
	for i := range records {
		e := &records[i]
		run, err := t.c.runNo(e.RunID)
		if err != nil {
			return t.fail(err)
		}
		_, err = t.c.exec(recallSQL, e.ID, e.BatchID, e.BizID, int64(e.Status), int64(e.Attempts), e.Fence, int64(e.Generation), int64(e.Phase),
			e.ActFence, e.CompFence, run, micros(e.StartedAt), micros(e.EndedAt), micros(e.NotBefore), int64(e.Delay), micros(e.LaterSince),
			number(e.AskFirst), number(e.Suspect), exitCode(e.ExitCode), orNull(e.Detail), orNull(e.Result), orNull(e.Error), blob(e.Payload))
		if err != nil {
			return t.fail(err)
		}
	}
	return nil
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (r *reader) Meta(key string) (string, error) {
	return r.c.text("SELECT value FROM meta WHERE key = $1", key)
}

func (t *tx) PutMeta(key, value string) error {
	var err error
	if value == "" {
		_, err = t.c.exec("DELETE FROM meta WHERE key = $1", key)
	} else {
		_, err = t.c.exec("INSERT INTO meta(key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)
	}
	if err != nil {
		return t.fail(err)
	}
	return nil
}
