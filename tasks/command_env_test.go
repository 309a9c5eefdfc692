package tasks

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"runner/ledger"
	"runner/runner"
)

// fieldsOf gives the field variables of an attempt, sorted, without prefix.
func fieldsOf(fields map[string]string) (got []string, err error) {
	env, err := appendRecord(nil, &runner.Attempt{Record: runner.Record{Fields: fields}}, ledger.Act, "")
	for _, kv := range env {
		if f, ok := strings.CutPrefix(kv, fieldPrefix); ok {
			got = append(got, f)
		}
	}
	slices.Sort(got)
	return got, err
}

func TestFieldsThatWouldBeTheSameVariable(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  []string
		err   string
	}{
		{[]string{"user-id", "name"}, []string{"NAME=name", "USER_ID=user-id"}, ""},
		{[]string{"姓名"}, []string{"__=姓名"}, ""},
		{[]string{"姓名", "手机号", "id"}, []string{"ID=id", "__=姓名", "___=手机号"}, ""},
		{[]string{"姓名", "电话", "id"}, []string{"ID=id"}, ""},
		{[]string{"姓名", "电话", "地址", "A姓", "a-"}, nil, ""},
		{[]string{"straße", "stra-e"}, nil, ""},
		{[]string{"user-id", "user_id"}, nil, `fields "user-id" and "user_id" would both be RUNNER_FIELD_USER_ID`},
		{[]string{"user-id", "user_id", "user号id"}, nil, `fields "user-id" and "user_id" would both be`},
		{[]string{"--", "姓名", "__"}, nil, `fields "--" and "__" would both be`},
	} {
		fields := map[string]string{}
		for _, n := range c.names {
			fields[n] = n
		}
		got, err := fieldsOf(fields)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: got %v, want %q", c.names, err, c.err)
		}
		if err == nil && cmp.Diff(c.want, got) != "" {
			t.Errorf("%q: got %q, want %q", c.names, got, c.want)
		}
		if again := fieldCollision(c.names); (again == nil) != (err == nil) {
			t.Errorf("%q: the source says %v, the command %v", c.names, again, err)
		}
	}
}

// Each variable belongs to exactly one field, whose value it has; a field has
// none only if another would have the same, and not both are in ASCII.
func TestVariablesOfFieldsAreUnambiguous(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[aA_\-用é]{1,2}`), 0, 6, rapid.ID[string]).Draw(t, "names")
		fields, sharing, wrong := map[string]string{}, map[string]int{}, false
		ascii := map[string]int{}
		for _, n := range names {
			fields[n] = n
			sharing[fieldVariable(n)]++
			if isASCII(n) {
				ascii[fieldVariable(n)]++
				wrong = wrong || ascii[fieldVariable(n)] > 1
			}
		}
		var want []string
		for _, n := range names {
			if v := fieldVariable(n); sharing[v] == 1 {
				want = append(want, strings.TrimPrefix(v, fieldPrefix)+"="+n)
			}
		}
		slices.Sort(want)
		got, err := fieldsOf(fields)
		if (err != nil) != wrong {
			t.Fatalf("%q: %v", names, err)
		}
		if err == nil && cmp.Diff(want, got) != "" {
			t.Fatalf("%q: got %q, want %q", names, got, want)
		}
	})
}
