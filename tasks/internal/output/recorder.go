package output

import (
	"bytes"
	"strings"
)

// Channel is one of the two outputs of a process.
type Channel int

// The channels are numbered like the outputs in package process.
const (
	Stdout Channel = iota
	Stderr
	channels
)

const (
	maxPartial   = 8 << 10 // a longer line may be torn by the other channel
	lastLines    = 3
	maxLastLines = 500 // bytes
)

// Recorder keeps what one attempt prints: both channels together, line by
// line in the order in which they came, and the end of stderr once more. It
// needs the same memory for a line and for five gigabytes.
type Recorder struct {
	keep  bool // the text; if not, only the end of stderr
	text  capture
	err   ring
	lines [channels]channel
	wrote Channel
}

// channel is one output on its way into the recorder.
type channel struct {
	masked  Stream
	partial []byte // the line that hasn't ended yet
}

// NewRecorder makes one; Reset must be called before its use.
func NewRecorder() *Recorder {
	r := &Recorder{text: newCapture(), err: ring{buf: make([]byte, 2<<10)}}
	for i := range r.lines {
		r.lines[i].masked.to = func(p []byte) { r.take(Channel(i), p) }
	}
	return r
}

// Reset makes the recorder ready for another attempt.
func (r *Recorder) Reset(m *Masker, keep bool) {
	r.keep = keep
	r.text.reset()
	r.err.total = 0
	for i := range r.lines {
		c := &r.lines[i]
		c.partial = c.partial[:0]
		c.masked.Reset(m)
	}
}

// Write takes the next bytes of a channel.
func (r *Recorder) Write(ch Channel, p []byte) { r.lines[ch].masked.Write(p) }

// Finish takes the last lines, that need not have an end.
func (r *Recorder) Finish() { r.finish(true) }

// FinishCut is Finish for a text that was broken off: what may be the beginning
// of a secret whose end is missing is left out.
func (r *Recorder) FinishCut() { r.finish(false) }

func (r *Recorder) finish(whole bool) {
	for i := range r.lines {
		c := &r.lines[i]
		if whole {
			c.masked.Flush()
		}
		r.put(Channel(i), c.partial)
		c.partial = c.partial[:0]
	}
}

// take passes whole lines on and keeps the rest for later.
func (r *Recorder) take(ch Channel, p []byte) {
	if ch == Stderr {
		r.err.write(p)
	}
	if !r.keep {
		return
	}
	c := &r.lines[ch]
	end := bytes.LastIndexByte(p, '\n') + 1
	if end > 0 {
		r.put(ch, c.partial)
		r.put(ch, p[:end])
		c.partial = c.partial[:0]
	}
	c.partial = append(c.partial, p[end:]...)
	if len(c.partial) > maxPartial {
		r.put(ch, c.partial)
		c.partial = c.partial[:0]
	}
}

// put adds to the text; a line of the other channel that has no end gets one.
func (r *Recorder) put(ch Channel, p []byte) {
	if len(p) == 0 {
		return
	}
	if ch != r.wrote && r.text.last != '\n' {
		r.text.write([]byte{'\n'})
	}
	r.wrote = ch
	r.text.write(p)
}

// Text gives what was kept.
func (r *Recorder) Text() string { return r.text.text() }

// LastLines gives the last non-empty lines of stderr, 500 bytes at most.
func (r *Recorder) LastLines() string {
	text := r.err.text()
	if r.err.lost() > 0 {
		text = cutStart(text)
	}
	return lastOf(text)
}

// LastKept gives those of both channels together, of what was kept.
func (r *Recorder) LastKept() string { return lastOf(r.text.text()) }

func lastOf(text string) string {
	var last []string
	for line := range strings.Lines(Valid(text)) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			last = append(last, line)
		}
	}
	last = last[max(0, len(last)-lastLines):]
	return CutFront(strings.Join(last, "\n"), maxLastLines)
}
