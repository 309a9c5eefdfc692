package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTableReplacesThatInTheReadme(t *testing.T) {
	repo := t.TempDir()
	readme := filepath.Join(repo, "README.md")
	if err := os.WriteFile(readme, []byte("before\n"+readmeBegin+"old\n"+readmeEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(repo, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := &bench{part: "a", costs: []cost{{1000, series{20}, series{1}}, {10_000, series{10, 12, 11}, series{2}}}}
	b.measured("fast", atLeast(0.75, "×"), series{0.8}, ahead)
	b.measured("slow", atMost(15, " ms"), series{15.1}, nothing)
	b.fact("by the way", "3")
	for range 2 {
		if err := b.write(repo); err != nil {
			t.Fatal(err)
		}
	}
	got := read(t, readme)
	for _, want := range []string{"before\n", "after\n", "| a | fast | ≥ 0.75× | 0.80× | yes | claims ahead |\n", "| a | slow | ≤ 15 ms | 15.1 ms | **no** | read only |\n"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q isn't there once:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") || strings.Contains(got, "by the way") || !strings.Contains(read(t, filepath.Join(repo, "docs", "benchmark.md")), "by the way") {
		t.Errorf("unexpected:\n%s", got)
	}
	picture := xml.NewDecoder(strings.NewReader(read(t, filepath.Join(repo, "docs", "cost.svg"))))
	for {
		if _, err := picture.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOneBadRoundMissesWhatMustHoldEachTime(t *testing.T) {
	a, s := atMost(20, " %"), series{1, 100, 2}
	if a.met(s) != "yes" {
		t.Error("the median counts")
	}
	a.always = true
	if a.met(s) == "yes" || a.met(series{1, 2}) != "yes" {
		t.Error("each round counts")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAReadmeWithoutAPlaceForTheTableIsLeftAlone(t *testing.T) {
	if _, err := (&bench{}).quoted("nothing here"); err == nil {
		t.Error("no error")
	}
}
