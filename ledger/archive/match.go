package archive

import (
	"bufio"
	"hash/maphash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"runner/ledger"
)

// Scope is what an archive says of the ids of an input.
type Scope struct {
	Counts  ledger.Counts // of those it holds, each once
	Repeats int64
	Unknown []string // the first few that it doesn't hold, not in their order
	Missing int64    // how many those are
}

// maxNamed is how many unknown ids are named.
const maxNamed = 10

// partSize is how many ids are held in memory at once.
var partSize int64 = 200_000

// Match looks each id up in a file. Memory stays flat: where the file holds
// many, both sides are first dealt out, by their hash, to files of their own.
func (f *File) Match(ids iter.Seq2[string, error]) (s Scope, err error) {
	var total int64
	for _, n := range f.Head.Counts {
		total += n
	}
	if total <= partSize {
		known := make(map[string]ledger.Status, total)
		err := f.briefs(func(r brief) error {
			known[r.BizID] = r.Status
			return nil
		})
		if err != nil {
			return s, err
		}
		for id, err := range ids {
			if err != nil {
				return s, err
			}
			s.look(known, id)
		}
		return s, nil
	}
	d, err := newDeal(int(total/partSize) + 1)
	if err != nil {
		return s, err
	}
	defer d.close()
	err = f.briefs(func(r brief) error {
		return d.archived.put(d.part(r.BizID), string(rune('0'+r.Status))+r.BizID)
	})
	if err != nil {
		return s, err
	}
	for id, err := range ids {
		if err == nil {
			err = d.asked.put(d.part(id), id)
		}
		if err != nil {
			return s, err
		}
	}
	return s, d.match(&s)
}

// found marks an id that was asked for already.
const found = ledger.Status(128)

func (s *Scope) look(known map[string]ledger.Status, id string) {
	st, ok := known[id]
	switch {
	case !ok:
		s.Missing++
		if len(s.Unknown) < maxNamed {
			s.Unknown = append(s.Unknown, id)
		}
	case st >= found:
		s.Repeats++
	default:
		s.Counts[st]++
		known[id] = st + found
	}
}

// deal is two sets of ids in as many files each, by hash.
type deal struct {
	dir             string
	seed            maphash.Seed
	archived, asked spill
}

// spill is a set of ids, a file a part, one id a line.
type spill []*spillFile

type spillFile struct {
	*bufio.Writer
	f *os.File
}

func newDeal(parts int) (*deal, error) {
	dir, err := os.MkdirTemp("", "runner-ids-")
	if err != nil {
		return nil, err
	}
	d := &deal{dir: dir, seed: maphash.MakeSeed()}
	for i := range 2 * parts {
		f, err := os.Create(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			d.close()
			return nil, err
		}
		s := &d.asked
		if i < parts {
			s = &d.archived
		}
		*s = append(*s, &spillFile{bufio.NewWriter(f), f})
	}
	return d, nil
}

func (d *deal) part(id string) int {
	return int(maphash.String(d.seed, id) % uint64(len(d.archived)))
}

func (s spill) put(part int, line string) error {
	_, err := s[part].WriteString(line + "\n")
	return err
}

func (s *spillFile) each(fn func(line string)) error {
	if err := s.Flush(); err != nil {
		return err
	}
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewScanner(s.f) // an id has 512 bytes at most
	for in.Scan() {
		fn(in.Text())
	}
	return in.Err()
}

func (d *deal) match(s *Scope) error {
	for i := range d.archived {
		known := map[string]ledger.Status{}
		err := d.archived[i].each(func(line string) { known[line[1:]] = ledger.Status(line[0] - '0') })
		if err == nil {
			err = d.asked[i].each(func(id string) { s.look(known, id) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *deal) close() {
	for _, s := range slices.Concat(d.archived, d.asked) {
		_ = s.f.Close()
	}
	_ = os.RemoveAll(d.dir) // scratch files of its own
}
