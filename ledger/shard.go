package ledger

import "hash/fnv"

// Shard is a part of an input: the records whose hash falls into it. The zero
// value is the whole. The hash never changes, so that runs of different
// versions agree.
type Shard struct{ Index, Count int } // Index from 1 to Count

// Has tells whether a record falls into the shard.
func (s Shard) Has(bizID string) bool {
	if s.Count <= 1 {
		return true
	}
	h := fnv.New64a()
	h.Write([]byte(bizID))
	return h.Sum64()%uint64(s.Count) == uint64(s.Index-1)
}
