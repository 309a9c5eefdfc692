package sqlite

import (
	"strconv"

	"runner/ledger"
)

// minMany is from how many equal claims on one statement pays.
const minMany = 8

// equalClaims counts how many changes at the start of a row are claims that write
// the same into records in the same state, by rising numbers: nearly all are,
// where a run claims records that nobody has touched yet.
func equalClaims(changes []ledger.Change) int {
	n := 0
	for i := range changes {
		was, e := &changes[i].Old, &changes[i].New
		if !isClaim(was, e) || i > 0 && (was.ID <= changes[i-1].Old.ID || !sameClaim(&changes[0], &changes[i])) {
			break
		}
		n++
	}
	return n
}

// isClaim tells whether a change writes nothing but what a claim writes.
func isClaim(was, e *ledger.Entry) bool {
	if e.Status != ledger.Running || was.Status == ledger.Running || was.BatchID == 0 {
		return false
	}
	old := *was
	old.Status, old.Fence, old.Phase = e.Status, e.Fence, e.Phase
	return swapValues(&old, nil) == swapValues(e, nil)
}

func sameClaim(a, b *ledger.Change) bool {
	return a.Old.BatchID == b.Old.BatchID && a.Old.Status == b.Old.Status && a.Old.Fence == b.Old.Fence &&
		a.New.Fence == b.New.Fence && a.New.Phase == b.New.Phase && a.New.RunID == b.New.RunID
}

const claimMany = `UPDATE record SET status = $2, fence = $3, phase = $4, run_no = $5
WHERE id IN (SELECT value FROM json_each($1)) AND fence = $6 AND +status = $7 AND +batch_id = $8`

// swapMany writes equal claims with one statement. Where that touches fewer
// records than it should, it is undone: they are to be written one by one,
// which tells which are stale.
func (t *tx) swapMany(changes []ledger.Change) (ok bool, err error) {
	was, e := &changes[0].Old, &changes[0].New
	run, err := t.c.runNo(e.RunID)
	if err != nil {
		return false, err
	}
	if _, err := t.c.exec("SAVEPOINT many"); err != nil {
		return false, err
	}
	r, err := t.c.exec(claimMany, numbersJSON(changes), int64(e.Status), e.Fence, int64(e.Phase), run, was.Fence, int64(was.Status), was.BatchID)
	if err != nil {
		return false, err
	}
	n, _ := r.RowsAffected()
	if ok = int(n) == len(changes); !ok {
		if _, err := t.c.exec("ROLLBACK TO many"); err != nil {
			return false, err
		}
	}
	if _, err := t.c.exec("RELEASE many"); err != nil || !ok {
		return false, err
	}
	d := t.delta(was.BatchID)
	d.counts[was.Status] -= n
	d.counts[e.Status] += n
	return true, nil
}

func numbersJSON(changes []ledger.Change) string {
	b := make([]byte, 0, 8*len(changes)+2)
	b = append(b, '[')
	for i := range changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, changes[i].Old.ID, 10)
	}
	return string(append(b, ']'))
}
