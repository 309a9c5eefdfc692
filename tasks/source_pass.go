package tasks

import (
	"hash/maphash"
	"io"
)

// pass reads the text once and finds out at its end whether it was that of
// the other passes.
type pass struct {
	in      *input
	section *io.SectionReader
	hash    maphash.Hash
}

func (p *pass) Read(b []byte) (int, error) {
	n, err := p.section.Read(b)
	if p.in.fixed {
		return n, err
	}
	p.hash.Write(b[:n])
	if err == io.EOF && p.in.changed(p.hash.Sum64()) {
		return n, p.in.fail(0, "changed while it was read", "write a new file and rename it, instead of changing one that is in use")
	}
	return n, err
}

func (in *input) changed(sum uint64) bool {
	st, err := in.file.Stat()
	if err != nil || st.Size() != in.size || !st.ModTime().Equal(in.modified) {
		return true
	}
	before, known := in.sum, in.summed
	in.sum, in.summed = sum, true
	return known && before != sum
}
