package tasks

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"runner/ledger"
	"runner/runner"
)

// jsonlSource has a record in each line: a JSON object. Its payload is that
// object without the blanks between its parts: members keep their order, and
// strings and numbers their spelling.
type jsonlSource struct {
	*input
	bizID  []string // members
	fields []Field  // of every record
}

func (s *jsonlSource) Records() iter.Seq2[runner.Item, error] {
	return func(yield func(runner.Item, error) bool) {
		t := &jsonlPass{jsonlSource: s, parts: make([]string, len(s.bizID))}
		s.lines("is this one JSON object a line?", yield, t.record)
	}
}

// jsonlPass is one pass over the text.
type jsonlPass struct {
	*jsonlSource
	scan  jsonScanner
	parts []string // of the biz_id
	names []string // of the members last checked
}

func (t *jsonlPass) record(line int64, text []byte) (runner.Item, error) {
	if err := t.scan.object(text); err != nil {
		var bad *jsonError
		errors.As(err, &bad)
		return runner.Item{}, t.failAt(line, utf8.RuneCount(text[:bad.pos])+1, bad.msg, bad.hint)
	}
	if err := t.check(); err != nil {
		return runner.Item{}, t.fail(line, err.Error(), "")
	}
	id, err := t.key()
	if err != nil {
		return runner.Item{}, t.fail(line, err.Error(), "name the members of the biz_id with biz_id:")
	}
	item := runner.Item{BizID: id, Line: line, Payload: t.payload()}
	if err := ledger.CheckBizID(id); err != nil {
		return item, t.fail(line, err.Error(), "")
	}
	return item, nil
}

// check says what is wrong with the names of the members. Most records have
// those of the one before.
func (t *jsonlPass) check() error {
	same := len(t.names) == len(t.scan.members)
	for i := 0; same && i < len(t.names); i++ {
		same = t.names[i] == string(t.scan.members[i].name)
	}
	if same && t.names != nil {
		return nil
	}
	names := make([]string, 0, len(t.scan.members)+len(t.fields))
	for _, m := range t.scan.members {
		names = append(names, string(m.name))
	}
	own := len(names)
	for _, f := range t.fields {
		if slices.Contains(names, f.Name) {
			return collision(f.Name)
		}
		names = append(names, f.Name)
	}
	if slices.Contains(names, "") {
		return errors.New("a member has no name")
	}
	t.names = names[:own]
	return fieldCollision(names)
}

// collision says that a record has a field that is given for all.
func collision(name string) error {
	return fmt.Errorf("field %q is set for every record, but records have one of that name", name)
}

func (t *jsonlPass) key() (string, error) {
	for i, name := range t.bizID {
		m := t.scan.find(name)
		if m == nil {
			return "", fmt.Errorf("there is no %q in this record, only %s", name, quoted(t.names))
		}
		text, what := m.text()
		if what != "" {
			return "", fmt.Errorf("%q is %s, which can't identify a record", name, what)
		}
		t.parts[i] = text
	}
	if len(t.parts) == 1 {
		return t.parts[0], nil
	}
	return joinKey(t.parts), nil
}

func (t *jsonlPass) payload() []byte {
	size := len(t.scan.out)
	for _, f := range t.fields {
		size += len(f.Name) + len(f.Value) + 8
	}
	p := append(make([]byte, 0, size), t.scan.out...)
	if len(t.fields) == 0 {
		return p
	}
	p = p[:len(p)-1]
	for _, f := range t.fields {
		p = appendMember(p, appendText(nil, f.Name), f.Value)
	}
	return append(p, '}')
}
