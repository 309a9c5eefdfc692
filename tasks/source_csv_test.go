package tasks

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Case 12: quoted commas and newlines, ragged rows, open quotes.
func TestCSVIsRFC4180(t *testing.T) {
	wantRecords(t, SourceOptions{Path: inputFile("quoted.csv")},
		`2:u1 {"biz_id":"u1","name":"Lee, Ann","note":"two\nlines"}`, `4:u2 {"biz_id":"u2","name":"say \"hi\"","note":""}`)
	for _, c := range []struct {
		text string
		line int64
		msg  string
	}{
		{"biz_id,v\na,\"1\nb,2\n", 2, "never closed"},
		{"biz_id,v\na,1\nb,2,3\n", 3, "the row has 3 fields, the header 2"},
		{"biz_id,v\na,\"x\ny\"\nb\n", 4, "the row has 1 fields, the header 2"},
		{"biz_id,v\na,\"x\ny\"z\nb,1\n", 2, "never closed, or text follows"},
		{"biz_id,v\n\na,x\"y\n", 3, "a quote inside a field without quotes"},
		{"biz_id,v,v\na,1,2\n", 1, `column "v" is there twice`},
		{"biz_id,\na,1\n", 1, "column 2 of the header has no name"},
		{"id,v\na,1\n", 1, `no column "biz_id", only "id", "v"`},
		{"biz_id,a-b,A_B,a姓b\na,1,1,1\n", 1, `fields "A_B" and "a-b" would both be RUNNER_FIELD_A_B`},
		{"biz_id,v\na,\xff\n", 2, "field 2 is not valid UTF-8"},
		{"biz_id,v\n,1\n", 2, "biz_id is empty"},
		{"biz_id,v\n\"a\nb\",1\n", 2, `holds '\n'`},
		{"biz_id,v\n" + strings.Repeat("a", 513) + ",1\n", 2, "biz_id has 513 bytes"},
		{"biz_id,v\n" + strings.Repeat("x,1\n", 200) + "b,\x00\n", 202, "field 2 holds a NUL byte"},
	} {
		_, err := read(t, FormatCSV, c.text)
		wantPlace(t, err, c.line, c.msg)
	}
	for _, name := range []string{"open-quote.csv", "ragged.csv", "dup-header.csv"} {
		if _, err := all(openSource(t, SourceOptions{Path: inputFile(name)})); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestSemicolonsAreHintedAt(t *testing.T) {
	_, err := read(t, FormatCSV, "biz_id;name\na;b\n")
	if hint := wantPlace(t, err, 1, "no column"); !strings.Contains(hint, "semicolons") {
		t.Errorf("hint %q", hint)
	}
}

func TestCompositeIdsAreEscaped(t *testing.T) {
	text := "a,b\nx:1,y\nx,1:y\n\\,z\n,q\n"
	got, err := read(t, FormatCSV, text, "a", "b")
	want := []string{`2:x\:1:y {"a":"x:1","b":"y"}`, `3:x:1\:y {"a":"x","b":"1:y"}`, `4:\\:z {"a":"\\","b":"z"}`, `5::q {"a":"","b":"q"}`}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	one, err := read(t, FormatCSV, "a\nx:1\n", "a")
	if d := cmp.Diff([]string{"2:x:1"}, one); d != "" || err != nil {
		t.Error(d, err)
	}
	_, err = read(t, FormatCSV, "a,b\n\"\",\n", "a", "b")
	wantPlace(t, err, 2, "biz_id is empty")
}

func TestKeysOfDifferentPartsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOfN(rapid.RuneFrom([]rune(`a\:`)), 0, 5, -1)
		a := rapid.SliceOfN(part, 2, 2).Draw(t, "a")
		b := rapid.SliceOfN(part, 2, 2).Draw(t, "b")
		if (joinKey(a) == joinKey(b)) != (a[0] == b[0] && a[1] == b[1]) {
			t.Fatalf("%q and %q: %q, %q", a, b, joinKey(a), joinKey(b))
		}
	})
}

func TestPayloadIsTheRowAndAlwaysTheSameBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cell := rapid.StringOf(rapid.RuneFrom([]rune("ab,\"\n\t\\<>&优\u2028\x01😀"))).Filter(func(s string) bool { return s != "\n" })
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 2, 2), 0, 5).Draw(rt, "rows")
		var text bytes.Buffer
		w := csv.NewWriter(&text)
		_ = w.Write([]string{"biz_id", "x<y", "z"})
		for i, row := range rows {
			_ = w.Write([]string{fmt.Sprint(i), row[0], row[1]})
		}
		w.Flush()
		s, err := OpenSource(SourceOptions{Path: "-", Format: FormatCSV, Stdin: &text})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		first, err := all(s)
		if err != nil || len(first) != len(rows) {
			rt.Fatalf("%d records, %v", len(first), err)
		}
		for i, item := range first {
			var got map[string]string
			if err := json.Unmarshal(item.Payload, &got); err != nil {
				rt.Fatal(err)
			}
			want := map[string]string{"biz_id": fmt.Sprint(i), "x<y": rows[i][0], "z": rows[i][1]}
			if d := cmp.Diff(want, got); d != "" {
				rt.Fatal(d)
			}
		}
		if again, err := all(s); err != nil || cmp.Diff(first, again) != "" {
			rt.Fatalf("the second pass differs: %v", err)
		}
	})
}
