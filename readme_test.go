package main_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The README in Chinese shows the same as the one in English: a command that
// is added to one is missing in the other until somebody translates it.
func TestTheReadmesSayTheSame(t *testing.T) {
	en, zh := readReadme(t, "README.md"), readReadme(t, "README.zh-CN.md")
	if len(en.blocks) < 15 || len(en.headings) < 15 {
		t.Fatalf("only %d code blocks and %d headings were found in README.md", len(en.blocks), len(en.headings))
	}
	if d := cmp.Diff(en, zh, cmp.AllowUnexported(readme{})); d != "" {
		t.Errorf("- README.md + README.zh-CN.md\n%s", d)
	}
}

// readme is what doesn't depend on the language.
type readme struct {
	blocks   []string // code, without its comments
	headings []string // their levels
	links    []string // where to, sorted, each once
	inline   []string // the same of code in the text
	rows     int      // of tables
}

var (
	comment    = regexp.MustCompile(`(?m)\s+#.*$`)
	link       = regexp.MustCompile(`\]\(([^)]+)\)`)
	inlineCode = regexp.MustCompile("`([^`]+)`")
	spaces     = regexp.MustCompile(`\s+`)
)

func readReadme(t *testing.T, name string) (r readme) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	// The table of the benchmark is written by a program, in one of them.
	if before, rest, ok := strings.Cut(text, "<!-- bench:"); ok {
		_, after, _ := strings.Cut(rest, "<!-- /bench -->")
		text = before + after
	}
	for i, part := range strings.Split(text, "```") {
		if i%2 == 1 {
			r.blocks = append(r.blocks, comment.ReplaceAllString(part, ""))
			continue
		}
		for line := range strings.Lines(part) {
			if level, _, ok := strings.Cut(line, "# "); ok && strings.Trim(level, "#") == "" {
				r.headings = append(r.headings, level+"#")
			}
			if strings.HasPrefix(line, "|") {
				r.rows++
			}
		}
		for _, m := range link.FindAllStringSubmatch(part, -1) {
			if !strings.HasPrefix(m[1], "README") { // to each other
				r.links = append(r.links, m[1])
			}
		}
		for _, m := range inlineCode.FindAllStringSubmatch(part, -1) {
			r.inline = append(r.inline, spaces.ReplaceAllString(m[1], " "))
		}
	}
	for _, list := range []*[]string{&r.links, &r.inline} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return r
}
