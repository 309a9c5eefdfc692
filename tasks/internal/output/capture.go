package output

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// HeadSize and TailSize say how many bytes are kept of the beginning and of
// the end.
const (
	HeadSize = 4 << 10
	TailSize = 12 << 10
)

// ring keeps the last len(buf) bytes of what is written to it.
type ring struct {
	buf   []byte
	total int64
}

func (r *ring) write(p []byte) {
	r.total += int64(len(p))
	if len(p) > len(r.buf) {
		p = p[len(p)-len(r.buf):]
	}
	at := int((r.total - int64(len(p))) % int64(len(r.buf)))
	n := copy(r.buf[at:], p)
	copy(r.buf, p[n:])
}

// text gives what is kept, in order.
func (r *ring) text() string {
	size := int64(len(r.buf))
	if r.total <= size {
		return string(r.buf[:r.total])
	}
	at := r.total % size
	return string(r.buf[at:]) + string(r.buf[:at])
}

// lost counts the bytes that were written and are not kept.
func (r *ring) lost() int64 { return max(0, r.total-int64(len(r.buf))) }

// capture keeps the head and the tail of a text.
type capture struct {
	head []byte
	tail ring
	last byte // the newest
}

func newCapture() capture {
	return capture{head: make([]byte, 0, HeadSize), tail: ring{buf: make([]byte, TailSize)}}
}

func (c *capture) reset() { c.head, c.tail.total, c.last = c.head[:0], 0, '\n' }

func (c *capture) write(p []byte) {
	if len(p) == 0 {
		return
	}
	c.last = p[len(p)-1]
	n := min(len(p), HeadSize-len(c.head))
	c.head = append(c.head, p[:n]...)
	if n < len(p) {
		c.tail.write(p[n:])
	}
}

// text gives what is kept, as valid UTF-8, with a line in the place of what
// was left out. The cuts are between runes.
func (c *capture) text() string {
	head, tail, lost := string(c.head), c.tail.text(), c.tail.lost()
	if lost == 0 {
		return strings.ToValidUTF8(head+tail, string(utf8.RuneError))
	}
	n := len(head) + len(tail)
	head, tail = cutEnd(head), cutStart(tail)
	lost += int64(n - len(head) - len(tail))
	return strings.ToValidUTF8(fmt.Sprintf("%s\n… %d bytes left out …\n%s", head, lost, tail), string(utf8.RuneError))
}

// cutEnd takes off the part of a rune that s ends with.
func cutEnd(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			return s
		}
	}
	return s
}

// cutStart takes off the part of a rune that s begins with.
func cutStart(s string) string {
	for i := 0; i < utf8.UTFMax && i < len(s); i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s
}

// Cut shortens s to at most n bytes, an ellipsis included, between runes.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return cutEnd(s[:n-len("…")]) + "…"
}

// CutFront is Cut that keeps the end of s.
func CutFront(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + cutStart(s[len(s)-n+len("…"):])
}

// Valid makes s valid UTF-8.
func Valid(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }
