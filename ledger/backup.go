package ledger

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// A backup that is brought back doesn't know what was done since it was made:
// neither of the records that were open in it, nor of what was planned later.
// Both come in doubt, and are asked about, repeated or held like any doubt.

// metaDoubt is where the ledger keeps for which dates it was restored blind.
const metaDoubt = "restored"

// Forever is the end of what is blind where nothing tells of the last execute
// date that was run: further off than any.
const Forever = "9999-12-31"

// Blind is the execute dates of which a restored ledger doesn't know what was
// done, both included.
type Blind struct {
	From       string    `json:"from"`
	To         string    `json:"to"`
	BackupAt   time.Time `json:"backup_at"`
	RestoredAt time.Time `json:"restored_at"`
}

// why is what a record in doubt says of it.
func (b Blind) why() string {
	return "the ledger was restored from a backup of " + b.BackupAt.UTC().Format(time.RFC3339) + ", and this may have been done since"
}

// Doubt puts a record in doubt that another ledger may have done.
func Doubt(e Entry, why string, now time.Time) Entry {
	e.Status, e.Detail, e.Error, e.Phase = InDoubt, DetailUnknown, why, Act
	e.Fence++
	e.ActFence = e.Fence
	e.EndedAt = now
	e.NotBefore, e.Delay, e.LaterSince = time.Time{}, 0, time.Time{}
	return e
}

// GoBlind makes a restored ledger put in doubt what it can't know: its open
// records at once, and what is planned for the dates when that happens. It
// gives how many records are in doubt by it now.
func (l *Ledger) GoBlind(ctx context.Context, b Blind) (n int64, err error) {
	text, err := json.Marshal(b)
	if err != nil {
		return 0, err
	}
	if err := l.store.Update(ctx, func(tx Tx) error { return tx.PutMeta(metaDoubt, string(text)) }); err != nil {
		return 0, err
	}
	for after := int64(0); ; {
		var last, moved int64
		err := l.store.Update(ctx, func(tx Tx) error {
			last, moved = 0, 0 // the store may call this again
			open, err := tx.List(Query{Statuses: []Status{Pending, Running}, After: after, Ascending: true, Limit: recoverChunk})
			if err != nil || len(open) == 0 {
				return err
			}
			last, moved = open[len(open)-1].ID, int64(len(open))
			now := l.Now()
			changes := make([]Change, len(open))
			lines := make([]Attempt, len(open))
			for i, e := range open {
				d := Doubt(e, b.why(), now)
				changes[i], lines[i] = Change{e, d}, doubtLine(d)
			}
			if err := tx.Swap(changes); err != nil {
				return err
			}
			return tx.AddAttempts(lines)
		})
		if err != nil || moved == 0 {
			return n, err
		}
		after, n = last, n+moved
	}
}

// doubtLine is what the doubt adds to the story of a record.
func doubtLine(e Entry) Attempt {
	return Attempt{
		RecordID: e.ID, Fence: e.Fence, Phase: Act, Generation: e.Generation, Number: e.Attempts, Actor: "restore-backup",
		StartedAt: e.EndedAt, EndedAt: e.EndedAt, Status: e.Status, Detail: e.Detail, Error: e.Error,
	}
}

// Blindness gives of which dates the ledger doesn't know what was done; empty
// if it was never restored, or with trust.
func (l *Ledger) Blindness(ctx context.Context) (b Blind, err error) {
	err = l.store.View(ctx, func(r Reader) error {
		text, err := r.Meta(metaDoubt)
		if err != nil || text == "" {
			return err
		}
		return json.Unmarshal([]byte(text), &b)
	})
	return b, err
}

// BlindFor says why what is new on a date may have been done already; empty if
// the ledger would know.
func (l *Ledger) BlindFor(ctx context.Context, date string) (why string, err error) {
	b, err := l.Blindness(ctx)
	if err == nil && b.From <= date && date <= b.To { // To is empty if it isn't blind
		why = b.why()
	}
	return why, err
}

// doubtNew puts records in doubt that a plan has just entered.
func doubtNew(tx Tx, planned []Planned, why string, now time.Time) error {
	if why == "" {
		return nil
	}
	var ids []int64
	for i := range planned {
		if planned[i].New {
			planned[i].Status = InDoubt
			ids = append(ids, planned[i].ID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids) // one may stand in the input twice
	if len(ids) == 0 {
		return nil
	}
	entries, err := tx.Get(ids)
	if err != nil {
		return err
	}
	changes := make([]Change, len(entries))
	for i, e := range entries {
		changes[i] = Change{e, Doubt(e, why, now)}
	}
	return tx.Swap(changes)
}
