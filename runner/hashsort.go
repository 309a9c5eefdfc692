package runner

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
)

// sortChunk is how many hashes are kept in memory (2 MB).
const sortChunk = 1 << 18

// hashSorter finds the hashes that were added more than once, in flat
// memory: sorted chunks go to a temporary file and are merged.
type hashSorter struct {
	chunk  []uint64
	limit  int
	spill  *os.File
	w      *bufio.Writer
	chunks []int64 // where each begins in spill
	size   int64
}

func newHashSorter(limit int) *hashSorter { return &hashSorter{limit: limit} }

func (s *hashSorter) add(h uint64) error {
	s.chunk = append(s.chunk, h)
	if len(s.chunk) < s.limit {
		return nil
	}
	return s.spillChunk()
}

func (s *hashSorter) spillChunk() error {
	if s.spill == nil {
		f, err := os.CreateTemp("", "runner-hashes-*")
		if err != nil {
			return err
		}
		s.spill, s.w = f, bufio.NewWriterSize(f, 1<<16)
		_ = os.Remove(f.Name()) // where an open file can't be removed, close does it
	}
	slices.Sort(s.chunk)
	s.chunks = append(s.chunks, s.size)
	var b [8]byte
	for _, h := range s.chunk {
		binary.LittleEndian.PutUint64(b[:], h)
		if _, err := s.w.Write(b[:]); err != nil {
			return err
		}
	}
	s.size += int64(len(s.chunk)) * 8
	s.chunk = s.chunk[:0]
	return s.w.Flush()
}

func (s *hashSorter) close() {
	if s.spill != nil {
		_ = s.spill.Close()
		_ = os.Remove(s.spill.Name())
	}
}

// repeated gives the hashes that were added more than once.
func (s *hashSorter) repeated() (map[uint64]struct{}, error) {
	again := map[uint64]struct{}{}
	slices.Sort(s.chunk)
	merge := &merger{{mem: s.chunk}}
	for i, from := range s.chunks {
		to := s.size
		if i+1 < len(s.chunks) {
			to = s.chunks[i+1]
		}
		section := io.NewSectionReader(s.spill, from, to-from)
		*merge = append(*merge, &run{r: bufio.NewReaderSize(section, 1<<15)})
	}
	if err := merge.init(); err != nil {
		return nil, err
	}
	var last uint64
	for first := true; merge.Len() > 0; first = false {
		h := (*merge)[0].head
		if !first && h == last {
			again[h] = struct{}{}
		}
		last = h
		if err := merge.advance(); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// run is one sorted row of hashes, in memory or in a file.
type run struct {
	head uint64
	mem  []uint64
	r    *bufio.Reader
}

func (r *run) next() (ok bool, err error) {
	if r.r == nil {
		if len(r.mem) == 0 {
			return false, nil
		}
		r.head, r.mem = r.mem[0], r.mem[1:]
		return true, nil
	}
	var b [8]byte
	if _, err := io.ReadFull(r.r, b[:]); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	r.head = binary.LittleEndian.Uint64(b[:])
	return true, nil
}

// merger is a heap of rows by their first hash.
type merger []*run

func (m merger) Len() int           { return len(m) }
func (m merger) Less(i, j int) bool { return m[i].head < m[j].head }
func (m merger) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merger) Push(x any)        { *m = append(*m, x.(*run)) }
func (m *merger) Pop() any {
	old := *m
	x := old[len(old)-1]
	*m = old[:len(old)-1]
	return x
}

func (m *merger) init() error {
	rows := *m
	*m = nil
	for _, r := range rows {
		ok, err := r.next()
		if err != nil {
			return err
		}
		if ok {
			*m = append(*m, r)
		}
	}
	heap.Init(m)
	return nil
}

func (m *merger) advance() error {
	ok, err := (*m)[0].next()
	switch {
	case err != nil:
		return err
	case ok:
		heap.Fix(m, 0)
	default:
		heap.Pop(m)
	}
	return nil
}
