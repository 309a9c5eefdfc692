package runner

import "hash/fnv"

// Shard is a part of an input: the records whose hash falls into it. The zero
// value is the whole. The hash never changes, so that runs of different
// versions agree.
type Shard struct{ Index, Count int } // Index from 1 to Count

func (s Shard) has(bizID string) bool {
	if s.Count <= 1 {
		return true
	}
	h := fnv.New64a()
	h.Write([]byte(bizID))
	return h.Sum64()%uint64(s.Count) == uint64(s.Index-1)
}
