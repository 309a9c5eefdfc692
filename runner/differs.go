package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// differs are the keys of a definition in which two runs don't agree.
type differs struct {
	keys   []string // some with both values
	places bool     // nothing but folders
}

// plainKeys are those whose values are shown. Of the others only the name is: a
// command, an address or a text is long, and may hold what is nobody's business.
var plainKeys = []string{"kind", "check_kind", "compensate_kind", "time_zone", "namespace", "policy.attempts"}

// compareDefinitions compares stored definitions. Of those that another version
// wrote otherwise nothing is known but that they differ.
func compareDefinitions(mine, theirs []byte) (d differs) {
	var a, b map[string]any
	if decodeExact(mine, &a) != nil || decodeExact(theirs, &b) != nil {
		return d
	}
	d.places = true
	d.walk("", a, b)
	d.places = d.places && len(d.keys) > 0
	return d
}

func decodeExact(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(into)
}

// walk adds each value that isn't the same in both. Lists are taken as a whole.
func (d *differs) walk(above string, a, b map[string]any) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x, y := a[name], b[name]
		xm, xok := x.(map[string]any)
		ym, yok := y.(map[string]any)
		switch {
		case xok && yok:
			d.walk(above+name+".", xm, ym)
		case fmt.Sprint(x) != fmt.Sprint(y):
			d.add(above+name, x, y)
		}
	}
}

func (d *differs) add(key string, x, y any) {
	text := strings.TrimPrefix(key, "policy.")
	place := isPlace(key)
	if d.places = d.places && place; place {
		text = "dir" // what the configuration calls both
	}
	if place || slices.Contains(plainKeys, key) {
		text += fmt.Sprintf(": %v against %v", orNone(x), orNone(y))
	}
	if !slices.Contains(d.keys, text) {
		d.keys = append(d.keys, text)
	}
}

// isPlace tells whether a key names a folder: that of the configuration, or the
// one in which a command runs.
func isPlace(key string) bool {
	part, name, _ := strings.Cut(key, ".")
	return slices.Contains([]string{"action", "check", "compensate"}, part) && (name == "base" || name == "dir")
}

func orNone(v any) any {
	if v == nil || v == "" {
		return "none"
	}
	return v
}
