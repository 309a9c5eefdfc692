package ledger

import (
	"context"
	"errors"
)

// Planned is what Plan found for one input.
type Planned struct {
	ID      int64 // 0 in a preview of what is new
	Status  Status
	New     bool
	Changed bool // the ledger holds, or held, another payload
}

// PlanOptions say how to plan.
type PlanOptions struct {
	Fresh bool // pending records that have been started take a changed payload too
	// Doubt says why what is new may have been done already, and so comes in
	// doubt; empty if the ledger would know. See BlindFor.
	Doubt string
	New   bool // the inputs are probably all new, and all different: don't look before writing
}

// Plan enters the inputs that a batch doesn't hold yet. Where all are known
// and unchanged it only reads.
func (l *Ledger) Plan(ctx context.Context, batch int64, in []Input, o PlanOptions) ([]Planned, error) {
	if o.New && len(in) > 0 {
		planned, err := l.enterNew(ctx, batch, in, o.Doubt)
		if !errors.Is(err, errNotNew) {
			return planned, err
		}
	}
	planned, todo, err := l.preview(ctx, batch, in)
	if err != nil || !todo {
		return planned, err
	}
	err = l.store.Update(ctx, func(tx Tx) (err error) {
		if planned, err = enter(tx, batch, in, o.Fresh); err != nil {
			return err
		}
		return doubtNew(tx, planned, o.Doubt, l.Now())
	})
	return planned, err
}

// errNotNew undoes a transaction that was to enter only what is new.
var errNotNew = errors.New("not all of these are new")

// enterNew enters inputs that are all new and different, or else nothing.
func (l *Ledger) enterNew(ctx context.Context, batch int64, in []Input, doubt string) ([]Planned, error) {
	var planned []Planned
	err := l.store.Update(ctx, func(tx Tx) error {
		planned = make([]Planned, len(in))
		added, err := tx.Insert(batch, in)
		if err == nil && added < int64(len(in)) {
			err = errNotNew
		}
		if err != nil {
			return err
		}
		ids, err := numbersOf(tx, batch, in)
		for i, id := range ids {
			planned[i] = Planned{ID: id, New: true}
		}
		if err != nil {
			return err
		}
		return doubtNew(tx, planned, doubt, l.Now())
	})
	return planned, err
}

// numbersOf gives the numbers of inputs that were just inserted, all different.
// They rise in their order, so where the first and the last are as far apart
// as there are inputs, none needs to be asked for between.
func numbersOf(tx Tx, batch int64, in []Input) ([]int64, error) {
	ids := make([]int64, len(in))
	ends, err := tx.Find(batch, []Input{in[0], in[len(in)-1]})
	if err != nil {
		return nil, err
	}
	if first := ends[0].ID; ends[1].ID-first == int64(len(in)-1) {
		for i := range ids {
			ids[i] = first + int64(i)
		}
		return ids, nil
	}
	known, err := tx.Find(batch, in)
	for i, k := range known {
		ids[i] = k.ID
	}
	return ids, err
}

// Preview says what Plan would find, and changes nothing.
func (l *Ledger) Preview(ctx context.Context, batch int64, in []Input) ([]Planned, error) {
	planned, _, err := l.preview(ctx, batch, in)
	return planned, err
}

func (l *Ledger) preview(ctx context.Context, batch int64, in []Input) (planned []Planned, todo bool, err error) {
	err = l.store.View(ctx, func(r Reader) error {
		known, err := r.Find(batch, in)
		if err != nil {
			return err
		}
		planned = make([]Planned, len(known))
		for i, k := range known {
			planned[i] = Planned{ID: k.ID, Status: k.Status, New: k.ID == 0, Changed: k.ID != 0 && !k.SamePayload}
			todo = todo || planned[i].New || planned[i].Changed
		}
		return nil
	})
	return planned, todo, err
}

func enter(tx Tx, batch int64, in []Input, fresh bool) ([]Planned, error) {
	before, err := tx.Find(batch, in)
	if err != nil {
		return nil, err
	}
	var unknown []Input
	for i, k := range before {
		if k.ID == 0 {
			unknown = append(unknown, in[i])
		}
	}
	after := before
	if len(unknown) > 0 {
		if _, err = tx.Insert(batch, unknown); err != nil {
			return nil, err
		}
		if after, err = tx.Find(batch, in); err != nil {
			return nil, err
		}
	}
	planned := make([]Planned, len(in))
	changed := map[int64][]byte{}
	for i, k := range after {
		planned[i] = Planned{ID: k.ID, Status: k.Status, New: before[i].ID == 0, Changed: !k.SamePayload}
		if !k.SamePayload {
			changed[k.ID] = in[i].Payload
		}
	}
	return planned, replacePayloads(tx, changed, fresh)
}

func replacePayloads(tx Tx, changed map[int64][]byte, fresh bool) error {
	if len(changed) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(changed))
	for id := range changed {
		ids = append(ids, id)
	}
	entries, err := tx.Get(ids)
	if err != nil {
		return err
	}
	var changes []Change
	for _, e := range entries {
		if TakesPayload(e, fresh) {
			n := e
			n.Payload = changed[e.ID]
			changes = append(changes, Change{e, n})
		}
	}
	return tx.Swap(changes)
}
