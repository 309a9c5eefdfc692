package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each line of docs/guarantees.md names what shows it.
func TestWhatTheGuaranteesNameExists(t *testing.T) {
	text, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`([a-z_/*]+(?:\\.txtar|_test\\.go))`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 20 {
		t.Fatalf("only %d names found", len(names))
	}
	for _, n := range names {
		path := n[1]
		if !strings.Contains(path, "/") {
			path = filepath.Join("testdata", "script", path)
		}
		if found, err := filepath.Glob(path); err != nil || len(found) == 0 {
			t.Errorf("%s isn't there", path)
		}
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| #") && !strings.HasPrefix(line, "| ---") && !strings.Contains(line, "shown by") && !strings.Contains(line, "`") {
			t.Errorf("nothing shows this: %s", line)
		}
	}
}
