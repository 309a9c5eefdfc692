package sqlite

import (
	"database/sql/driver"
	"strings"

	"runner/ledger"
)

// scanSQL reads all of a batch between two keys, in the order of the index:
// to step to the next key costs half of a search for it. The second text is
// the keys, which hold no line feed.
const scanSQL = `SELECT count(*), group_concat(n), group_concat(biz_id, char(10))
FROM (SELECT id*32 + status*4 + (attempts > 0)*2 + (payload IS NULL) AS n, biz_id FROM record
WHERE batch_id = $1 AND biz_id BETWEEN $2 AND $3 ORDER BY biz_id LIMIT $4)`

// rising tells whether inputs are in the order of the index, and without
// payloads, so that a scan can tell all about them.
func rising(in []ledger.Input) bool {
	for i := range in {
		if in[i].Payload != nil || i > 0 && in[i].BizID <= in[i-1].BizID {
			return false
		}
	}
	return true
}

// scan is Find for a chunk of rising inputs. It gives nil where the batch
// holds so much between them that looking each up is better.
func (r *reader) scan(batch int64, in []ledger.Input) (known []ledger.Known, err error) {
	most := int64(2*len(in) + 1)
	err = r.c.query(scanSQL, func(row []driver.Value) (err error) {
		if n := integer(row[0]); n < most {
			known, err = merge(in, n, str(row[1]), str(row[2]))
		}
		return err
	}, batch, in[0].BizID, in[len(in)-1].BizID, most)
	return known, err
}

// merge finds each input among n rows, or gives nil if these aren't what they
// should be.
func merge(in []ledger.Input, n int64, packed, keys string) ([]ledger.Known, error) {
	known := make([]ledger.Known, len(in))
	i, last := 0, ""
	for ; n > 0; n-- {
		var word, key string
		var more bool
		word, packed, _ = strings.Cut(packed, ",")
		key, keys, more = strings.Cut(keys, "\n")
		if key <= last || more != (n > 1) { // out of order, or with a line feed in a key
			return nil, nil
		}
		last = key
		for i < len(in) && in[i].BizID < key {
			i++
		}
		if i < len(in) && in[i].BizID == key {
			var err error
			if known[i], err = unpackOne(word); err != nil {
				return nil, err
			}
		}
	}
	return known, nil
}
