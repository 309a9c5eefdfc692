package sqlaction

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func nameRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// nameLen is how long the name is that text begins with.
func nameLen(text string) int {
	if n := strings.IndexFunc(text, func(r rune) bool { return !nameRune(r) }); n >= 0 {
		return n
	}
	return len(text)
}

// wordLen is how long the word is that text begins with: it begins with no
// digit, and may hold a $.
func wordLen(text string) int {
	if r, _ := utf8.DecodeRuneInString(text); text == "" || !nameRune(r) || unicode.IsDigit(r) {
		return 0
	}
	if n := strings.IndexFunc(text, func(r rune) bool { return r != '$' && !nameRune(r) }); n >= 0 {
		return n
	}
	return len(text)
}
