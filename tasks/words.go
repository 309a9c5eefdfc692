package tasks

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// splitWords splits a command that is given as one text into words, as a
// shell does: ' takes all as it is, \ the next character, and inside " only
// ", \, $ and ` need it. Nothing is expanded; what a shell would do something
// with is refused, for a check must not mean something else than it seems to.
func splitWords(text string) ([]string, error) {
	var w words
	for rest := strings.TrimSpace(text); rest != ""; {
		n, err := w.next(rest)
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	if w.quote != 0 {
		return nil, fmt.Errorf("a %c is never closed in %q", w.quote, text)
	}
	w.end()
	return w.all, nil
}

type words struct {
	all   []string
	word  strings.Builder
	open  bool // there is a word, though it may be empty
	quote byte // that is open; 0: none
}

func (w *words) add(s string) { w.word.WriteString(s); w.open = true }

func (w *words) end() {
	if w.open {
		w.all = append(w.all, w.word.String())
	}
	w.word.Reset()
	w.open = false
}

// next takes what the text starts with, and says how long that is.
func (w *words) next(text string) (int, error) {
	c := text[0]
	switch {
	case w.quote != 0 && c == w.quote:
		w.quote = 0
	case w.quote == '\'':
		w.add(text[:1])
	case c == '\\':
		return w.escaped(text)
	case expansion.MatchString(text), w.quote == 0 && quoting.MatchString(text):
		return 0, &HintError{Msg: fmt.Sprintf("nothing is expanded, but it has %s", strings.ToValidUTF8(text[:min(2, len(text))], "")), Hint: shellOrQuotes}
	case w.quote != 0:
		w.add(text[:1])
	case c == '\'' || c == '"':
		w.quote, w.open = c, true
	case strings.IndexByte(" \t", c) >= 0:
		w.end()
	case strings.IndexByte("|&;<>()\r\n", c) >= 0:
		return 0, &HintError{Msg: fmt.Sprintf("no shell reads this, but it has %q outside of quotes", string(c)), Hint: shellOrQuotes}
	default:
		w.add(text[:1])
	}
	return 1, nil
}

const shellOrQuotes = `put it in single quotes to have it as it is, or let a shell do it: sh -c 'SCRIPT' sh {}`

// expansion is what a shell replaces, also inside double quotes, and also where
// the line goes on in the middle of it.
var expansion = regexp.MustCompile("^(`|\\$(\\\\\n)*[A-Za-z0-9_{(@*#?$!-])")

// quoting is what some shells read as quotes of another kind.
var quoting = regexp.MustCompile(`^\$(\\\n)*['"]`)

// escaped takes a backslash and what it protects.
func (w *words) escaped(text string) (int, error) {
	switch {
	case len(text) == 1:
		return 0, errors.New(`it ends with a \`)
	case text[1] == '\n': // the line goes on
	case w.quote == '"' && strings.IndexByte("\"\\$`", text[1]) < 0:
		w.add(text[:2])
	default:
		w.add(text[1:2])
	}
	return 2, nil
}
