package tasks

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
	"runner/runner"
)

// all reads a source once.
func all(s runner.Source) (items []runner.Item, err error) {
	for item, e := range s.Records() {
		if e != nil {
			return items, e
		}
		items = append(items, item)
	}
	return items, nil
}

func openSource(t testing.TB, o SourceOptions) runner.Source {
	t.Helper()
	s, err := OpenSource(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// show gives records as line:id payload.
func show(items []runner.Item) []string {
	var out []string
	for _, i := range items {
		s := fmt.Sprintf("%d:%s", i.Line, i.BizID)
		if i.Payload != nil {
			s += " " + string(i.Payload)
		}
		out = append(out, s)
	}
	return out
}

func read(t testing.TB, format, text string, bizID ...string) ([]string, error) {
	t.Helper()
	s := openSource(t, SourceOptions{Path: "-", Format: format, Stdin: strings.NewReader(text), BizID: bizID})
	items, err := all(s)
	return show(items), err
}

func inputFile(name string) string { return filepath.Join("..", "testdata", "inputs", name) }

func wantRecords(t *testing.T, o SourceOptions, want ...string) {
	t.Helper()
	s := openSource(t, o)
	for pass := range 2 {
		items, err := all(s)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, show(items)); d != "" {
			t.Errorf("pass %d: %s", pass+1, d)
		}
	}
}

// Case 9: a byte order mark glued to the first header.
func TestByteOrderMarkIsTakenOff(t *testing.T) {
	wantRecords(t, SourceOptions{Path: inputFile("bom.csv")},
		`2:u1 {"biz_id":"u1","name":"Ann"}`, `3:u2 {"biz_id":"u2","name":"小明"}`)
	wantRecords(t, SourceOptions{Path: "-", Stdin: strings.NewReader("\ufeffa\nb\n")}, "1:a", "2:b")
	wantRecords(t, SourceOptions{Path: "-", Stdin: strings.NewReader("\ufeff\"biz_id\"\nb\n"), Format: FormatCSV}, "2:b")
}

// Case 10: every id ends in CR.
func TestCRLFIsTakenOffAndCRInsideRefused(t *testing.T) {
	wantRecords(t, SourceOptions{Path: inputFile("crlf.txt")}, "1:u1", "2:u2", "3:u3")
	wantRecords(t, SourceOptions{Path: "-", Stdin: strings.NewReader("a\r\n\r\nb\r")}, "1:a", "3:b")
	for _, text := range []string{"a\nb\rc\n", "a\nb\r\r\n"} {
		_, err := read(t, FormatLines, text)
		wantPlace(t, err, 2, "holds '\\r'")
	}
}

// Case 11: 0010 became 10.
func TestIdsAreOpaqueText(t *testing.T) {
	wantRecords(t, SourceOptions{Path: inputFile("zeros.csv")},
		`2:0010 {"biz_id":"0010","amount":"1"}`, `3:10 {"biz_id":"10","amount":"2"}`,
		`4:0x1 {"biz_id":"0x1","amount":"3"}`, `5:1e3 {"biz_id":"1e3","amount":"4"}`)
	wantRecords(t, SourceOptions{Path: "-", Stdin: strings.NewReader(" a \n\t\n  \n12345678901234567890\n# x\n")},
		"1: a ", "4:12345678901234567890", "5:# x")
}

// wantPlace checks an error with a place, and gives its hint.
func wantPlace(t *testing.T, err error, line int64, msg string) (hint string) {
	t.Helper()
	var pe *runner.PlaceError
	if !errors.As(err, &pe) || pe.Line != line || !strings.Contains(pe.Msg, msg) {
		t.Errorf("got %v, want line %d: …%s…", err, line, msg)
		return ""
	}
	return pe.Hint
}

// Case 14, the part of the sources: nothing is no error here, the engine
// decides; but a broken pipe is no end.
func TestEmptyInputsHaveNoRecords(t *testing.T) {
	wantRecords(t, SourceOptions{Path: inputFile("header-only.csv")})
	for _, text := range []string{"", "\ufeff", "\n\n", " \n"} {
		for _, format := range []string{FormatLines, FormatCSV} {
			if text == " \n" && format == FormatCSV {
				continue // a header with an odd name
			}
			if got, err := read(t, format, text); err != nil || len(got) > 0 {
				t.Errorf("%s %q: %v, %v", format, text, got, err)
			}
		}
	}
}

func TestLinesThatAreNoIdsAreRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		line int64
		msg  string
	}{
		{"a\n\xff\n", 2, "not valid UTF-8"},
		{strings.Repeat("a\n", 400) + "b\x00\n", 401, "holds '\\x00'"},
		{"a\n" + strings.Repeat("x", 513), 2, "513 bytes"},
		{"a\n" + strings.Repeat("x", maxLine+1) + "\n", 2, "longer than 16 MiB"},
	} {
		_, err := read(t, FormatLines, c.text)
		wantPlace(t, err, c.line, c.msg)
	}
	_, err := read(t, FormatCSV, "biz_id,v\na,1\nb,\""+strings.Repeat("x\n", maxLine))
	wantPlace(t, err, 3, "longer than 16 MiB")
}

func TestSourcesByHand(t *testing.T) {
	s := openSource(t, SourceOptions{IDs: []string{"a", "0010"}, Fields: []Field{{"k", "v"}}})
	items, err := all(s)
	if d := cmp.Diff([]string{`0:a {"k":"v"}`, `0:0010 {"k":"v"}`}, show(items)); d != "" || err != nil || s.Name() != "--biz-id" {
		t.Error(d, err)
	}
	_, err = all(openSource(t, SourceOptions{IDs: []string{"a\n"}}))
	wantPlace(t, err, 0, "holds '\\n'")
	wantRecords(t, SourceOptions{Path: "-", Stdin: strings.NewReader("a\n"), Fields: []Field{{"k", "v"}}}, `1:a {"k":"v"}`)
	wantRecords(t, SourceOptions{Path: "-", Stdin: strings.NewReader("biz_id\na\n"), Format: FormatCSV, Fields: []Field{{"k", "v"}}},
		`2:a {"biz_id":"a","k":"v"}`)
}

func TestSourcesThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		o   SourceOptions
		msg string
	}{
		{SourceOptions{}, "no source"},
		{SourceOptions{Path: filepath.Join(dir, "none")}, "can't be read: no such file"},
		{SourceOptions{Path: dir}, "is a folder"},
		{SourceOptions{Path: "-"}, "no stdin"},
		{SourceOptions{Path: "x", Format: "xml"}, `unknown format "xml"`},
		{SourceOptions{Path: "x", IDs: []string{"a"}}, "both by hand and from x"},
		{SourceOptions{Path: "x", BizID: []string{"a"}}, "lines have no columns"},
		{SourceOptions{IDs: []string{"a"}, Fields: []Field{{"a-b", ""}, {"a_b", ""}}}, "would both be"},
	} {
		if _, err := OpenSource(c.o); err == nil || !strings.Contains(err.Error(), c.msg) {
			t.Errorf("%+v: got %v, want …%s…", c.o, err, c.msg)
		}
	}
}

// What names the records of a task names others that are given to it.
func TestOtherRecordsHaveTheNamesOfTheTask(t *testing.T) {
	c := mustLoad(t, "tasks: {a: {go: noop, records: {csv: x, biz_id: [a, b]}}}")
	for format, text := range map[string]string{FormatCSV: "b,a\n2,1\n", FormatJSONL: `{"a":"1","b":2}`, FormatLines: "1:2\n"} {
		s, err := c.Tasks[0].SourceFrom(SourceOptions{Path: "-", Format: format, Stdin: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		if items, err := all(s); err != nil || len(items) != 1 || items[0].BizID != "1:2" {
			t.Errorf("%s: %v, %v", format, show(items), err)
		}
		s.Close()
	}
}

func TestTaskOpensItsOwnRecords(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "users-2026-11-29.csv", "user,coupon\nu,c\n")
	c, err := Load(write(t, dir, "runner.yaml", `
tasks:
  csv: {go: noop, records: {csv: "users-{{.execute_date}}.csv", biz_id: [user, coupon]}}
  in: {go: noop, records: {lines: "-"}}
  one: {go: noop}
  jsonl: {go: noop, records: {jsonl: "-", biz_id: [a, b]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`2:u:c {"user":"u","coupon":"c"}`, "1:x", "0:" + ledger.NoBizID, `1:x:1 {"a":"x","b":1}`} {
		stdin := "x\n"
		if i == 3 {
			stdin = `{"a":"x","b":1}`
		}
		s, err := c.Tasks[i].Source("2026-11-29", strings.NewReader(stdin))
		if err != nil {
			t.Fatal(err)
		}
		items, err := all(s)
		if d := cmp.Diff([]string{want}, show(items)); d != "" || err != nil {
			t.Error(d, err)
		}
		s.Close()
	}
}
