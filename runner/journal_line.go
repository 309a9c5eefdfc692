package runner

import (
	"encoding/json"
	"hash/crc32"
	"strconv"
)

// Lines are put together by hand: two for each record, they would take
// encoding/json a twentieth of the time of a record that does nothing. What
// is written is the same, byte for byte.

// appendLine appends l as a journal line to b.
func (l line) appendLine(b []byte) []byte {
	b, from := openLine(b)
	b = strconv.AppendInt(append(b, `{"id":`...), l.ID, 10)
	b = strconv.AppendInt(append(b, `,"f":`...), l.Fence, 10)
	if l.BizID != "" {
		b = appendText(append(b, `,"b":`...), l.BizID)
	}
	if l.Start != nil {
		b = appendText(append(b, `,"s":{"p":`...), l.Start.Phase.String())
		b = strconv.AppendInt(append(b, `,"at":`...), l.Start.At, 10)
		b = append(b, '}')
	}
	if l.PID != 0 {
		b = strconv.AppendInt(append(b, `,"pid":`...), int64(l.PID), 10)
	}
	if l.End != nil {
		b = l.End.append(append(b, `,"e":`...))
	}
	return closeLine(append(b, '}'), from)
}

func (r *reportLine) append(b []byte) []byte {
	b = appendText(append(b, `{"p":`...), r.Phase.String())
	b = appendText(append(b, `,"o":`...), r.Outcome.String())
	for _, t := range [...]struct{ name, value string }{{`,"d":`, r.Detail}, {`,"r":`, r.Result}} {
		if t.value != "" {
			b = appendText(append(b, t.name...), t.value)
		}
	}
	if r.ExitCode != nil {
		b = strconv.AppendInt(append(b, `,"x":`...), int64(*r.ExitCode), 10)
	}
	for _, t := range [...]struct{ name, value string }{{`,"err":`, r.Error}, {`,"out":`, r.Output}} {
		if t.value != "" {
			b = appendText(append(b, t.name...), t.value)
		}
	}
	if r.RetryAfter != 0 {
		b = strconv.AppendInt(append(b, `,"ra":`...), int64(r.RetryAfter), 10)
	}
	b = strconv.AppendInt(append(b, `,"s":`...), r.StartedAt, 10)
	b = strconv.AppendInt(append(b, `,"at":`...), r.EndedAt, 10)
	return append(b, '}')
}

// appendText appends s as a JSON string. What needs care is left to
// encoding/json.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(s) // of a string, it can't fail
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// openLine leaves room for the checksum of a line, and gives where its text
// begins.
func openLine(b []byte) ([]byte, int) {
	b = append(b, "00000000 "...)
	return b, len(b)
}

const hexDigits = "0123456789abcdef"

func closeLine(b []byte, from int) []byte {
	sum := crc32.Checksum(b[from:], castagnoli)
	for i := from - 2; i >= from-9; i-- {
		b[i] = hexDigits[sum&15]
		sum >>= 4
	}
	return append(b, '\n')
}

// appendLine appends the head as a journal line to b.
func (h head) appendLine(b []byte) ([]byte, error) {
	text, err := json.Marshal(h)
	b, from := openLine(b)
	return closeLine(append(b, text...), from), err
}
