package runner

import (
	"fmt"
	"hash/maphash"

	"runner/ledger"
)

// Shard is a part of an input.
type Shard = ledger.Shard

// Survey is what reading the whole input found. Nothing is planned before.
type Survey struct {
	Records    int64 // different ones
	Duplicates int64 // exact repeats
	shard      Shard
	seed       maphash.Seed
	sum        uint64 // of the whole input
}

// ReadThrough reads a source to its end and finds every error that would
// keep it from being planned: nothing runs unless all of it is valid. Memory
// stays flat: only the hashes of biz_ids are kept, on disk where they are
// many.
func ReadThrough(src Source, shard Shard, allowEmpty bool) (Survey, error) {
	seed := maphash.MakeSeed()
	ids := newHashSorter(sortChunk)
	defer ids.close()
	var n, all int64
	s := Survey{shard: shard, seed: seed}
	for item, err := range src.Records() {
		if err != nil {
			return s, err
		}
		if err := ledger.CheckBizID(item.BizID); err != nil {
			return s, &PlaceError{Name: src.Name(), Line: item.Line, Msg: err.Error()}
		}
		if all++; !shard.Has(item.BizID) {
			continue
		}
		n++
		s.sum = fold(s.sum, seed, item)
		if err := ids.add(maphash.String(seed, item.BizID)); err != nil {
			return s, err
		}
	}
	if all == 0 && !allowEmpty {
		return s, &PlaceError{Name: src.Name(), Msg: "no records", Hint: "if that can be right, as for a query of what is still open: allow_empty: true in the task, or --allow-empty"}
	}
	repeated, err := ids.repeated()
	if err != nil {
		return s, err
	}
	if len(repeated) > 0 {
		if s.Duplicates, err = findConflict(src, seed, repeated); err != nil {
			return s, err
		}
	}
	s.Records = n - s.Duplicates
	return s, nil
}

// fold adds an item to a fingerprint of a whole input.
func fold(sum uint64, seed maphash.Seed, item Item) uint64 {
	return sum*1099511628211 ^ maphash.String(seed, item.BizID) ^ maphash.Bytes(seed, item.Payload)<<1
}

// sighting is where a biz_id was first seen, and with what.
type sighting struct {
	line    int64
	payload uint64
}

// findConflict reads the source again for the few biz_ids whose hashes came
// more than once. It counts exact repeats, and fails where one biz_id has
// two payloads.
func findConflict(src Source, seed maphash.Seed, repeated map[uint64]struct{}) (dups int64, err error) {
	seen := map[string]sighting{}
	for item, err := range src.Records() {
		if err != nil {
			return dups, err
		}
		if _, ok := repeated[maphash.String(seed, item.BizID)]; !ok {
			continue
		}
		now := sighting{item.Line, maphash.Bytes(seed, item.Payload)}
		first, again := seen[item.BizID]
		switch {
		case !again:
			seen[item.BizID] = now
		case first.payload == now.payload:
			dups++
		default:
			return dups, &PlaceError{
				Name: src.Name(), Line: item.Line,
				Msg:  fmt.Sprintf("biz_id %q stands here and in line %d with different fields", item.BizID, first.line),
				Hint: "one record can't be done with two payloads: remove one of the lines",
			}
		}
	}
	return dups, nil
}

// errChanged says that an input isn't what it was when it was read through.
func errChanged(src Source) error {
	return &PlaceError{Name: src.Name(), Msg: "it changed while it was being read", Hint: "write inputs under another name and rename them when they are whole"}
}
