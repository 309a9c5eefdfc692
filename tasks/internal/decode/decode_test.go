package decode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type inner struct {
	N     int       `yaml:"n"`
	Names OneOrMany `yaml:"names"`
}

type outer struct {
	Text  string      `yaml:"text"`
	Flag  bool        `yaml:"flag"`
	Words []string    `yaml:"words"`
	Items Map[inner]  `yaml:"items"`
	Env   Map[string] `yaml:"env"`
}

func decode(text string) (outer, []string) {
	var o outer
	var msgs []string
	for _, p := range Decode([]byte(text), &o).Problems() {
		msgs = append(msgs, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Msg))
	}
	return o, msgs
}

func TestValuesKeepTheirTextAndOrder(t *testing.T) {
	got, msgs := decode("text: 012\nflag: true\nwords: [yes, 0x1F, 1_000, 2026-01-01, '~', '']\nitems: {b: {n: -3, names: x}, a: {names: [x, 'y']}}\nenv: {Z: 1, A: 1.50}\n")
	want := outer{
		Text: "012", Flag: true, Words: []string{"yes", "0x1F", "1_000", "2026-01-01", "~", ""},
		Items: Map[inner]{{"b", inner{N: -3, Names: OneOrMany{"x"}}}, {"a", inner{Names: OneOrMany{"x", "y"}}}},
		Env:   Map[string]{{"Z", "1"}, {"A", "1.50"}},
	}
	if d := cmp.Diff(want, got); d != "" || msgs != nil {
		t.Error(d, msgs)
	}
}

func TestEveryMistakeIsFound(t *testing.T) {
	_, msgs := decode("flag: on\nwords: [[a], ~]\nitems: {a: {n: 1.5}, b: {n: 010}, c: x, ~: {}, [k]: {}}\nenv: {A: [1]}\ntext: \"a\\0b\"\nflagg: 1\n")
	want := []string{
		`1:7 "flag" wants true or false, not "on"`,
		`2:9 "words[0]" wants text, not a list`,
		`2:14 "words[1]" has no value`,
		`3:16 "n" wants a whole number, not "1.5"`,
		`3:29 "n" wants a whole number, not "010"`,
		`3:38 "c" wants keys with values, not "x"`,
		`3:41 a key must be text`,
		`3:48 a key must be text`,
		`4:10 "A" wants text, not a list`,
		`5:7 "text" holds a NUL byte`,
		`6:1 unknown key "flagg", did you mean "flag"?`,
	}
	if d := cmp.Diff(want, msgs); d != "" {
		t.Error(d)
	}
}

func TestMergedKeysCountForLess(t *testing.T) {
	got, msgs := decode("items:\n  a: &a {n: 1, names: x}\n  b: &b {n: 2}\n  c: {<<: [*b, *a], names: y}\n")
	if d := cmp.Diff(inner{N: 2, Names: OneOrMany{"y"}}, got.Items[2].Value); d != "" || msgs != nil {
		t.Error(d, msgs)
	}
}

func TestReportFindsTheNearestPlace(t *testing.T) {
	var o outer
	d := Decode([]byte("items:\n  a: {n: 1}\n  b: {n: x}\n"), &o)
	d.Report("about n", "", &o.Items[0].Value.N)
	d.Report("about names", "", &o.Items[0].Value.Names, &o.Items[0].Value)
	d.Report("about the key", "", &o.Items[0].Key)
	d.Report("not said: it is no number", "", &o.Items[1].Value.N)
	d.Report("about nothing", "", &o.Text)
	want := []Problem{
		{Msg: "about nothing"}, {Line: 2, Column: 3, Msg: "about the key"}, {Line: 2, Column: 6, Msg: "about names"},
		{Line: 2, Column: 10, Msg: "about n"}, {Line: 3, Column: 10, Msg: `"n" wants a whole number, not "x"`},
	}
	if diff := cmp.Diff(want, d.Problems()); diff != "" {
		t.Error(diff)
	}
	if !d.Has(&o.Items[0].Value.N) || d.Has(&o.Text) {
		t.Error("Has is wrong")
	}
}

func TestAnyStringSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("a0~ {[:#&*'優\n")))).Draw(t, "words")
		var b strings.Builder
		b.WriteString("words:")
		if len(words) == 0 {
			b.WriteString(" []")
		}
		for _, w := range words {
			fmt.Fprintf(&b, "\n  - %q", w)
		}
		got, msgs := decode(b.String())
		if d := cmp.Diff(words, append([]string{}, got.Words...)); d != "" || msgs != nil {
			t.Fatal(d, msgs)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add("items: {a: &a {n: 1, <<: *a}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range Decode([]byte(text), &outer{}).Problems() {
			if p.Msg == "" || p.Line > strings.Count(text, "\n")+len(text)+1 {
				t.Fatalf("got %+v", p)
			}
		}
	})
}

func TestNearestName(t *testing.T) {
	names := []string{"idempotent", "records", "run", "retry"}
	for in, want := range map[string]string{
		"idempotant": "idempotent", "record": "records", "rnu": "run", "retyr": "retry", "check": "", "x": "", "": "",
	} {
		if got := Nearest(in, names); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
