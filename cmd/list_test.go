package cmd

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/fatih/color"
	"github.com/google/go-cmp/cmp"

	"runner/ledger"
)

// world is an environment for tests, with what was printed.
type world struct {
	env
	out, err bytes.Buffer
	vars     map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{vars: map[string]string{}}
	w.env = env{
		stdin: strings.NewReader(""), stdout: &w.out, stderr: &w.err,
		width:  func() int { return 40 },
		now:    func() time.Time { return time.Date(2026, 11, 28, 20, 30, 0, 0, time.UTC) },
		getenv: func(k string) string { return w.vars[k] },
		local:  time.UTC,
	}
	return w
}

// printer gives a printer for the flags as a command line says them.
func (w *world) printer(f form, noColor bool) *printer {
	a := newApp(w.env)
	a.flags.output.value, a.flags.noColor = string(f), noColor
	a.p.configure(w.env, a.flags)
	return a.p
}

type fruit struct {
	Name  string          `json:"name"`
	Count *int            `json:"count"`
	Extra json.RawMessage `json:"extra"`
}

var fruitColumns = []column[fruit]{
	{name: "NAME", cell: func(f fruit) string { return f.Name }, wide: true},
	{name: "EXTRA", cell: func(f fruit) string { return string(f.Extra) }},
	{name: "END", cell: func(fruit) string { return "|" }},
}

func printed(t *testing.T, f form, rows ...fruit) string {
	t.Helper()
	w := newWorld(t)
	if err := list(w.printer(f, false), fruitColumns, all(rows)); err != nil {
		t.Fatal(err)
	}
	return w.out.String()
}

func TestTableIsAlignedByDisplayWidth(t *testing.T) {
	for _, lang := range []string{"C", "zh_CN.UTF-8", "ja_JP.UTF-8"} {
		t.Setenv("LANG", lang)
		t.Setenv("LC_ALL", lang)
		got := printed(t, formTable,
			fruit{Name: "apple"}, fruit{Name: "注文データ"}, fruit{Name: "👨‍👩‍👧 family"},
			fruit{Name: "e\u0301te\u0301"}, fruit{Name: "a…b"}, fruit{Name: "—“”±"}, fruit{Name: "🇨🇳 flag"})
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		want := columnsOf(strings.TrimSuffix(lines[1], "|"))
		for _, l := range lines[1:] {
			if n := columnsOf(strings.TrimSuffix(l, "|")); n != want {
				t.Errorf("LANG=%s: %q ends in column %d, want %d", lang, l, n, want)
			}
		}
	}
}

func TestTextForPeopleHasItsControlCharactersEscaped(t *testing.T) {
	evil := "a\x1b[31mb\nc\td\re\x00\u202ef\u2028g\xffh\u0085"
	const want = `a\x1b[31mb\nc\td\re\x00\u202ef\u2028g\xffh\u0085`
	if got := visible(evil); got != want {
		t.Errorf("visible gives %s, want %s", got, want)
	}
	for _, f := range []form{formTable, formMarkdown} {
		if got := printed(t, f, fruit{Name: evil}); strings.ContainsAny(got, "\x1b\r\t\x00\u202e\u2028\u0085") {
			t.Errorf("%s: %q", f, got)
		}
	}
	w := newWorld(t)
	w.printer(formTable, false).fail(errors.New(evil))
	if got := w.err.String(); got != "runner: "+want+"\n" {
		t.Errorf("an error is printed as %q", got)
	}
}

func TestTableIsCutOnATerminalOnly(t *testing.T) {
	long := fruit{Name: strings.Repeat("注文👨‍👩‍👧", 30), Extra: json.RawMessage(`"short"`)}
	w := newWorld(t)
	if err := list(w.printer(formTable, false), fruitColumns, all([]fruit{long})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(w.out.String(), long.Name) {
		t.Errorf("cut where there is no terminal: %s", w.out.String())
	}
	for width := range 60 {
		w := newWorld(t)
		w.stdoutTTY, w.width = true, func() int { return width }
		if err := list(w.printer(formTable, false), fruitColumns, all([]fruit{long, {Name: "a"}})); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(w.out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := columnsOf(line); width > 0 && n > width {
				t.Errorf("%d columns on a terminal of %d: %q", n, width, line)
			}
			if shown, _, cut := strings.Cut(line, "…"); cut && strings.Contains(shown, "👨") {
				if rest := strings.TrimPrefix(long.Name, shown); !strings.HasPrefix(rest, "注") && !strings.HasPrefix(rest, "文") && !strings.HasPrefix(rest, "👨") {
					t.Errorf("cut within a grapheme: %q", line)
				}
			}
		}
	}
}

func TestColourIsDecidedForEachStream(t *testing.T) {
	columns := []column[fruit]{{name: "NAME", cell: func(f fruit) string { return f.Name },
		tint: func(_ fruit, p palette) *color.Color { return p.status(ledger.Failed) }}}
	for _, c := range []struct {
		name    string
		tty     bool
		noColor bool
		vars    map[string]string
		want    bool
	}{
		{name: "terminal", tty: true, want: true},
		{name: "no terminal"},
		{name: "--no-color", tty: true, noColor: true},
		{name: "NO_COLOR", tty: true, vars: map[string]string{"NO_COLOR": "1"}},
		{name: "empty NO_COLOR", tty: true, vars: map[string]string{"NO_COLOR": ""}, want: true},
		{name: "TERM=dumb", tty: true, vars: map[string]string{"TERM": "dumb"}},
	} {
		w := newWorld(t)
		w.stdoutTTY, w.vars = c.tty, c.vars
		p := w.printer(formTable, c.noColor)
		if err := list(p, columns, all([]fruit{{Name: "apple"}})); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(w.out.String(), "\x1b["); got != c.want {
			t.Errorf("%s: coloured %v: %q", c.name, got, w.out.String())
		}
		p.fail(withHint(errors.New("no"), "yes"))
		if strings.Contains(w.err.String(), "\x1b[") {
			t.Errorf("%s: stderr is no terminal and is coloured", c.name)
		}
	}
}

func TestJSONAndCSVAreExact(t *testing.T) {
	n := 7
	rows := []fruit{
		{Name: "=HYPERLINK(\"<x>\")&\"\r\n", Count: &n, Extra: json.RawMessage(`{"id":12345678901234567890,"<":1.0e0}`)},
		{Name: "\x1b[31m, a\nb"},
	}
	var fromJSON []fruit
	if err := json.Unmarshal([]byte(printed(t, formJSON, rows...)), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if fromJSON[0].Name != rows[0].Name || string(fromJSON[0].Extra) != string(rows[0].Extra) || fromJSON[1].Name != rows[1].Name {
		t.Errorf("JSON: %+v", fromJSON)
	}
	if text := printed(t, formJSON, rows...); strings.Contains(text, `\u003c`) {
		t.Errorf("JSON is escaped for HTML: %s", text)
	}
	if got := strings.Count(printed(t, formJSONL, rows...), "\n"); got != 2 {
		t.Errorf("%d lines of JSON for 2 rows", got)
	}
	got, err := csv.NewReader(strings.NewReader(strings.ReplaceAll(printed(t, formCSV, rows...), "\r\n", "\x01"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"name", "count", "extra"},
		{strings.ReplaceAll(rows[0].Name, "\r\n", "\x01"), "7", string(rows[0].Extra)},
		{rows[1].Name, "", ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("CSV (-want +got):\n%s", d)
	}
}

func TestNoRowsAreStillValid(t *testing.T) {
	for f, want := range map[form]string{
		formJSON: "[]\n", formJSONL: "", formTable: "", formCSV: "name,count,extra\n",
		formMarkdown: "| NAME | EXTRA | END |\n| --- | --- | --- |\n",
	} {
		if got := printed(t, f); got != want {
			t.Errorf("%s: %q, want %q", f, got, want)
		}
	}
}

func TestMarkdownHoldsAnyCell(t *testing.T) {
	got := printed(t, formMarkdown, fruit{Name: "a|b\nc<d>*e*_f_`g`\\[h]"})
	const want = "| a\\|b\\\\nc&lt;d&gt;\\*e\\*\\_f\\_\\`g\\`\\\\\\[h\\] |  | \\| |"
	if line := strings.Split(got, "\n")[2]; line != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
}

// failing yields n rows and then an error.
func failing(n int, err error) iter.Seq2[fruit, error] {
	return func(yield func(fruit, error) bool) {
		for i := range n {
			if !yield(fruit{Name: fmt.Sprintf("row %d", i)}, nil) {
				return
			}
		}
		yield(fruit{}, err)
	}
}

func TestWhatWasPrintedBeforeAnErrorIsValid(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{0, 1, 2500} {
		for _, f := range forms {
			w := newWorld(t)
			if err := list(w.printer(form(f), false), fruitColumns, failing(n, broken)); !errors.Is(err, broken) {
				t.Errorf("%s: error %v", f, err)
			}
			if f == string(formJSON) && !json.Valid(w.out.Bytes()) {
				t.Errorf("invalid JSON after %d rows", n)
			}
			if got := strings.Count(w.out.String(), "row "); got != n {
				t.Errorf("%s: %d of %d rows were printed", f, got, n)
			}
		}
	}
}

func TestALongTableIsPrintedInBlocks(t *testing.T) {
	w := newWorld(t)
	r, pw := io.Pipe()
	w.stdout = pw
	p := w.printer(formTable, false)
	read := make(chan int)
	go func() {
		b, _ := io.ReadAll(r)
		read <- bytes.Count(b, []byte("\n"))
	}()
	handed := 0
	err := list(p, fruitColumns, func(yield func(fruit, error) bool) {
		for handed = range 10_001 {
			if !yield(fruit{Name: strings.Repeat("x", handed%97)}, nil) {
				return
			}
		}
	})
	_ = pw.Close()
	if got := <-read; err != nil || got != 10_002 {
		t.Errorf("%d lines for 10001 rows and a heading, error %v", got, err)
	}
}
