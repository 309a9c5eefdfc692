package tasks

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"runner/runner"
)

func globs(t testing.TB, dir, pattern string) ([]string, error) {
	t.Helper()
	s, err := openGlob(dir, pattern, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	items, err := all(s)
	var ids []string
	for _, i := range items {
		ids = append(ids, i.BizID)
	}
	return ids, err
}

func TestEachFileIsARecord(t *testing.T) {
	base := mkdir(t, t.TempDir(), "[odd] *") // names of folders are no patterns
	for _, d := range []string{"in", "in/2026-11-29", "in/2026-11-29/dir.xml", "in/2026-11-28"} {
		mkdir(t, base, d)
	}
	for _, f := range []string{"b.xml", "a.xml", "优惠 1.xml", "c.txt"} {
		write(t, base, filepath.Join("in/2026-11-29", f), "")
	}
	write(t, base, "in/2026-11-28/z.xml", "")
	if err := os.Symlink("a.xml", filepath.Join(base, "in/2026-11-29/link.xml")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(base, "in/2026-11-29/dangling.xml")); err != nil {
		t.Skip(err)
	}
	c, err := Load(write(t, base, "runner.yaml", "tasks: {a: {go: noop, records: {glob: 'in/{{.execute_date}}/*.xml'}}}"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Tasks[0].Source("2026-11-29", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	item := func(name string) string {
		return fmt.Sprintf(`0:in/2026-11-29/%s {"path":"%s","name":"%[1]s"}`, name, filepath.Join(base, "in/2026-11-29", name))
	}
	want := []string{item("a.xml"), item("b.xml"), item("link.xml"), item("优惠 1.xml")}
	for range 2 {
		items, err := all(s)
		if d := cmp.Diff(want, show(items)); d != "" || err != nil {
			t.Error(d, err)
		}
		write(t, base, "in/2026-11-29/aa.xml", "") // comes too late
	}
	for pattern, want := range map[string][]string{
		"in/*/z.xml": {"in/2026-11-28/z.xml"}, "./in//2026-11-2[0-8]/?.xml": {"in/2026-11-28/z.xml"},
		filepath.Join(base, "in/2026-11-29/c.txt"): nil, // [odd] * is a pattern here
		"in/2026-11-28/../*/c.txt":                 {"in/2026-11-29/c.txt"},
		"none/*.xml":                               nil, "in/*/c.txt/*": nil, "*/nothing": nil, "in/2026-11-28/z.xml": {"in/2026-11-28/z.xml"},
		"../*/in/*/z.xml": {"../[odd] */in/2026-11-28/z.xml"}, "/": nil,
	} {
		got, err := globs(t, base, pattern)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %s %v", pattern, d, err)
		}
	}
	plain := t.TempDir()
	write(t, plain, "a", "")
	if got, err := globs(t, base, filepath.Join(plain, "*")); cmp.Diff([]string{plain + "/a"}, got) != "" || err != nil {
		t.Error(got, err)
	}
}

func TestFilesThatCannotBeRecordsAreToldAbout(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a\nb", "a\xff"} {
		path := write(t, dir, name, "")
		_, err := globs(t, dir, "*")
		wantPlace(t, err, 0, fmt.Sprintf("file %q", name))
		os.Remove(path)
	}
}

// Case 71's kind: what can't be read is not nothing.
func TestFolderThatCannotBeReadIsNoEmptyOne(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names may be that long")
	}
	_, err := globs(t, t.TempDir(), strings.Repeat("x", 300)+"/*")
	wantPlace(t, err, 0, "file name too long")
}

// The walk finds what filepath.Glob finds, where that tells of no error.
func TestGlobAgreesWithPackageFilepath(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a", "b", "a/b"} {
		mkdir(t, dir, d)
	}
	for _, f := range []string{"x", "ab", "a/x", "a/y", "a/b/x", "b/xy", "b/[x]"} {
		write(t, dir, f, "")
	}
	piece := rapid.SampledFrom([]string{"a", "b", "x", "y", "*", "?", "[ax]", "[^a]", "/", `\[`, "[x]", "]"})
	rapid.Check(t, func(rt *rapid.T) {
		pattern := strings.Trim(strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(rt, "pieces"), ""), "/")
		if pattern == "" {
			return
		}
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		var want []string
		for _, path := range found {
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				want = append(want, strings.TrimPrefix(path, dir+"/"))
			}
		}
		slices.Sort(want)
		got, gerr := globs(t, dir, pattern)
		if d := cmp.Diff(want, got); d != "" || err != nil || gerr != nil {
			rt.Fatalf("%s: %s %v %v", pattern, d, err, gerr)
		}
	})
}

var _ runner.Source = (*globSource)(nil)
