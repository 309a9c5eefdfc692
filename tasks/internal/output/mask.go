package output

import (
	"bytes"
	"slices"
	"strings"
)

// Mask is what stands for a secret value.
const Mask = "***"

// minLine is the shortest line of a secret of many lines that is masked by
// itself: shorter ones, like a lone brace, are no secret.
const minLine = 8

// Masker knows secret values. It is safe for use by many at once.
type Masker struct {
	values  [][]byte // longest first
	first   [256]bool
	longest int
}

// NewMasker makes one for values. Empty ones are ignored. Of a value of many
// lines each line is masked too, and any value also without the line end that
// files have and shells take off.
func NewMasker(values []string) *Masker {
	m := &Masker{}
	for _, v := range values {
		m.add(v)
		m.add(strings.TrimRight(v, "\r\n"))
		for line := range strings.Lines(v) {
			if line = strings.TrimRight(line, "\r\n"); len(line) >= minLine {
				m.add(line)
			}
		}
	}
	slices.SortStableFunc(m.values, func(a, b []byte) int { return len(b) - len(a) })
	return m
}

// With gives one that knows more values.
func (m *Masker) With(values []string) *Masker {
	all := make([]string, 0, len(m.values)+len(values))
	for _, v := range m.values {
		all = append(all, string(v))
	}
	return NewMasker(append(all, values...))
}

func (m *Masker) add(v string) {
	if v == "" || slices.ContainsFunc(m.values, func(k []byte) bool { return string(k) == v }) {
		return
	}
	m.values = append(m.values, []byte(v))
	m.first[v[0]] = true
	m.longest = max(m.longest, len(v))
}

// String masks a whole text.
func (m *Masker) String(s string) string {
	if m.longest == 0 || s == "" {
		return s
	}
	var b strings.Builder
	st := Stream{masker: m, to: func(p []byte) { b.Write(p) }}
	st.Write([]byte(s))
	st.Flush()
	return b.String()
}

// match gives the length of the longest value that p begins with.
func (m *Masker) match(p []byte) int {
	for _, v := range m.values {
		if bytes.HasPrefix(p, v) {
			return len(v)
		}
	}
	return 0
}

// Stream masks bytes that come in pieces: whatever the pieces, what goes out
// is what String would have made of the whole. Each byte of each occurrence
// of a value is taken out, also where occurrences overlap.
type Stream struct {
	masker  *Masker
	to      func([]byte)
	carry   []byte // not yet decided, at most the longest value
	covered int    // bytes at the start of carry whose mask has gone out
}

// Reset makes the stream ready for another text.
func (s *Stream) Reset(m *Masker) { s.masker, s.carry, s.covered = m, s.carry[:0], 0 }

// Write takes the next piece. The piece is not kept.
func (s *Stream) Write(p []byte) {
	if s.masker.longest == 0 {
		s.to(p)
		return
	}
	s.carry = append(s.carry, p...)
	// What lies further back can't be the start of a value any more that
	// hasn't come in whole.
	s.decide(len(s.carry) - s.masker.longest + 1)
}

// Flush ends the text.
func (s *Stream) Flush() {
	s.decide(len(s.carry))
	s.covered = 0
}

// decide sends the first limit bytes on, masked.
func (s *Stream) decide(limit int) {
	if limit <= 0 {
		return
	}
	b, i, plain := s.carry, 0, 0 // b[plain:i] is decided and not sent yet
	for i < limit {
		if s.covered == 0 {
			for i < limit && !s.masker.first[b[i]] {
				i++
			}
			if i == limit {
				break
			}
		}
		if n := s.masker.match(b[i:]); n > s.covered {
			if s.covered == 0 {
				s.send(b[plain:i])
				s.send([]byte(Mask))
			}
			s.covered = n
		}
		if i++; s.covered > 0 {
			s.covered--
			plain = i
		}
	}
	s.send(b[plain:i])
	s.carry = append(b[:0], b[i:]...)
}

func (s *Stream) send(p []byte) {
	if len(p) > 0 {
		s.to(p)
	}
}
