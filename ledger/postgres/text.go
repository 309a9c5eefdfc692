package postgres

import (
	"strings"
	"unicode/utf8"
)

// PostgreSQL's text holds valid UTF-8 without NUL. What actions print, or a
// file held, may be anything, and is kept byte for byte: a byte that doesn't
// fit is written as escape and two hex digits, and escape itself likewise. It
// is a control character that hardly any text has, so text reads as it is.
const escape = 0x1a

const hexDigits = "0123456789abcdef"

func encode(s string) string {
	if strings.IndexByte(s, 0) < 0 && strings.IndexByte(s, escape) < 0 && utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if c := s[i]; c == 0 || c == escape || r == utf8.RuneError && n == 1 {
			b = append(b, escape, hexDigits[c>>4], hexDigits[c&15])
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

func decode(s string) string {
	if strings.IndexByte(s, escape) < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == escape && i+2 < len(s) {
			b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

func unhex(c byte) byte { return byte(strings.IndexByte(hexDigits, c)) }

func encodeAll(list []string) []string {
	for i, s := range list {
		if e := encode(s); e != s { // copied only where it must be
			out := append([]string(nil), list...)
			for j := i; j < len(list); j++ {
				out[j] = encode(list[j])
			}
			return out
		}
	}
	return list
}
