package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxDepth is how deep JSON may be nested, as in package json.
const maxDepth = 10_000

// jsonError is what is wrong with a JSON text, and where.
type jsonError struct {
	pos       int // in bytes
	msg, hint string
}

func (e *jsonError) Error() string { return e.msg }

// jsonMember is a member of the outermost object.
type jsonMember struct {
	name  []byte // decoded
	value []byte // as it is written
}

// text gives the value as text, or what it is instead.
func (m *jsonMember) text() (text, instead string) {
	switch m.value[0] {
	case '"':
		return string(unquote(m.value)), ""
	case '{':
		return "", "an object"
	case '[':
		return "", "a list"
	case 'n':
		return "", "null"
	}
	return string(m.value), ""
}

// jsonScanner reads one object strictly (RFC 8259, and no name twice in an
// object, no unpaired surrogate, no NUL), and copies it without its blanks.
// Package json can't tell the place of a mistake, keeps the last of two
// members with one name, and replaces what is no text.
type jsonScanner struct {
	text    []byte
	pos     int
	depth   int
	out     []byte
	members []jsonMember
	names   [][]byte        // of the objects that are open
	first   int             // of those, the first of the innermost
	seen    map[string]bool // the names of that, once there are many
}

// object scans a text; what it gives is valid until the next one.
func (s *jsonScanner) object(text []byte) error {
	s.text, s.pos, s.depth, s.first, s.seen = text, 0, 0, 0, nil
	s.out, s.members, s.names = s.out[:0], s.members[:0], s.names[:0]
	if cap(s.out) < len(text) { // members point into it: it must not move
		s.out = make([]byte, 0, 2*len(text))
	}
	switch s.skip() {
	case '{':
	case '[':
		return s.fail("the line is a list, not an object", "one object a line is needed: jq -c '.[]' makes it so")
	default:
		return s.fail("the line is no JSON object", `a record looks like {"biz_id": "1", "amount": 2.50}`)
	}
	if err := s.value(); err != nil {
		return err
	}
	if s.skip() != 0 || s.pos < len(s.text) {
		return s.fail("something follows the object", "one object a line is needed")
	}
	return nil
}

func (s *jsonScanner) find(name string) *jsonMember {
	for i := range s.members {
		if string(s.members[i].name) == name {
			return &s.members[i]
		}
	}
	return nil
}

func (s *jsonScanner) fail(msg, hint string) error {
	return &jsonError{pos: min(s.pos, len(s.text)), msg: msg, hint: hint}
}

// want fails with what is missing here.
func (s *jsonScanner) want(what string) error {
	if s.pos >= len(s.text) {
		return s.fail("the line ends within an object", "an object must not go over several lines: jq -c . makes it so")
	}
	r := []rune(string(s.text[s.pos:min(s.pos+4, len(s.text))]))[0]
	return s.fail(fmt.Sprintf("bad JSON: %s is needed here, not %q", what, r), "")
}

// skip goes over blanks and gives what follows them, 0 at the end.
func (s *jsonScanner) skip() byte {
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take copies the next byte if it is c.
func (s *jsonScanner) take(c byte) bool {
	if s.skip() != c || s.pos >= len(s.text) {
		return false
	}
	s.pos++
	s.out = append(s.out, c)
	return true
}

func (s *jsonScanner) value() error {
	switch c := s.skip(); {
	case c == '{':
		return s.nested('}', s.member)
	case c == '[':
		return s.nested(']', s.value)
	case c == '"':
		return s.str()
	case c == '-' || isDigit(c):
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.text[s.pos:], []byte(word)) {
			s.copy(s.pos + len(word))
			return nil
		}
	}
	return s.want("a value")
}

// copy takes what stands before end as it is.
func (s *jsonScanner) copy(end int) {
	s.out = append(s.out, s.text[s.pos:end]...)
	s.pos = end
}

// nested scans an object or a list.
func (s *jsonScanner) nested(end byte, item func() error) error {
	if s.depth++; s.depth > maxDepth {
		return s.fail("the record is nested too deeply", "")
	}
	first, seen := s.first, s.seen
	s.first, s.seen = len(s.names), nil
	s.take(s.skip())
	for begun := false; !s.take(end); begun = true {
		if begun && !s.take(',') {
			return s.want(fmt.Sprintf("',' or '%c'", end))
		}
		if err := item(); err != nil {
			return err
		}
	}
	s.names, s.first, s.seen = s.names[:s.first], first, seen
	s.depth--
	return nil
}

// member scans a name and its value.
func (s *jsonScanner) member() error {
	if s.skip() != '"' {
		return s.want(`a name in quotes`)
	}
	place, start := s.pos, len(s.out)
	if err := s.str(); err != nil {
		return err
	}
	name := unquote(s.out[start:])
	if err := s.unique(name, place); err != nil {
		return err
	}
	if !s.take(':') {
		return s.want("':'")
	}
	start, depth := len(s.out), s.depth
	if err := s.value(); err != nil {
		return err
	}
	if depth == 1 {
		s.members = append(s.members, jsonMember{name: name, value: s.out[start:len(s.out):len(s.out)]})
	}
	return nil
}

// unquote gives the text of a string that has been scanned.
func unquote(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		panic(err) // it has been scanned
	}
	return []byte(text)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number scans a number.
func (s *jsonScanner) number() error {
	end := s.pos
	if s.text[end] == '-' {
		end++
	}
	whole := s.digits(end)
	ok := whole > end && (s.text[end] != '0' || whole == end+1)
	end = whole
	if ok && s.at(end, ".") {
		end = s.digits(end + 1)
		ok = end > whole+1
	}
	if ok && s.at(end, "eE") {
		end++
		if s.at(end, "+-") {
			end++
		}
		first := end
		end = s.digits(end)
		ok = end > first
	}
	if !ok {
		return s.fail("bad JSON: this is no number", "text such as 0010 must stand in quotes")
	}
	s.copy(end)
	return nil
}

// at tells whether one of the letters stands at i.
func (s *jsonScanner) at(i int, letters string) bool {
	return i < len(s.text) && strings.IndexByte(letters, s.text[i]) >= 0
}

// digits goes over digits.
func (s *jsonScanner) digits(i int) int {
	for i < len(s.text) && isDigit(s.text[i]) {
		i++
	}
	return i
}
