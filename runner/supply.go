package runner

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"runner/ledger"
)

// supply gives the records of a scope that this run has not looked at yet, in
// blocks: by rising numbers where a run is alone with its batch. Runs that
// share one take the blocks each in an order of its own. In one order they
// would all be at the same place, and each would look at what the others have
// just done.
type supply struct {
	ids    *roaring64.Bitmap
	size   uint64          // of a block
	order  []uint32        // blocks to come, by their place in ids, the next one first
	block  []int64         // what is left of the present one
	shared bool            // others work on the same records
	put    map[uint32]bool // blocks that were put off
}

// blockMax is how many records a block has at most, and blocksMin in how many
// blocks a scope lies at least, if it has so many records.
const (
	blockMax  = 4096
	blocksMin = 64
)

func newSupply(ids *roaring64.Bitmap) *supply {
	n := ids.GetCardinality()
	s := &supply{ids: ids, size: min(max(n/blocksMin, 1), blockMax), put: map[uint32]bool{}}
	for i := range (n + s.size - 1) / s.size {
		s.order = append(s.order, uint32(i))
	}
	return s
}

// share makes the order of the blocks the run's own.
func (s *supply) share(runID string) {
	s.shared = true
	h := fnv.New64a()
	h.Write([]byte(runID))
	r := rand.New(rand.NewPCG(h.Sum64(), 0))
	r.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
}

func (s *supply) more() bool { return len(s.block) > 0 || len(s.order) > 0 }

// open makes the next block the present one.
func (s *supply) open() (no uint32) {
	no, s.order = s.order[0], s.order[1:]
	s.block = make([]int64, 0, s.size)
	if first, err := s.ids.Select(uint64(no) * s.size); err == nil {
		it := s.ids.Iterator()
		for it.AdvanceIfNeeded(first); it.HasNext() && uint64(len(s.block)) < s.size; {
			s.block = append(s.block, int64(it.Next()))
		}
	}
	return no
}

// putOff leaves a block that was just opened for the end; once, for then
// there is nothing better to do.
func (s *supply) putOff(no uint32) bool {
	if s.put[no] {
		return false
	}
	s.put[no] = true
	s.order, s.block = append(s.order, no), nil
	return true
}

// take gives at most n records. In a shared scope it goes no further than to
// the end of a block, as the next one may have to be passed by.
func (s *supply) take(n int) (ids []int64) {
	for len(ids) < n && s.more() {
		if len(s.block) == 0 {
			if s.shared && len(ids) > 0 {
				break
			}
			s.open()
		}
		k := min(n-len(ids), len(s.block))
		ids = append(ids, s.block[:k]...)
		s.block = s.block[k:]
	}
	return ids
}

// passMax is how many blocks are passed by at once, at most: reports wait
// meanwhile.
const passMax = 32

// passBy goes on to the next block that others have not done and are not at
// work on. To count what is done is far cheaper than to look at each record
// in the transaction that claims, for which the others wait too.
func (e *engine) passBy(ctx context.Context) error {
	s := e.backlog.fresh
	if !s.shared || len(s.block) > 0 || e.room() == 0 {
		return nil
	}
	for n := 0; n < passMax && len(s.order) > 0; n++ {
		no := s.open()
		var c ledger.Counts
		err := e.led.Store().View(ctx, func(r ledger.Reader) (err error) {
			c, err = r.Count(s.block)
			return err
		})
		switch {
		case err != nil:
			return err
		case c[ledger.Done] == int64(len(s.block)):
			for _, id := range s.block {
				e.backlog.settled(id)
			}
			e.settled[ledger.Done] += c[ledger.Done]
			e.idleSince, s.block = time.Time{}, nil
		case c[ledger.Running] == 0 || !s.putOff(no):
			return nil
		}
	}
	return nil
}
