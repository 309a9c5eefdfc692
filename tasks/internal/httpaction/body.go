package httpaction

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"

	"runner/tasks/internal/decode"
)

// bodyKind is what a Content-Type says of escaping.
type bodyKind int

const (
	otherBody bodyKind = iota
	jsonBody
	formBody
)

func bodyKindOf(contentType string) bodyKind {
	t, _, _ := mime.ParseMediaType(contentType)
	switch {
	case t == "application/json", strings.HasSuffix(t, "+json"):
		return jsonBody
	case t == "application/x-www-form-urlencoded":
		return formBody
	}
	return otherBody
}

// CheckBody says why a body would not be what it seems to be.
func (r *Request) CheckBody() error {
	if bodyKindOf(r.header("Content-Type")) == jsonBody && strings.Contains(r.Body, "{{") {
		return errors.New("a template in the text of a JSON body is not escaped; write the body under json")
	}
	return nil
}

// compileBody reads the text of a body. In a form, values are escaped.
func (l *Language) compileBody(r *Request) (*text, error) {
	how := escape(asItIs)
	if bodyKindOf(r.header("Content-Type")) == formBody {
		how = inForm
	}
	return l.withoutVariables().compile(r.Body, nil, how)
}

// withoutVariables is for bodies, which are the business of the other side: a
// ${NAME} in them is its own.
func (l *Language) withoutVariables() *Language {
	return &Language{Parse: l.Parse, Expand: func(s string, _ func(string)) (string, error) { return s, nil }}
}

// tree is a JSON body, ready to be filled in.
type tree struct {
	kind  decode.TreeKind
	text  *text
	names [][]byte // as JSON, with the colon
	items []*tree
}

func (l *Language) compileTree(t *decode.Tree) (*tree, error) {
	c := &tree{kind: t.Kind}
	var err error
	if c.text, err = l.withoutVariables().compile(t.Text, nil, asItIs); err != nil {
		return nil, err
	}
	for i := range t.Items {
		item, err := l.compileTree(&t.Items[i])
		if err != nil {
			return nil, err
		}
		c.items = append(c.items, item)
	}
	for _, name := range t.Names {
		c.names = append(c.names, append(appendString(nil, name), ':'))
	}
	return c, nil
}

// fill appends the JSON of a record.
func (t *tree) fill(b []byte, l *Language, data any) ([]byte, error) {
	switch t.kind {
	case decode.List:
		return t.fillItems(b, '[', ']', l, data)
	case decode.Object:
		return t.fillItems(b, '{', '}', l, data)
	}
	s, err := t.text.fill(l, data)
	switch {
	case err != nil:
		return b, err
	case t.kind == decode.Literal:
		return append(b, s...), nil
	case t.kind == decode.Raw && !json.Valid([]byte(s)):
		return b, fmt.Errorf("%q is no JSON for this record, but %q", t.text.source, s)
	case t.kind == decode.Raw:
		return append(b, s...), nil
	}
	return appendString(b, s), nil
}

func (t *tree) fillItems(b []byte, open, end byte, l *Language, data any) (_ []byte, err error) {
	b = append(b, open)
	for i, item := range t.items {
		if i > 0 {
			b = append(b, ',')
		}
		if t.names != nil {
			b = append(b, t.names[i]...)
		}
		if b, err = item.fill(b, l, data); err != nil {
			return b, err
		}
	}
	return append(b, end), nil
}

// appendString appends a JSON string, in which nothing is escaped for HTML.
func appendString(b []byte, s string) []byte {
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string has a JSON form
	}
	return append(b, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}
