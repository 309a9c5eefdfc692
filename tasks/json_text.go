package tasks

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// fewNames are found faster one by one.
const fewNames = 32

// unique remembers a name of the innermost object, and fails if it is there
// already.
func (s *jsonScanner) unique(name []byte, place int) error {
	names := s.names[s.first:]
	twice := s.seen[string(name)]
	if s.seen == nil {
		twice = slices.ContainsFunc(names, func(other []byte) bool { return bytes.Equal(other, name) })
	}
	if twice {
		return s.failAt(place, fmt.Sprintf("member %q is there twice", name), "")
	}
	s.names = append(s.names, name)
	if s.seen != nil {
		s.seen[string(name)] = true
	} else if len(names) == fewNames {
		s.seen = map[string]bool{}
		for _, n := range s.names[s.first:] {
			s.seen[string(n)] = true
		}
	}
	return nil
}

// str scans a string.
func (s *jsonScanner) str() error {
	text, i := s.text, s.pos+1
	ascii := true
	for ; i < len(text) && text[i] != '"'; i++ {
		switch c := text[i]; {
		case c == '\\':
			n, err := s.escape(i)
			if err != nil {
				return err
			}
			i += n - 1
		case c < ' ':
			return s.failAt(i, fmt.Sprintf("bad JSON: the control character %#U stands in a string", c), `a tab is written \t, a line end \n`)
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if i >= len(text) {
		return s.failAt(i, "the line ends within a string", `a line end in a string is written \n`)
	}
	if end := i + 1; ascii || utf8.Valid(text[s.pos:end]) {
		s.copy(end)
		return nil
	}
	return s.fail("a string is not valid UTF-8", hintFor(string(text[s.pos:i])))
}

func (s *jsonScanner) failAt(pos int, msg, hint string) error {
	return &jsonError{pos: min(pos, len(s.text)), msg: msg, hint: hint}
}

// escape gives the length of the escape at i.
func (s *jsonScanner) escape(i int) (int, error) {
	if i+1 < len(s.text) && bytes.IndexByte([]byte(`"\/bfnrt`), s.text[i+1]) >= 0 {
		return 2, nil
	}
	switch first := s.unit(i); {
	case first < 0:
		return 0, s.failAt(i, "bad JSON: there is no such escape", `a backslash is written \\`)
	case first == 0:
		return 0, s.failAt(i, "a string holds a NUL byte", "")
	case first < 0xd800 || first > 0xdfff:
		return 6, nil
	case first < 0xdc00:
		if second := s.unit(i + 6); second >= 0xdc00 && second <= 0xdfff {
			return 12, nil
		}
	}
	return 0, s.failAt(i, "a string holds half a character (an unpaired surrogate)", "")
}

// unit gives the value of \uXXXX at i, or -1.
func (s *jsonScanner) unit(i int) int {
	if i+6 > len(s.text) || s.text[i] != '\\' || s.text[i+1] != 'u' {
		return -1
	}
	v, err := strconv.ParseUint(string(s.text[i+2:i+6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(v)
}
