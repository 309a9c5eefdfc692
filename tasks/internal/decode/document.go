package decode

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Problem is one mistake and its place. Line 0 means the whole text.
type Problem struct {
	Line, Column int
	Msg, Hint    string
}

// Document is a decoded text.
type Document struct {
	problems []Problem
	places   map[any]*yaml.Node // by pointer to the value
	bad      map[*yaml.Node]bool
	budget   int
	within   []*yaml.Node // aliases being followed
}

// maxValues bounds how much aliases can blow up a text.
const maxValues = 1 << 20

// Decode fills into, a pointer to a struct, from YAML text. What is wrong is
// in Problems.
func Decode(text []byte, into any) *Document {
	d := &Document{places: map[any]*yaml.Node{}, bad: map[*yaml.Node]bool{}, budget: maxValues}
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		d.syntax(err)
		return d
	}
	n := &root
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	if n.Kind != yaml.MappingNode {
		if isNull(n) {
			d.add(nil, "the file is empty", "")
		} else {
			d.add(n, "want keys with values, not "+describe(n), "")
		}
		return d
	}
	d.value(n, reflect.ValueOf(into).Elem(), "")
	return d
}

// Problems gives all mistakes in the order of their places, each once.
func (d *Document) Problems() []Problem {
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(d.problems)
}

// Report adds a mistake in the value that ptr points to. For a value that may
// not be in the text, what holds it is given after it. Nothing more is said
// about a value that couldn't be decoded.
func (d *Document) Report(msg, hint string, ptrs ...any) {
	for _, p := range ptrs {
		if n := d.places[p]; n != nil {
			if !d.bad[n] {
				d.problem(n, msg, hint)
			}
			return
		}
	}
	d.problem(nil, msg, hint)
}

// Decoded tells whether the text was YAML with keys, so that values are there.
func (d *Document) Decoded() bool { return len(d.places) > 0 }

// Has tells whether the value that ptr points to is in the text.
func (d *Document) Has(ptr any) bool { return d.places[ptr] != nil }

// add adds a mistake that leaves a value undecoded.
func (d *Document) add(n *yaml.Node, msg, hint string) {
	d.bad[n] = true
	d.problem(n, msg, hint)
}

func (d *Document) problem(n *yaml.Node, msg, hint string) {
	p := Problem{Msg: msg, Hint: hint}
	if n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	d.problems = append(d.problems, p)
}

// syntax takes the error of package yaml.
func (d *Document) syntax(err error) {
	var all *yaml.LoadErrors
	var one *yaml.LoadError
	switch {
	case errors.As(err, &all):
		for _, e := range all.Errors {
			d.syntax(e)
		}
	case errors.As(err, &one):
		p := Problem{Line: one.Mark.Line, Column: one.Mark.Column, Msg: wording(one.Message)}
		if strings.Contains(one.Message, "cannot start any token") {
			p.Hint = "YAML is indented with spaces, and text that starts with a special character is quoted"
		}
		d.problems = append(d.problems, p)
	default:
		d.problems = append(d.problems, Problem{Msg: err.Error()})
	}
}

func wording(msg string) string {
	switch msg {
	case "yaml: no documents in stream":
		return "the file is empty"
	case "yaml: expected single document, found multiple":
		return "the file holds more than one document"
	}
	return "this is no YAML: " + msg
}
