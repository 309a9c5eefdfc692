package sqlite

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"runner/ledger"
	"runner/ledger/internal/table"
)

// findSQL answers a whole chunk with one value: a row for each key through
// the driver costs more than to look the key up. A number packs the record's
// id (0: none), its status, and two bits; the order is that of the keys,
// because json_each is the outer loop and nothing sorts.
const findSQL = `SELECT group_concat(coalesce(r.id*32 + r.status*4 + (r.attempts > 0)*2 + (r.payload IS j.value), 0))
FROM json_each($2) j LEFT JOIN record r ON r.batch_id = $1 AND r.biz_id = j.key`

func (r *reader) Find(batch int64, in []ledger.Input) ([]ledger.Known, error) {
	known := make([]ledger.Known, 0, len(in))
	var buf []byte
	scan := true
	for part := range slices.Chunk(in, chunk) {
		if scan = scan && rising(part); scan {
			found, err := r.scan(batch, part)
			if err != nil {
				return nil, err
			}
			if scan = found != nil; scan {
				known = append(known, found...)
				continue
			}
		}
		buf = appendInputs(buf[:0], part)
		err := r.c.query(findSQL, func(row []driver.Value) (err error) {
			known, err = unpack(known, str(row[0]))
			return err
		}, batch, string(buf))
		if err != nil {
			return nil, err
		}
	}
	if len(known) != len(in) {
		return nil, fmt.Errorf("ledger %s: asked for %d records, got %d answers", r.c.path, len(in), len(known))
	}
	return known, nil
}

func unpack(known []ledger.Known, packed string) ([]ledger.Known, error) {
	for packed != "" {
		var word string
		word, packed, _ = strings.Cut(packed, ",")
		k, err := unpackOne(word)
		if err != nil {
			return nil, err
		}
		known = append(known, k)
	}
	return known, nil
}

func unpackOne(word string) (ledger.Known, error) {
	n, err := strconv.ParseInt(word, 10, 64)
	k := ledger.Known{ID: n >> 5}
	if k.ID != 0 {
		k.Status = ledger.Status(n >> 2 & 7)
		k.Started = n&2 != 0 || k.Status == ledger.Running
		k.SamePayload = n&1 != 0
	}
	return k, err
}

// appendInputs makes one JSON object of inputs, biz_id to payload. json_each
// yields its members in order, equal ones too.
func appendInputs(b []byte, in []ledger.Input) []byte {
	b = append(b, '{')
	for i := range in {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(table.AppendJSON(b, in[i].BizID), ':')
		if in[i].Payload == nil {
			b = append(b, "null"...)
		} else {
			b = table.AppendJSON(b, in[i].Payload)
		}
	}
	return append(b, '}')
}
