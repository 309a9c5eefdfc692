package sqlaction

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// syntax is how a database reads the text of a statement, as far as that
// decides what is a word, a string, a comment or a parameter.
type syntax struct {
	backslash  bool // \ escapes in strings
	escapeE    bool // in E'…' it does
	backtick   bool // `…` is a name
	bracket    bool // […] is a name
	slices     bool // a[1:n] is a part of an array
	doubleText bool // "…" is a string, not a name
	dollar     bool // $tag$ … $tag$ is a string
	nested     bool // comments hold comments
	hash       bool // # begins a comment
	dashBlank  bool // -- begins one only before a blank
	marks      string
}

// tokenKind is what a token is.
type tokenKind uint8

const (
	word    tokenKind = iota // a keyword, or a name without quotes
	quoted                   // a name in quotes
	literal                  // a string or a number
	param                    // :name
	mark                     // a parameter of the database's own
	punct
)

// token is a part of a statement, without blanks and comments. Its text is
// that of the statement, but for quoted names and parameters, whose it is
// without quotes and colon.
type token struct {
	kind     tokenKind
	text     string
	pos, end int
}

// scanner reads one statement.
type scanner struct {
	syntax
	text   string
	pos    int
	depth  int // of brackets
	tokens []token
}

// scan takes a statement apart.
func (s syntax) scan(text string) ([]token, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not valid UTF-8")
	}
	sc := &scanner{syntax: s, text: text}
	for sc.pos < len(text) {
		if err := sc.next(); err != nil {
			return nil, err
		}
	}
	return sc.tokens, nil
}

func (s *scanner) rest() string { return s.text[s.pos:] }

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.rest(), prefix) }

// add takes the next n bytes as a token.
func (s *scanner) add(kind tokenKind, n int) {
	s.addNamed(kind, s.text[s.pos:s.pos+n], n)
}

func (s *scanner) addNamed(kind tokenKind, text string, n int) {
	s.tokens = append(s.tokens, token{kind, text, s.pos, s.pos + n})
	s.pos += n
}

func (s *scanner) next() error {
	if done, err := s.blank(); done || err != nil {
		return err
	}
	if done, err := s.quotes(); done || err != nil {
		return err
	}
	c := s.text[s.pos]
	switch n := wordLen(s.rest()); {
	case c == ':':
		return s.colon()
	case c >= '0' && c <= '9':
		s.add(literal, s.numberLen())
	case n > 0:
		s.add(word, n)
	case strings.IndexByte(s.marks, c) >= 0:
		s.add(mark, 1+nameLen(s.text[s.pos+1:]))
	default:
		s.punct(c)
	}
	return nil
}

func (s *scanner) punct(c byte) {
	switch c {
	case '[':
		s.depth++
	case ']':
		s.depth--
	}
	s.add(punct, 1)
}

// blank skips blanks and comments.
func (s *scanner) blank() (bool, error) {
	switch rest := s.rest(); {
	case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
		s.pos++
	case s.hash && rest[0] == '#', s.dashes(rest):
		n := strings.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest)
		}
		s.pos += n
	case s.hash && (strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!")):
		return true, errors.New("it has a comment that the server executes (/*!…*/), which isn't read here: write it as plain SQL")
	case strings.HasPrefix(rest, "/*"):
		n := s.commentLen(rest)
		if n < 0 {
			return true, errors.New("a comment is never closed")
		}
		s.pos += n
	default:
		return false, nil
	}
	return true, nil
}

func (s *scanner) dashes(rest string) bool {
	if !strings.HasPrefix(rest, "--") {
		return false
	}
	return !s.dashBlank || len(rest) == 2 || rest[2] <= ' '
}

// commentLen is how long the comment is that rest begins with; -1: no end.
func (s *scanner) commentLen(rest string) int {
	depth := 0
	for i := 0; i+1 < len(rest); i++ {
		switch {
		case rest[i] == '*' && rest[i+1] == '/':
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		case rest[i] == '/' && rest[i+1] == '*' && (depth == 0 || s.nested):
			depth++
			i++
		}
	}
	return -1
}

// quotes takes what stands in quotes of any kind.
func (s *scanner) quotes() (bool, error) {
	rest := s.rest()
	switch c := rest[0]; {
	case c == '$' && s.dollar:
		return s.dollars(rest)
	case c == '\'':
		return true, s.string(0, '\'', s.backslash, literal)
	case s.escapeE && (c == 'e' || c == 'E') && strings.HasPrefix(rest[1:], "'"):
		return true, s.string(1, '\'', true, literal)
	case c == '"' && s.doubleText:
		return true, s.string(0, '"', s.backslash, literal)
	case c == '"':
		return true, s.string(0, '"', false, quoted)
	case c == '`' && s.backtick:
		return true, s.string(0, '`', false, quoted)
	}
	return s.brackets(rest)
}

// brackets takes [name].
func (s *scanner) brackets(rest string) (bool, error) {
	if !s.bracket || rest[0] != '[' {
		return false, nil
	}
	n := strings.IndexByte(rest, ']')
	if n < 0 {
		return true, errors.New("a [ is never closed")
	}
	s.addNamed(quoted, rest[1:n], n+1)
	return true, nil
}

// string takes text in quotes, in which the quote itself is written twice.
func (s *scanner) string(skip int, quote byte, backslash bool, kind tokenKind) error {
	rest := s.rest()
	for i := skip + 1; i < len(rest); i++ {
		switch {
		case backslash && rest[i] == '\\':
			i++
		case rest[i] != quote:
		case i+1 < len(rest) && rest[i+1] == quote:
			i++
		default:
			text := rest[:i+1]
			if kind == quoted {
				q := string(quote)
				text = strings.ReplaceAll(rest[1:i], q+q, q)
			}
			s.addNamed(kind, text, i+1)
			return nil
		}
	}
	return fmt.Errorf("a %c is never closed", quote)
}

// dollars takes $tag$…$tag$, or the parameter $1.
func (s *scanner) dollars(rest string) (bool, error) {
	n := 1 + strings.IndexFunc(rest[1:], func(r rune) bool { return r == '$' || !nameRune(r) })
	if n < 1 || rest[n] != '$' || rest[1] >= '0' && rest[1] <= '9' {
		s.add(mark, 1+nameLen(rest[1:]))
		return true, nil
	}
	tag := rest[:n+1]
	end := strings.Index(rest[len(tag):], tag)
	if end < 0 {
		return true, fmt.Errorf("a %s is never closed", tag)
	}
	s.add(literal, end+2*len(tag))
	return true, nil
}

// colon takes :name, :"name", :: or :=.
func (s *scanner) colon() error {
	rest := s.rest()
	name := rest[1:]
	switch {
	case s.has("::") || s.has(":="):
		s.add(punct, 2)
	case s.slices && s.depth > 0 && s.pos > 0 && !strings.ContainsRune(" \t\r\n[:", rune(s.text[s.pos-1])):
		s.add(punct, 1)
	case strings.HasPrefix(name, `"`):
		start := s.pos
		s.pos++
		if err := s.string(0, '"', false, quoted); err != nil {
			return err
		}
		t := &s.tokens[len(s.tokens)-1]
		t.kind, t.pos = param, start
	case name != "" && name[0] >= '0' && name[0] <= '9' && strings.IndexByte(s.marks, '?') >= 0 && !s.hash:
		s.add(mark, 1+nameLen(name)) // SQLite's :1
	case wordLen(name) > 0:
		n := nameLen(name)
		s.addNamed(param, name[:n], n+1)
	default:
		s.add(punct, 1)
	}
	return nil
}

// numberLen is how long a number is: a point, letters and a sign of its
// exponent may be part of it.
func (s *scanner) numberLen() int {
	rest := s.rest()
	n := 0
	for n < len(rest) && (rest[n] == '.' || nameRune(rune(rest[n])) && rest[n] < utf8.RuneSelf) {
		n++
	}
	return n
}
