package postgres

import (
	"slices"
	"strconv"
	"strings"

	"runner/ledger"
)

const firstOfSQL = `SELECT coalesce(array_agg(id), '{}') FROM (SELECT id FROM record WHERE id > $2 AND +batch_id = $1
AND id <= (SELECT last_id FROM batch WHERE id = $1) ORDER BY id LIMIT $3) f`

// Forget removes records along their numbers.
func (t *tx) Forget(batch, after int64, limit int) (last int64, err error) {
	var ids []int64
	if err := t.do(step{sql: firstOfSQL, args: []any{batch, after, limit}, rows: into(&ids)}); err != nil || len(ids) == 0 {
		return 0, err
	}
	for _, id := range ids {
		last = max(last, id)
	}
	return last, t.do(
		step{sql: "DELETE FROM output WHERE record_id = ANY($1)", args: []any{ids}},
		step{sql: "DELETE FROM attempt WHERE record_id = ANY($1)", args: []any{ids}},
		step{sql: "DELETE FROM record WHERE id = ANY($1)", args: []any{ids}})
}

// recallSQL takes an array for each column, so that a chunk is one statement.
var recallSQL = func() string {
	names, kinds := []string{"id", "batch_id", "biz_id"}, []string{"$1::bigint[]", "$2::int[]", "$3::text[]"}
	for i, c := range swapColumns {
		names = append(names, c.name)
		kinds = append(kinds, "$"+strconv.Itoa(i+4)+"::"+c.kind+"[]")
	}
	return "INSERT INTO record(" + strings.Join(names, ", ") + ") SELECT * FROM unnest(" + strings.Join(kinds, ", ") + ") ON CONFLICT (id) DO NOTHING"
}()

// Recall puts back a chunk at once.
func (t *tx) Recall(records []ledger.Entry) error {
	for part := range slices.Chunk(records, chunk) {
		list := make([]*ledger.Entry, len(part))
		ids, batches, names := make([]int64, len(part)), make([]int64, len(part)), make([]string, len(part))
		for i := range part {
			e := &part[i]
			if err := t.knowRun(e.RunID); err != nil {
				return t.fail(err)
			}
			list[i], ids[i], batches[i], names[i] = e, e.ID, e.BatchID, e.BizID
		}
		args := []any{ids, batches, names}
		for i := range swapColumns {
			args = append(args, swapColumns[i].array(t.runs, list))
		}
		if err := t.do(step{sql: recallSQL, args: args}); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) Meta(key string) (value string, err error) {
	err = r.do(step{sql: "SELECT value FROM meta WHERE key = $1", args: []any{key}, rows: into(&value)})
	return value, err
}

func (t *tx) PutMeta(key, value string) error {
	if value == "" {
		return t.do(step{sql: "DELETE FROM meta WHERE key = $1", args: []any{key}})
	}
	return t.do(step{sql: "INSERT INTO meta(key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value", args: []any{key, value}})
}
