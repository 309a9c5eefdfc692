package decode

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// OneOrMany is a list of which a single item may be given without brackets.
type OneOrMany []string

var (
	oneOrMany = reflect.TypeFor[OneOrMany]()
	mapMark   = reflect.TypeFor[interface{ ordered() }]()
)

// value decodes n, the value of a key, into v.
func (d *Document) value(n *yaml.Node, v reflect.Value, key string) {
	if n.Kind == yaml.AliasNode {
		d.alias(n, v, key)
		return
	}
	if !d.spend(n, 1) {
		return
	}
	d.places[v.Addr().Interface()] = n
	if isNull(n) {
		d.add(n, prefix(key)+"has no value", "leave it out, or quote it if the text is meant")
		return
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(n, t, key)
		return
	}
	if t, ok := v.Addr().Interface().(*Tree); ok {
		d.tree(n, t, key)
		return
	}
	switch {
	case v.Type().Implements(mapMark):
		d.ordered(n, v, key)
	case v.Kind() == reflect.Struct:
		d.structure(n, v, key)
	case v.Kind() == reflect.Slice:
		d.list(n, v, key)
	default:
		d.scalar(n, v, key)
	}
}

// spend takes from the budget, and says once that it is used up.
func (d *Document) spend(n *yaml.Node, values int) bool {
	before := d.budget
	d.budget -= values
	if before >= 0 && d.budget < 0 {
		d.add(n, "aliases make the file too large", "")
	}
	return d.budget >= 0
}

func (d *Document) alias(n *yaml.Node, v reflect.Value, key string) {
	d.follow(n, func() { d.value(n.Alias, v, key) })
}

// follow decodes what an alias stands for, unless the alias is inside of it.
func (d *Document) follow(n *yaml.Node, decode func()) {
	if slices.Contains(d.within, n.Alias) {
		d.add(n, fmt.Sprintf("alias %q holds itself", n.Value), "")
		return
	}
	d.within = append(d.within, n.Alias)
	decode()
	d.within = d.within[:len(d.within)-1]
}

func (d *Document) text(n *yaml.Node, t encoding.TextUnmarshaler, key string) {
	if n.Kind != yaml.ScalarNode {
		d.want(n, key, "one value")
		return
	}
	if err := t.UnmarshalText([]byte(n.Value)); err != nil {
		d.add(n, prefix(key)+err.Error(), "")
	}
}

func (d *Document) list(n *yaml.Node, v reflect.Value, key string) {
	items := n.Content
	if n.Kind != yaml.SequenceNode {
		if v.Type() != oneOrMany || n.Kind != yaml.ScalarNode {
			hint := ""
			if n.Kind == yaml.ScalarNode {
				hint = "write it in brackets, each part by itself: [first, second]"
			}
			d.add(n, fmt.Sprintf("%swants a list, not %s", prefix(key), describe(n)), hint)
			return
		}
		items = []*yaml.Node{n}
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		d.value(item, v.Index(i), fmt.Sprintf("%s[%d]", key, i))
	}
}

func (d *Document) scalar(n *yaml.Node, v reflect.Value, key string) {
	if n.Kind != yaml.ScalarNode {
		d.want(n, key, wanted(v.Kind()))
		return
	}
	switch v.Kind() {
	case reflect.String: // its text, whatever it looks like
		if strings.Contains(n.Value, "\x00") {
			d.add(n, prefix(key)+"holds a NUL byte", "")
		}
		v.SetString(n.Value)
	case reflect.Bool:
		if n.ShortTag() != "!!bool" {
			d.want(n, key, wanted(v.Kind()))
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int:
		i, err := strconv.ParseInt(n.Value, 10, 32)
		if err != nil || n.ShortTag() != "!!int" || strconv.FormatInt(i, 10) != n.Value {
			d.want(n, key, wanted(v.Kind()))
			return
		}
		v.SetInt(i)
	default:
		panic("decode: no way to decode a " + v.Type().String())
	}
}

func wanted(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	}
	return "text"
}

func (d *Document) want(n *yaml.Node, key, what string) {
	d.add(n, fmt.Sprintf("%swants %s, not %s", prefix(key), what, describe(n)), "")
}

func prefix(key string) string {
	if key == "" {
		return ""
	}
	return fmt.Sprintf("%q ", key)
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys with values"
	case yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", n.Value)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
