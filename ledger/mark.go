package ledger

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// ErrNoReason says that a decision which needs a reason has none.
var ErrNoReason = errors.New("a reason is needed")

// Mark settles records by an operator's word: those that the rules allow, by
// number. It returns what was refused because the record has gone on
// meanwhile. It fails with ErrNoReason, and then changes nothing.
func (l *Ledger) Mark(ctx context.Context, ids []int64, as Status, d Decision) (refused []error, err error) {
	if strings.TrimSpace(d.Reason) == "" {
		return nil, ErrNoReason
	}
	return l.decide(ctx, ids, d, func(e Entry, now time.Time) (Entry, error) { return Mark(e, as, d, now) })
}

// MarkedSo tells whether marking a record would say again what is known: it is
// done or skipped already, or was marked as failed for the same reason.
func MarkedSo(e Entry, as Status, d Decision) bool {
	return e.Status == as && (as != Failed || e.Detail == DetailMarked && e.Error == d.Reason)
}

// RerunFresh is Rerun with other payloads, those of in, in the same
// transactions: nothing can start a record again with what it had. changed is
// how many records got another payload than they had. Records in doubt are
// refused, for their earlier attempt may have taken effect.
func (l *Ledger) RerunFresh(ctx context.Context, batch int64, in []Input, d Decision, p Policy) (changed int64, refused []error, err error) {
	for chunk := range slices.Chunk(in, recoverChunk) {
		var known []Known
		err := l.store.View(ctx, func(r Reader) (err error) {
			known, err = r.Find(batch, chunk)
			return err
		})
		if err != nil {
			return changed, refused, err
		}
		ids := make([]int64, 0, len(chunk))
		fresh := make(map[int64]Input, len(chunk))
		for i, k := range known {
			if k.ID != 0 {
				ids = append(ids, k.ID)
				fresh[k.ID] = chunk[i]
			}
		}
		other := map[int64]bool{} // the rule may be asked again after a failed try
		no, err := l.decide(ctx, ids, d, func(e Entry, _ time.Time) (Entry, error) {
			n, err := Refresh(e, fresh[e.ID].Payload, d, p)
			other[e.ID] = err == nil && !samePayload(e.Payload, n.Payload)
			return n, err
		})
		refused = append(refused, no...)
		if err != nil {
			return changed, refused, err
		}
		for _, yes := range other {
			if yes {
				changed++
			}
		}
	}
	return changed, refused, nil
}

// Refresh is Rerun with another payload. It fails with *RefusedError.
func Refresh(e Entry, payload []byte, d Decision, p Policy) (Entry, error) {
	if e.Status == InDoubt || e.ActFence != 0 && (e.Status == Pending || e.Status == Skipped) {
		return e, &RefusedError{Key: e.Key, Status: e.Status, Why: "it is in doubt: it may have taken effect with the fields it has, and keeps them"}
	}
	n, err := Rerun(e, d, p)
	if err != nil || samePayload(e.Payload, payload) {
		return n, err
	}
	n.Payload = payload
	if n.Fence == e.Fence { // its story has a line for this
		n.Fence++
	}
	return n, nil
}

// samePayload: none is not the same as an empty one.
func samePayload(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
