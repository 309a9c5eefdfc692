package tasks

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWordsAreSplitAsAShellDoes(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"  ", nil},
		{"./was-paid.sh {}", []string{"./was-paid.sh", "{}"}},
		{"\n a  b\tc \n", []string{"a", "b", "c"}},
		{`'' ""`, []string{"", ""}},
		{`a'b c'"d e"f\ g`, []string{"ab cd ef g"}},
		{`'a\b"$x' "it's \"q\" \\ \$ \n"`, []string{`a\b"$x`, `it's "q" \ $ \n`}},
		{"a\\\nb \"c\\\nd\"", []string{"ab", "cd"}},
		{`grep -q '^用户1 ' 'a|b;c&d' --id=[{}] x$ \|`, []string{"grep", "-q", "^用户1 ", "a|b;c&d", "--id=[{}]", "x$", "|"}},
	} {
		got, err := splitWords(c.text)
		if err != nil || cmp.Diff(c.want, got) != "" {
			t.Errorf("%q: got %q, %v; want %q", c.text, got, err, c.want)
		}
	}
}

// A check that seems to mean one thing and does another would be believed.
func TestWordsThatOnlyAShellUnderstandsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`a 'b`: "a ' is never closed", `a "b`: `a " is never closed`, `a "b\"`: `a " is never closed`, `a \`: `ends with a \`, `'a\'b'`: "never closed",
		"a | b": "outside of quotes", "a && b": "outside of quotes", "a; b": "outside of quotes", "a >b": "outside of quotes", "a\nb": "outside of quotes",
		`grep "$1" x`: "nothing is expanded", "a $RUNNER_BIZ_ID": "nothing is expanded", "a ${X}": "nothing is expanded", "a `b`": "nothing is expanded", "a $(b)": "nothing is expanded", "a $\\\nb": "nothing is expanded",
	} {
		got, err := splitWords(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v; want …%s…", text, got, err, want)
		}
		var h *HintError
		if errors.As(err, &h) && h.Hint == "" {
			t.Errorf("%q: no hint", text)
		}
	}
}

// What splitWords takes, a shell takes for the same words.
func TestWordsAreThoseOfTheShell(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	piece := rapid.SampledFrom([]string{"a", "用", " ", "'", `"`, `\`, "{}", "-x", "$", "=", "\t", "'b c'", `"d e"`, `\ `, "\\\n", "%"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(t, "pieces"), "")
		got, err := splitWords(text)
		if err != nil || len(got) == 0 {
			return
		}
		out, err := exec.Command("sh", "-fc", `printf '<%s>' `+text).Output()
		if want := "<" + strings.Join(got, "><") + ">"; err != nil || string(out) != want {
			t.Fatalf("%q: got %s, the shell %s, %v", text, want, out, err)
		}
	})
}
