package decode

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Map is a mapping that keeps the order of the text.
type Map[T any] []Pair[T]

// Pair is a key with its value.
type Pair[T any] struct {
	Key   string
	Value T
}

func (Map[T]) ordered() {}

type pair struct{ key, value *yaml.Node }

// pairs gives the keys of a mapping with their values, and those merged into
// it by <<, which count for less. Keys that are given twice are reported.
func (d *Document) pairs(n *yaml.Node, key string) []pair {
	if n.Kind != yaml.MappingNode {
		d.want(n, key, "keys with values")
		return nil
	}
	if !d.spend(n, len(n.Content)) { // merges blow up a text without any value
		return nil
	}
	var all, merged []pair
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		switch first := seen[k.Value]; {
		case k.ShortTag() == "!!merge":
			merged = append(merged, d.merged(v)...)
		case k.Kind != yaml.ScalarNode || isNull(k):
			d.add(k, "a key must be text", "")
		case first != nil:
			d.add(k, fmt.Sprintf("key %q is given twice, first on line %d", k.Value, first.Line), "")
		default:
			seen[k.Value] = k
			all = append(all, pair{k, v})
		}
	}
	for _, p := range merged {
		if seen[p.key.Value] == nil {
			seen[p.key.Value] = p.key
			all = append(all, p)
		}
	}
	return all
}

// merged gives the pairs of the mapping, or the list of mappings, under <<.
func (d *Document) merged(v *yaml.Node) []pair {
	target := v
	if v.Kind == yaml.AliasNode {
		target = v.Alias
	}
	if slices.Contains(d.within, target) {
		d.add(v, "<< holds itself", "")
		return nil
	}
	d.within = append(d.within, target)
	defer func() { d.within = d.within[:len(d.within)-1] }()
	if target.Kind != yaml.SequenceNode {
		return d.pairs(target, "<<")
	}
	var all []pair
	for _, item := range target.Content {
		all = append(all, d.merged(item)...)
	}
	return all
}

func (d *Document) ordered(n *yaml.Node, v reflect.Value, key string) {
	pairs := d.pairs(n, key)
	v.Set(reflect.MakeSlice(v.Type(), len(pairs), len(pairs)))
	for i, p := range pairs {
		item := v.Index(i)
		name := item.Field(0)
		name.SetString(p.key.Value)
		d.places[name.Addr().Interface()] = p.key
		d.value(p.value, item.Field(1), p.key.Value)
	}
}

func (d *Document) structure(n *yaml.Node, v reflect.Value, key string) {
	if i := listField(v.Type()); i >= 0 && n.Kind != yaml.MappingNode {
		d.value(n, v.Field(i), key)
		return
	}
	names := keysOf(v.Type())
	for _, p := range d.pairs(n, key) {
		i := slices.Index(names, p.key.Value)
		if i < 0 {
			d.unknown(p.key, names)
			continue
		}
		d.value(p.value, v.Field(i), p.key.Value)
	}
}

// listField gives the field that a list stands for in place of the struct.
func listField(t reflect.Type) int {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("decode") == "list" {
			return i
		}
	}
	return -1
}

// keysOf gives the keys of a struct, by field.
func keysOf(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
	}
	return names
}

func (d *Document) unknown(k *yaml.Node, names []string) {
	msg := fmt.Sprintf("unknown key %q", k.Value)
	if near := Nearest(k.Value, names); near != "" {
		msg += fmt.Sprintf(", did you mean %q?", near)
	}
	d.add(k, msg, "")
}
