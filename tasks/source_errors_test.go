package tasks

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runner/runner"
)

// Cases 9 to 15: every named error of an input, each with a file.
func TestNamedErrorsOfInputs(t *testing.T) {
	for name, c := range map[string]struct {
		place, msg string
	}{
		"utf16.csv":           {":1", "the text is UTF-16"},
		"utf16.txt":           {":1", "the text is UTF-16"},
		"utf16.jsonl":         {":1", "the text is UTF-16"},
		"ragged.csv":          {":3", "the row has 3 fields, the header 2"},
		"dup-header.csv":      {":1", `column "v" is there twice`},
		"open-quote.csv":      {":2", "a quoted field is never closed"},
		"no-id.csv":           {":1", `there is no column "biz_id"`},
		"empty-id.csv":        {":2", "biz_id is empty"},
		"newline-id.csv":      {":2", `holds '\n'`},
		"semicolons.csv":      {":1", `there is no column "biz_id"`},
		"same-variable.csv":   {":1", "would both be RUNNER_FIELD_A_B"},
		"cr-inside.txt":       {":2", `holds '\r'`},
		"gb18030.txt":         {":2", "not valid UTF-8"},
		"nul.txt":             {":1", "NUL bytes"},
		"long-id.txt":         {":2", "513 bytes"},
		"dup-member.jsonl":    {":3:25", `member "v" is there twice`},
		"not-object.jsonl":    {":2:1", "the line is a list"},
		"bad-json.jsonl":      {":2:22", "this is no number"},
		"pretty.jsonl":        {":1:2", "the line ends within an object"},
		"null-id.jsonl":       {":2", `"biz_id" is null`},
		"no-id.jsonl":         {":2", `there is no "biz_id" in this record`},
		"dup-different.csv":   {"", ""}, // the engine's: see below
		"../inputs":           {"", "is a folder"},
		"missing-no-such.txt": {"", "can't be read"},
	} {
		path := inputFile(name)
		s, err := OpenSource(SourceOptions{Path: path})
		if err == nil {
			_, err = runner.ReadThrough(s, runner.Shard{}, true)
			s.Close()
		}
		var pe *runner.PlaceError
		if name == "dup-different.csv" {
			if err == nil || !strings.Contains(err.Error(), "2") || !strings.Contains(err.Error(), "4") {
				t.Errorf("%s: got %v, want both lines named", name, err)
			}
			continue
		}
		if !errors.As(err, &pe) || !strings.HasPrefix(err.Error(), path+c.place+": ") || !strings.Contains(pe.Msg, c.msg) {
			t.Errorf("%s: got %v, want %s: …%s…", name, err, c.place, c.msg)
		}
	}
}

// Case 13: two rows, one id. Case 14: nothing is an error unless it is right.
func TestEmptyInputsAndRepeatsAreToldByTheEngine(t *testing.T) {
	for _, name := range []string{"header-only.csv", "blank.txt", "empty.csv"} {
		s := openSource(t, SourceOptions{Path: inputFile(name)})
		if _, err := runner.ReadThrough(s, runner.Shard{}, false); err == nil {
			t.Errorf("%s was taken", name)
		}
		if _, err := runner.ReadThrough(s, runner.Shard{}, true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := openSource(t, SourceOptions{Path: "-", Stdin: strings.NewReader("")}) // false | runner run t --from -
	if _, err := runner.ReadThrough(s, runner.Shard{}, false); err == nil {
		t.Error("nothing was taken")
	}
	if _, err := runner.ReadThrough(openSource(t, SourceOptions{Path: inputFile("dup-same.csv")}), runner.Shard{}, false); err != nil {
		t.Error(err)
	}
}

func TestLongLinesAreRefusedInEachFormat(t *testing.T) {
	for format, text := range map[string]string{FormatLines: "", FormatCSV: "biz_id\n\"", FormatJSONL: `{"biz_id":"`} {
		in := io.MultiReader(strings.NewReader(text), strings.NewReader(strings.Repeat("x", maxLine+4*bufferSize)))
		_, err := all(openSource(t, SourceOptions{Path: "-", Format: format, Stdin: in}))
		var pe *runner.PlaceError
		if !errors.As(err, &pe) || pe.Hint == "" || !strings.Contains(pe.Msg, "longer than 16 MiB") {
			t.Errorf("%s: got %v", format, err)
		}
	}
}

func TestSetFieldsMustBeNew(t *testing.T) {
	for format, text := range map[string]string{FormatCSV: "biz_id,v\na,1\n", FormatJSONL: "{\"biz_id\":\"a\"}\n{\"biz_id\":\"a\",\"v\":1}\n"} {
		_, err := all(openSource(t, SourceOptions{Path: "-", Format: format, Stdin: strings.NewReader(text), Fields: []Field{{"v", "2"}}}))
		if err == nil || !strings.Contains(err.Error(), `field "v" is set for every record`) {
			t.Errorf("%s: got %v", format, err)
		}
	}
	dir := t.TempDir()
	write(t, dir, "a.xml", "")
	c, err := Load(write(t, dir, "runner.yaml", "tasks: {g: {go: noop, records: {glob: '*.xml'}}, one: {go: noop}}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tasks[0].Source("2026-11-29", nil, Field{"path", "x"}); err == nil || !strings.Contains(err.Error(), `field "path" is given twice`) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Tasks[1].Source("2026-11-29", nil, Field{"", "x"}); err == nil {
		t.Error("a field without a name was taken")
	}
	for i, want := range []string{`{"path":"` + filepath.Join(dir, "a.xml") + `","name":"a.xml","k":"v"}`, `{"k":"v"}`} {
		s, err := c.Tasks[i].Source("2026-11-29", nil, Field{"k", "v"})
		if err != nil {
			t.Fatal(err)
		}
		if items, err := all(s); err != nil || len(items) != 1 || string(items[0].Payload) != want {
			t.Errorf("got %s, %v", items[0].Payload, err)
		}
		s.Close()
	}
}

func TestFileNamesTellTheFormat(t *testing.T) {
	for name, want := range map[string]string{
		"a.csv": FormatCSV, "a.CSV": FormatCSV, "a.jsonl": FormatJSONL, "a.ndjson": FormatJSONL, "a.txt": FormatLines, "a": FormatLines, "-": FormatLines,
	} {
		if got := formatOf(name); got != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestSpooledFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := openSource(t, SourceOptions{Path: "-", Stdin: strings.NewReader("a\n")})
	if _, err := all(s); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
