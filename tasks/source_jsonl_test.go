package tasks

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"runner/runner"
)

// Case 11: 12345678901234567890 became a float.
func TestNumbersOfJSONKeepTheirText(t *testing.T) {
	wantRecords(t, SourceOptions{Path: inputFile("numbers.jsonl"), BizID: []string{"id"}},
		`1:12345678901234567890 {"id":12345678901234567890,"amount":0.10}`, `2:0010 {"id":"0010","amount":1e2}`, `3:7 {"id":7,"amount":-0}`)
	fields, err := runner.Fields([]byte(`{"id":12345678901234567890,"amount":0.10,"z":1e2}`))
	if d := cmp.Diff(map[string]string{"id": "12345678901234567890", "amount": "0.10", "z": "1e2"}, fields); d != "" || err != nil {
		t.Error(d, err)
	}
}

// Cases 9 and 10, of jsonl: byte order mark and CRLF are taken off.
func TestJSONLinesAreObjects(t *testing.T) {
	wantRecords(t, SourceOptions{Path: inputFile("bom-crlf.jsonl")}, `1:a {"biz_id":"a"}`, `3:b {"biz_id":"b"}`)
	text := "\t{ \"b\" : [ 1 , { \"x\" : null } ] , \"biz_id\" : true } \n{\"biz_id\":\"\\u4f18\\\"\\ud83d\\ude00\",\"v\":\"\\u0041/\\/\"}\n{\"biz_id\":-1.50e+3}"
	got, err := read(t, FormatJSONL, text)
	want := []string{`1:true {"b":[1,{"x":null}],"biz_id":true}`, "2:优\"😀 {\"biz_id\":\"\\u4f18\\\"\\ud83d\\ude00\",\"v\":\"\\u0041/\\/\"}", `3:-1.50e+3 {"biz_id":-1.50e+3}`}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	got, err = read(t, FormatJSONL, `{"a":"x:1","n":{"a":1},"b":10}`+"\n", "a", "b")
	if d := cmp.Diff([]string{`1:x\:1:10 {"a":"x:1","n":{"a":1},"b":10}`}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	wantRecords(t, SourceOptions{Path: "-", Format: FormatJSONL, Stdin: strings.NewReader(`{"biz_id":"a"}`), Fields: []Field{{"k", "v\"w"}, {"l", ""}}},
		`1:a {"biz_id":"a","k":"v\"w","l":""}`)
}

func TestWhatIsNoRecordIsRefusedWithItsPlace(t *testing.T) {
	for _, c := range []struct {
		line   string
		column int
		msg    string
	}{
		{`{"biz_id":"b","v":1,"v":2}`, 21, `member "v" is there twice`},
		{`{"biz_id":"b","v":1,"\u0076":2}`, 21, `member "v" is there twice`},
		{`{"biz_id":"b","v":[{"x":1,"x":1}]}`, 27, `member "x" is there twice`},
		{`["b"]`, 1, "the line is a list"},
		{`"b"`, 1, "the line is no JSON object"},
		{`b`, 1, "the line is no JSON object"},
		{`{`, 2, "the line ends within an object"},
		{`{"biz_id":"b"`, 14, "the line ends within an object"},
		{`{"biz_id":"b`, 13, "the line ends within a string"},
		{`{"biz_id":"b"} {}`, 16, "something follows the object"},
		{`{"biz_id":"b",}`, 15, `a name in quotes is needed here, not '}'`},
		{`{"biz_id" "b"}`, 11, `':' is needed here, not '"'`},
		{`{"biz_id":"b" "c":1}`, 15, `',' or '}' is needed here`},
		{`{"优":[1,],"biz_id":"b"}`, 9, `a value is needed here, not ']'`},
		{`{"biz_id":0010}`, 11, "this is no number"},
		{`{"biz_id":1.}`, 11, "this is no number"},
		{`{"biz_id":-}`, 11, "this is no number"},
		{`{"biz_id":1e}`, 11, "this is no number"},
		{`{"biz_id":NaN}`, 11, "a value is needed here, not 'N'"},
		{`{'biz_id':1}`, 2, `a name in quotes is needed here`},
		{"{\"biz_id\":\"a\tb\"}", 13, "the control character U+0009 stands in a string"},
		{`{"biz_id":"\x"}`, 12, "there is no such escape"},
		{`{"biz_id":"\u12"}`, 12, "there is no such escape"},
		{`{"biz_id":"b","v":"\ud800"}`, 20, "half a character"},
		{`{"biz_id":"b","v":"\udc00\ud800"}`, 20, "half a character"},
		{`{"biz_id":"b","v":"\u0000"}`, 20, "a string holds a NUL byte"},
		{"{\"biz_id\":\"\xff\"}", 11, "a string is not valid UTF-8"},
		{`{"biz_id":"b","v":` + strings.Repeat("[", maxDepth) + `1`, maxDepth + 18, "nested too deeply"},
		{`{"id":"b"}`, 0, `there is no "biz_id" in this record, only "id"`},
		{`{"v":{"biz_id":"b"}}`, 0, `there is no "biz_id" in this record, only "v"`},
		{`{}`, 0, `there is no "biz_id" in this record`},
		{`{"biz_id":null}`, 0, `"biz_id" is null, which can't identify a record`},
		{`{"biz_id":{"a":1}}`, 0, `"biz_id" is an object`},
		{`{"biz_id":["a"]}`, 0, `"biz_id" is a list`},
		{`{"biz_id":""}`, 0, "biz_id is empty"},
		{`{"biz_id":"a\nb"}`, 0, `holds '\n'`},
		{`{"biz_id":"` + strings.Repeat("a", 513) + `"}`, 0, "513 bytes"},
		{`{"biz_id":"b","":1}`, 0, "a member has no name"},
		{`{"biz_id":"b","a-b":1,"A_B":2}`, 0, "would both be RUNNER_FIELD_A_B"},
		{`{"biz_id":"` + strings.Repeat("a", maxLine) + `"}`, 0, "longer than 16 MiB"},
	} {
		_, err := read(t, FormatJSONL, "{\"biz_id\":\"a\"}\n\n"+c.line+"\n")
		wantPlace(t, err, 3, c.msg)
		var pe *runner.PlaceError
		if errors.As(err, &pe) && pe.Column != c.column {
			t.Errorf("%.60s: column %d, want %d", c.line, pe.Column, c.column)
		}
	}
}

func TestManyMembersAreTold(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"biz_id":1`)
	for i := range 200 {
		b.WriteString(`,"m` + strings.Repeat("x", i) + `":{"m":1}`)
	}
	if _, err := read(t, FormatJSONL, b.String()+"}"); err != nil {
		t.Error(err)
	}
	_, err := read(t, FormatJSONL, b.String()+`,"mxxx":1}`)
	wantPlace(t, err, 1, `member "mxxx" is there twice`)
}

// What is read is what package json reads, and what it refuses is refused.
func TestScannerAgreesWithPackageJSON(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `,`, `:`, ` `, `"a"`, `"b"`, `"\n优"`, `"\u00e9"`, `1`, `-0.5e3`, `01`, `true`, `null`, `{"a":1}`, `[1,2]`, `"c":`, `"biz_id":`, `"`, `\`,
	})
	rapid.Check(t, func(t *rapid.T) {
		text := "{" + strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "") + "}"
		scan := &jsonScanner{}
		err := scan.object([]byte(text))
		var want any
		jerr := json.Unmarshal([]byte(text), &want)
		if err != nil && jerr == nil && !strings.Contains(err.Error(), "twice") || err == nil && jerr != nil {
			t.Fatalf("%s: %v, package json: %v", text, err, jerr)
		}
		if err != nil {
			return
		}
		var got any
		if err := json.Unmarshal(scan.out, &got); err != nil || cmp.Diff(want, got) != "" {
			t.Fatalf("%s became %s", text, scan.out)
		}
	})
}

func FuzzJSONL(f *testing.F) {
	f.Add("{\"biz_id\":\"a\"}\n\n{\"biz_id\": 1, \"v\": [null, {\"\\u0041\": 1e5}]}\n")
	f.Fuzz(func(t *testing.T, text string) { readTwice(t, FormatJSONL, text) })
}
