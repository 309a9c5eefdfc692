package httpaction

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func split(text []byte) (lines []string, err error) {
	var b strings.Builder
	var items int64
	err = splitArray(bufio.NewReader(bytes.NewReader(text)), &b, &items)
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \t\r\n"))
	}
	return lines, err
}

func value() *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) any { return rapid.StringMatching(`["\\\[\]{},:a é\n]{0,6}`).Draw(t, "text") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.Float64Range(-1e6, 1e6).Draw(t, "number") }),
		rapid.SampledFrom([]any{true, nil}))
	return rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return rapid.SliceOfN(leaf, 0, 3).Draw(t, "list")
		case 1:
			return rapid.MapOfN(rapid.StringN(0, 3, 6), leaf, 0, 3).Draw(t, "object")
		}
		return leaf.Draw(t, "leaf")
	})
}

// An array comes out item by item, and never in part without an error.
func TestArrayIsSplitIntoItsItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(value(), 0, 4).Draw(t, "values")
		text, err := json.Marshal(values)
		if rapid.Bool().Draw(t, "pretty") {
			text, err = json.MarshalIndent(values, "\r", "\t")
		}
		if err != nil {
			t.Fatal(err)
		}
		lines, err := split(text)
		if err != nil || len(lines) != len(values) {
			t.Fatalf("%s: got %q, %v", text, lines, err)
		}
		for i, line := range lines {
			want, _ := json.Marshal(values[i])
			var got bytes.Buffer
			if err := json.Compact(&got, []byte(line)); err != nil || got.String() != string(want) {
				t.Fatalf("%s: item %d is %q, %v", text, i, line, err)
			}
		}
		short := text[:rapid.IntRange(1, len(text)-1).Draw(t, "short")]
		if lines, err := split(short); err == nil {
			t.Fatalf("%s: got %q and no error", short, lines)
		}
	})
}

func TestBlanksAroundAnArrayAreFine(t *testing.T) {
	got, err := split([]byte("[ 1 ,\n2]\r\n\t "))
	if d := cmp.Diff([]string{"1", "2"}, got); d != "" || err != nil {
		t.Error(d, err)
	}
}
