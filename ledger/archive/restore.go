package archive

import (
	"context"
	"fmt"
	"time"

	"runner/ledger"
)

// Restore puts all records of a sealed batch back, as they were, or goes on
// where an earlier try was cut off. The file is left where it is.
func (d *Folder) Restore(ctx context.Context, led *ledger.Ledger, b ledger.Batch) error {
	if err := d.compare(b); err != nil { // before anything is changed
		return err
	}
	f, err := d.Open(led, b)
	if err != nil {
		return err
	}
	defer f.Close()
	n := pace(chunkMin * 4)
	var records []ledger.Entry
	var stories []ledger.Attempt
	var back ledger.Counts
	flush := func() error {
		if len(records) == 0 {
			return ctx.Err()
		}
		began := time.Now()
		if err := led.Recall(ctx, b, records, stories); err != nil {
			return err
		}
		n.took(time.Since(began))
		ids := make([]int64, len(records))
		for i := range records {
			ids[i] = records[i].ID
		}
		records, stories = records[:0], stories[:0]
		return led.Store().View(ctx, func(r ledger.Reader) error {
			c, err := r.Count(ids)
			back.Add(c)
			return err
		})
	}
	for it, err := range f.Items() {
		if err != nil {
			return err
		}
		records, stories = append(records, it.Entry), append(stories, it.Story...)
		if len(records) >= int(n) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if back != b.Counts {
		return fmt.Errorf("%s %s: %v records came back, and there were %v", b.TaskName, b.ExecuteDate, back, b.Counts)
	}
	return led.Unseal(ctx, b)
}
