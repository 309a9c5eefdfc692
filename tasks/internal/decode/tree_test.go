package decode

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type withTree struct {
	Name string `yaml:"name"`
	Tree Tree   `yaml:"tree"`
}

func TestTreeKeepsNumbersNullsAndOrder(t *testing.T) {
	var got withTree
	doc := Decode([]byte(`name: x
tree: &t
  b: [1.50, -0, 1e3, 12345678901234567890, true, ~, yes, "1", 2026-11-28]
  a: {j: !json "{{.x}}", "": {}, l: []}
  c: &n {k: v}
  d: *n
  <<: {z: 1, a: 2}
`), &got)
	lit := func(s string) Tree { return Tree{Kind: Literal, Text: s} }
	text := func(s string) Tree { return Tree{Kind: Text, Text: s} }
	object := func(names []string, items ...Tree) Tree { return Tree{Kind: Object, Names: names, Items: items} }
	kv := object([]string{"k"}, text("v"))
	want := object([]string{"b", "a", "c", "d", "z"},
		Tree{Kind: List, Items: []Tree{
			lit("1.50"), lit("-0"), lit("1e3"), lit("12345678901234567890"), lit("true"), lit("null"), text("yes"), text("1"), text("2026-11-28"),
		}},
		object([]string{"j", "", "l"}, Tree{Kind: Raw, Text: "{{.x}}"}, Tree{Kind: Object, Names: []string{}, Items: []Tree{}}, Tree{Kind: List, Items: []Tree{}}),
		kv, kv, lit("1"))
	if d := cmp.Diff(want, got.Tree); d != "" || len(doc.Problems()) > 0 {
		t.Error(d, doc.Problems())
	}
	if !doc.Has(&got.Tree) || !doc.Has(&got.Tree.Items[0].Items[5]) || !doc.Has(&got.Tree.Names[1]) {
		t.Error("places are missing")
	}
}

func TestMistakesInATreeHavePlaces(t *testing.T) {
	for text, want := range map[string]string{
		"tree: [0x1F]":          `1:8 "tree[0]" 0x1F is no number in JSON`,
		"tree: {a: 012}":        `1:11 "a" 012 is no number in JSON`,
		"tree: {a: .inf}":       `1:11 "a" .inf is no number in JSON`,
		"tree: {a: 1_000}":      `1:11 "a" 1_000 is no number in JSON`,
		"tree: {a: 1, a: 2}":    `1:14 key "a" is given twice, first on line 1`,
		"tree: {a: \"\\0\"}":    `1:11 "a" holds a NUL byte`,
		"tree:":                 `1:6 "tree" has no value`,
		"tree: {~: 1}":          `1:8 a key must be text`,
		"tree: &a [*a]":         `1:11 alias "a" holds itself`,
		"tree: {a: &a {b: *a}}": `1:18 alias "a" holds itself`,
	} {
		var got withTree
		var msgs []string
		for _, p := range Decode([]byte(text), &got).Problems() {
			msgs = append(msgs, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Msg))
		}
		if d := cmp.Diff([]string{want}, msgs); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}
