package tasks

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatMayHaveLeftGuards(t *testing.T) {
	conf := mustLoad(t, `tasks:
  on: {sql: {database: "sqlite:shop.db", statement: SELECT 1}}
  off: {sql: {database: "sqlite:shop.db", statement: SELECT 1, guard: off}}
  go: {go: noop}
`)
	for i, want := range []bool{true, false, false} {
		built, err := conf.Tasks[i].Build(0)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := built.Definition.Encode()
		at, left, err := LeftGuards(text)
		if got := conf.Tasks[i].Guarded(); got != want || left != want || err != nil {
			t.Errorf("%s: got %v and %v, %v, want %v", built.Name, got, left, err, want)
		}
		if want && at != conf.Tasks[i].GuardPlace() {
			t.Errorf("%s: %v", built.Name, at)
		}
	}
	for _, text := range []string{"", "{}", `{"kind":"quantum","action":{}}`, `{"kind":"sql","action":{}}`} {
		if _, left, err := LeftGuards([]byte(text)); !left || err == nil {
			t.Errorf("%q: nobody knows", text)
		}
	}
}

// Guards of a definition lie elsewhere if another database was named, whoever
// used it.
func TestWhereGuardsLie(t *testing.T) {
	t.Setenv("SHOP", "postgres://app:s3cret@db.example/shop")
	places := map[string]bool{}
	for _, c := range []struct {
		namespace, database string
		another             bool
	}{
		{"", "postgres://app:s3cret@db.example/shop", true},
		{"", "postgres://other:changed@db.example/shop?sslmode=require", false},
		{"a", "postgres://app:s3cret@db.example/shop", true},
		{"", "postgres://app:s3cret@db.example/other", true},
		{"", "postgres://app:s3cret@standby.example/shop", true},
		{"", "postgres://app:s3cret@db.example/shop?search_path=b", true},
		{"", "${SHOP}", true},
		{"", "sqlite:shop.db", true},
		{"", "sqlite:./shop.db", false},
		{"", "sqlite:///elsewhere/shop.db", true},
	} {
		conf := mustLoad(t, fmt.Sprintf("namespace: %q\ntasks: {x: {sql: {database: %q, statement: SELECT 1}}}\n", c.namespace, c.database))
		at := conf.Tasks[0].GuardPlace()
		place := strings.ReplaceAll(fmt.Sprint(at), conf.Dir, "")
		if known := places[place]; known == c.another || strings.Contains(place, "s3cret") {
			t.Errorf("%s in %q: %s", c.database, c.namespace, place)
		}
		places[place] = true
	}
}
