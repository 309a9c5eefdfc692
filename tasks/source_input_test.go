package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"runner/ledger"
	"runner/runner"
)

// Case 15: a pipe broke in the middle.
func TestReadErrorIsNoEndOfFile(t *testing.T) {
	broken := errors.New("connection reset")
	for _, format := range []string{FormatLines, FormatCSV} {
		in := io.MultiReader(strings.NewReader("biz_id\na\nb\n"), iotest.ErrReader(broken))
		s := openSource(t, SourceOptions{Path: "-", Format: format, Stdin: in})
		for range 2 {
			items, err := all(s)
			if len(items) > 0 {
				t.Errorf("%s: records of a broken input: %v", format, items)
			}
			wantPlace(t, err, 4, "connection reset")
		}
	}
}

func TestUTF16IsNamed(t *testing.T) {
	for _, text := range []string{"\xff\xfea\x00\n\x00", "\xfe\xff\x00a\x00\n", "a\x00\n\x00b\x00\n\x00"} {
		for _, format := range []string{FormatLines, FormatCSV} {
			_, err := read(t, format, text)
			if hint := wantPlace(t, err, 1, "UTF-16"); !strings.Contains(hint, "iconv") {
				t.Errorf("hint %q", hint)
			}
		}
	}
	if _, err := all(openSource(t, SourceOptions{Path: inputFile("utf16.csv")})); err == nil {
		t.Error("utf16.csv was taken")
	}
}

func TestFileThatChangesBetweenPassesIsAnError(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"longer":  func(path string) error { return os.WriteFile(path, []byte("a\nb\nc\n"), 0o644) },
		"shorter": func(path string) error { return os.Truncate(path, 2) },
		"same size and time": func(path string) error {
			st, err := os.Stat(path)
			if err == nil {
				err = os.WriteFile(path, []byte("a\nX\n"), 0o644)
			}
			if err == nil {
				err = os.Chtimes(path, time.Time{}, st.ModTime())
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), "list", "a\nb\n")
			s := openSource(t, SourceOptions{Path: path})
			if _, err := all(s); err != nil {
				t.Fatal(err)
			}
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			_, err := all(s)
			wantPlace(t, err, 0, "changed while it was read")
		})
	}
}

func TestReplacedFileIsReadAsItWas(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "list", "a\n")
	s := openSource(t, SourceOptions{Path: path})
	if err := os.Rename(write(t, dir, "new", "b\n"), path); err != nil {
		t.Skip("an open file can't be replaced here")
	}
	items, err := all(s)
	if d := cmp.Diff([]string{"1:a"}, show(items)); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestRedirectedStdinStartsWhereItStands(t *testing.T) {
	f, err := os.Open(write(t, t.TempDir(), "list", "taken\nb\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(6, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	wantRecords(t, SourceOptions{Path: "-", Stdin: f}, "1:b")
}

func TestPipeIsSpooled(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = w.WriteString("a\nb\n")
		w.Close()
	}()
	defer r.Close()
	wantRecords(t, SourceOptions{Path: "-", Stdin: r}, "1:a", "2:b")
}

// Case 16: an 89 MB list took 1.5 GB.
func TestMemoryOfAReadIsFlat(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "list"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := []byte("order-0000000000000\n")
	if _, err := f.Write(bytes.Repeat(line, 500_000)); err != nil {
		t.Fatal(err)
	}
	s := openSource(t, SourceOptions{Path: f.Name()})
	var most uint64
	n := 0
	for _, err := range s.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%100_000 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	if n != 500_000 || most > 16<<20 {
		t.Errorf("%d records, %d bytes in use", n, most)
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb\r\n\xef\xbb\xbf\n")
	f.Fuzz(func(t *testing.T, text string) { readTwice(t, FormatLines, text) })
}

func FuzzCSV(f *testing.F) {
	f.Add("biz_id,v\n\"a\",\"b\n\"\"c\"\n")
	f.Fuzz(func(t *testing.T, text string) { readTwice(t, FormatCSV, text) })
}

// readTwice demands that both passes agree, and that what comes out is valid.
func readTwice(t *testing.T, format, text string) {
	s := openSource(t, SourceOptions{Path: "-", Format: format, Stdin: strings.NewReader(text)})
	first, err := all(s)
	again, err2 := all(s)
	if fmt.Sprint(err) != fmt.Sprint(err2) || cmp.Diff(show(first), show(again)) != "" {
		t.Fatalf("first %v, %v; then %v, %v", first, err, again, err2)
	}
	var place *runner.PlaceError
	if err != nil && !errors.As(err, &place) {
		t.Fatalf("no place: %v", err)
	}
	var line int64
	for _, item := range first {
		if ledger.CheckBizID(item.BizID) != nil || item.Line <= line {
			t.Fatalf("got %+v after line %d", item, line)
		}
		line = item.Line
		if item.Payload != nil && !json.Valid(item.Payload) {
			t.Fatalf("payload %q", item.Payload)
		}
	}
}
