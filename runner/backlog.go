package runner

import (
	"container/heap"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// pollMin and pollMax bound how often records that others hold are looked at.
const (
	pollMin = 50 * time.Millisecond
	pollMax = time.Second
)

// backlog is what a run still has to do: the records of its scope that are
// not settled, each with the time to look at it again.
type backlog struct {
	left  *roaring64.Bitmap // all of them
	fresh *supply           // not looked at yet
	again []int64           // looked for and not looked at
	due   dueHeap           // wait for their next attempt
	alone []int64           // to be started while nothing else runs
	busy  *roaring64.Bitmap // held by others

	pollAt time.Time // when to look at the busy ones
	poll   time.Duration
	looked uint64 // the last of them looked at
}

func newBacklog(todo *roaring64.Bitmap) *backlog {
	return &backlog{left: todo, fresh: newSupply(todo.Clone()), busy: roaring64.New(), poll: pollMin}
}

// take gives at most n records to look at now.
func (b *backlog) take(n int, now time.Time) []int64 {
	var ids []int64
	for len(ids) < n && len(b.due) > 0 && !b.due[0].at.After(now) {
		ids = append(ids, heap.Pop(&b.due).(dueRecord).id)
	}
	k := min(n-len(ids), len(b.again))
	ids = append(ids, b.again[:k]...)
	b.again = b.again[k:]
	ids = append(ids, b.fresh.take(n-len(ids))...)
	if len(ids) == 0 && !b.busy.IsEmpty() && !now.Before(b.pollAt) {
		return b.look(now)
	}
	return ids
}

// look gives a round of the records that others hold.
func (b *backlog) look(now time.Time) (ids []int64) {
	it := b.busy.Iterator()
	it.AdvanceIfNeeded(b.looked + 1)
	if !it.HasNext() {
		it = b.busy.Iterator()
	}
	for len(ids) < aheadMax && it.HasNext() {
		b.looked = it.Next()
		ids = append(ids, int64(b.looked))
	}
	b.poll = min(2*b.poll, pollMax)
	b.pollAt = now.Add(b.poll)
	return ids
}

// moved tells that something others held is free or settled: look on at once.
func (b *backlog) moved(now time.Time) { b.poll, b.pollAt = pollMin, now }

// untouched tells whether there is a record that only waits for a worker.
func (b *backlog) untouched(now time.Time) bool {
	return len(b.again) > 0 || b.fresh.more() || len(b.due) > 0 && !b.due[0].at.After(now)
}

func (b *backlog) wait(id int64, until time.Time) {
	b.busy.Remove(uint64(id))
	heap.Push(&b.due, dueRecord{until, id})
}

func (b *backlog) held(id int64, now time.Time) {
	if b.busy.IsEmpty() {
		b.poll = pollMin
		b.pollAt = now.Add(b.poll)
	}
	b.busy.Add(uint64(id))
}

// keepOnly forgets, for this run, all records but some.
func (b *backlog) keepOnly(some *roaring64.Bitmap) {
	b.fresh = newSupply(roaring64.New())
	b.again, b.alone = nil, nil
	b.busy.Clear()
	b.due = slices.DeleteFunc(b.due, func(d dueRecord) bool { return !some.Contains(uint64(d.id)) })
	heap.Init(&b.due)
}

func (b *backlog) suspect(id int64) {
	b.busy.Remove(uint64(id))
	b.alone = append(b.alone, id)
}

// claimed takes a record out while it is ours.
func (b *backlog) claimed(id int64) { b.busy.Remove(uint64(id)) }

// settled takes a record out for good.
func (b *backlog) settled(id int64) {
	b.busy.Remove(uint64(id))
	b.left.Remove(uint64(id))
}

// dueRecord is a record and when it is due.
type dueRecord struct {
	at time.Time
	id int64
}

type dueHeap []dueRecord

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(dueRecord)) }
func (h *dueHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
