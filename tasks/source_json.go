package tasks

import (
	"strings"
	"unicode/utf8"
)

// appendMember adds a member to an object that has been begun.
func appendMember(p, key []byte, value string) []byte {
	if p[len(p)-1] != '{' {
		p = append(p, ',')
	}
	return appendText(append(append(p, key...), ':'), value)
}

// appendText adds a JSON string. Its bytes are an interface: payloads are
// compared as bytes, so only what must be escaped is, and always the same way.
func appendText(p []byte, s string) []byte {
	const hex = "0123456789abcdef"
	p = append(p, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			p = append(p, '\\', c)
		case c == '\n':
			p = append(p, '\\', 'n')
		case c < ' ':
			p = append(p, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			p = append(p, c)
		}
	}
	return append(p, '"')
}

// badText says why s can't be passed on as text.
func badText(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "holds a NUL byte"
	}
	return ""
}
