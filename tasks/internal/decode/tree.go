package decode

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Tree is a JSON value written in YAML. It is stored as it is, so the names
// and values of its JSON form only grow.
type Tree struct {
	Kind  TreeKind `json:"kind"`
	Text  string   `json:"text,omitempty"`  // of all but lists and objects
	Names []string `json:"names,omitempty"` // of an object, in the order of Items
	Items []Tree   `json:"items,omitempty"` // of a list or an object
}

// TreeKind is what a Tree is.
type TreeKind string

// The kinds of a Tree.
const (
	Text    TreeKind = "text"
	Literal TreeKind = "literal" // a number, true, false or null, in the spelling of the file
	Raw     TreeKind = "json"    // text marked with !json: it is JSON itself
	List    TreeKind = "list"
	Object  TreeKind = "object"
)

// rawTag marks text that is JSON.
const rawTag = "!json"

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// branch decodes n, a value inside of a tree, where null is a value too.
func (d *Document) branch(n *yaml.Node, t *Tree, key string) {
	if n.Kind == yaml.AliasNode {
		d.follow(n, func() { d.branch(n.Alias, t, key) })
		return
	}
	if !d.spend(n, 1) {
		return
	}
	d.places[t] = n
	d.tree(n, t, key)
}

func (d *Document) tree(n *yaml.Node, t *Tree, key string) {
	switch n.Kind {
	case yaml.MappingNode:
		pairs := d.pairs(n, key)
		t.Kind, t.Names, t.Items = Object, make([]string, len(pairs)), make([]Tree, len(pairs))
		for i, p := range pairs {
			t.Names[i] = p.key.Value
			d.places[&t.Names[i]] = p.key
			d.branch(p.value, &t.Items[i], p.key.Value)
		}
	case yaml.SequenceNode:
		t.Kind, t.Items = List, make([]Tree, len(n.Content))
		for i, item := range n.Content {
			d.branch(item, &t.Items[i], fmt.Sprintf("%s[%d]", key, i))
		}
	default:
		d.leaf(n, t, key)
	}
}

func (d *Document) leaf(n *yaml.Node, t *Tree, key string) {
	t.Kind, t.Text = Text, n.Value
	switch n.ShortTag() {
	case rawTag:
		t.Kind = Raw
	case "!!null":
		t.Kind, t.Text = Literal, "null"
	case "!!bool":
		t.Kind, t.Text = Literal, strings.ToLower(n.Value)
	case "!!int", "!!float":
		t.Kind = Literal
		if !number.MatchString(n.Value) {
			d.add(n, fmt.Sprintf("%s%s is no number in JSON", prefix(key), n.Value), "quote it if the text is meant")
		}
	}
	if strings.Contains(t.Text, "\x00") {
		d.add(n, prefix(key)+"holds a NUL byte", "")
	}
}
