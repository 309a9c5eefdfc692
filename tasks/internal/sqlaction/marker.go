package sqlaction

import (
	"context"
	"fmt"
	"sync"
)

// Where guards of an archived date were removed, a marker stays: one row for the
// whole date, committed together with the first of the removals. A ledger that
// knows the date as sealed executes nothing of it; to any other one – an old
// backup, or one that starts empty – a guard that is absent says nothing there.
//
// A marker is a guard with a generation that no record has: it is negative, and
// as great as the highest generation of which guards were removed.

// markerID is the biz_id of markers. They are looked for by the date, so it
// comes first, and taken out by the seal of the archive.
func markerID(date, seal string) string { return "removed " + date + " " + seal }

// afterMarkers sorts after those of a date: a seal is a checksum.
func afterMarkers(date string) string { return markerID(date, "~") }

// markers remembers what those of a date say. A run asks once for each date: a
// date whose guards are removed meanwhile is sealed, and none of a run.
type markers struct{ of sync.Map }

// hide tells whether the guard of a key may have been removed.
func (m *markers) hide(ctx context.Context, s session, k guardKey) (bool, error) {
	of := [2]string{k.task, k.date}
	upTo, known := m.of.Load(of)
	if !known {
		asked, err := s.marked(ctx, k.namespace, k.task, k.date)
		if err != nil {
			return false, err
		}
		upTo, _ = m.of.LoadOrStore(of, asked)
	}
	return k.generation <= upTo.(int), nil
}

// hidden says why nothing is known of a record without a guard.
func hidden(k guardKey) string {
	return fmt.Sprintf("guard: there is none, but those of %s were removed when it was archived: whether this was done can't be told", k.date)
}
