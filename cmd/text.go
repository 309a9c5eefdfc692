package cmd

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// visible makes text safe to show: control characters, line breaks, bytes
// that are no UTF-8 and characters that reorder or hide text are escaped.
func visible(s string) string {
	clean := true
	for i, r := range s {
		if hidden(r) || (r == utf8.RuneError && !validAt(s, i)) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !validAt(s, i):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case hidden(r):
			b.WriteString(escape(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func validAt(s string, i int) bool {
	_, size := utf8.DecodeRuneInString(s[i:])
	return size > 1
}

// hidden names what a terminal doesn't show as itself. The joiners that emoji
// and Indic scripts are made of stay.
func hidden(r rune) bool {
	switch r {
	case '\u2028', '\u2029', '\u200b', '\u2060', '\ufeff':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

func escape(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if r < 0x80 {
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Widths are those of terminals, whatever LANG says: ambiguous characters are
// narrow. With ControlSequences, colours have no width and survive a cut.
var widths = displaywidth.Options{ControlSequences: true}

// columnsOf is the number of terminal columns that s takes.
func columnsOf(s string) int { return widths.String(s) }

// clip cuts s to at most n columns, between graphemes, with … for what is
// gone.
func clip(s string, n int) string {
	if n < 1 {
		return ""
	}
	return widths.TruncateString(s, n, "…")
}

var markdown = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "~", `\~`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;",
)

// markdownCell makes text safe for one cell of a Markdown table.
func markdownCell(s string) string { return markdown.Replace(visible(s)) }
