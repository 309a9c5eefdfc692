package cmd

import (
	"fmt"
	"time"
	"unicode"
)

// number has its thousands apart.
func number(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// spanText is a length of time in its two largest units, or in parts of a
// second.
func spanText(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	ms := d.Milliseconds()
	return shortSpan(&ms)
}

// pageWords is text from the ledger: what it hides is shown, and it is cut.
func pageWords(s string) string { return clip(visible(s), maxMessage) }

// langOf is the language that a text is to be read and set in, where that is
// not the page's own. Chinese and Japanese share characters: only kana tell.
func langOf(s string) string {
	lang := "en"
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return "ja"
		case unicode.Is(unicode.Hangul, r):
			return "ko"
		case unicode.Is(unicode.Han, r):
			lang = "zh-Hans"
		}
	}
	return lang
}
