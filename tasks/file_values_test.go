package tasks

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"runner/runner"
)

func TestRatesAndTolerances(t *testing.T) {
	for text, want := range map[string]float64{"50/s": 50, "100/m": 100.0 / 60, "1000/h": 1000.0 / 3600, "0.5/s": 0.5} {
		if got, err := ParseRate(text); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "5/", "/s", "5/d", "5/s/s", "-5/s", "1e3/s", "0/s", "0.0/h", ".5/s", "5./s", "5 /s", "NaN/s", "Inf/s"} {
		if v, err := ParseRate(text); err == nil {
			t.Errorf("%q was taken as %v", text, v)
		}
	}
	for text, want := range map[string]runner.Tolerance{
		"0": {Limited: true}, "10": {Limited: true, Count: 10}, "5%": {Limited: true, Percent: 5},
		"0.5%": {Limited: true, Percent: 0.5}, "100%": {Limited: true, Percent: 100}, "0%": {Limited: true},
	} {
		if got, err := ParseTolerance(text); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "%", "-1", "+1", "1.5", "5 %", "101%", "5%%", "1e1", "99999999999999999999", "0x1"} {
		if v, err := ParseTolerance(text); err == nil {
			t.Errorf("%q was taken as %v", text, v)
		}
	}
}

func TestRatesAndTolerancesAreWrittenAsTheyAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := strconv.Itoa(rapid.IntRange(1, 1e6).Draw(t, "n"))
		r := n + rapid.SampledFrom([]string{"", ".5", ".125"}).Draw(t, "part") + "/" + rapid.SampledFrom([]string{"s", "m", "h"}).Draw(t, "unit")
		want, err := ParseRate(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseRate(rateText(want)); err != nil || math.Abs(got-want) > 1e-9*want {
			t.Fatalf("%s became %s", r, rateText(want))
		}
		for _, text := range []string{n, strconv.Itoa(rapid.IntRange(1, 100).Draw(t, "percent")) + "%"} {
			if v, err := ParseTolerance(text); err != nil || toleranceText(v) != text {
				t.Fatalf("%s became %s, %v", text, toleranceText(v), err)
			}
		}
	})
	if toleranceText(runner.Tolerance{}) != "" {
		t.Error("no limit has a text")
	}
}

func TestFlowArrivesAndIsNoPartOfTheDefinition(t *testing.T) {
	const flowKeys = ", rate: 100/m, max_failures: 5%, overlap: skip, max_wait: 0s, jobs: 3"
	var digests []string
	for _, more := range []string{"", flowKeys} {
		task, err := mustLoad(t, "timezone: UTC\ntasks: {a: {go: noop"+more+"}}").Tasks[0].Build(0)
		if err != nil {
			t.Fatal(err)
		}
		_, digest := task.Definition.Encode()
		digests = append(digests, digest)
		if more != "" && (task.Rate != 100.0/60 || task.MaxFailures.Percent != 5 || task.Overlap != runner.Skip || task.MaxWait != 1) {
			t.Errorf("got %+v", task)
		}
	}
	if digests[0] != digests[1] {
		t.Error("the definition differs")
	}
	p := mustLoad(t, "tasks: {a: {go: noop, retry: {max_later: 2h}, max_wait: 3m}}").Tasks[0].plan
	if p.policy.MaxLater != 2*time.Hour || p.flow.maxWait != 3*time.Minute {
		t.Errorf("got %+v", p)
	}
}

func TestZonesHaveNames(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	if got := ZoneName(shanghai); got != "Asia/Shanghai" {
		t.Errorf("got %q", got)
	}
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	local := time.FixedZone("Local", 8*3600)
	for tz, want := range map[string]string{
		"Asia/Shanghai": "Asia/Shanghai", ":Asia/Shanghai": "Asia/Shanghai",
		"/usr/share/zoneinfo/Asia/Shanghai": "Asia/Shanghai", "Mars/X": "+08:00", "America/New_York": "+08:00",
	} {
		got := zoneName(local, now, func(string) string { return tz })
		if got != want && (want != "+08:00" || !strings.Contains(got, "/")) { // may be by /etc/localtime
			t.Errorf("%s: got %q, want %q", tz, got, want)
		}
	}
	if name := ZoneName(time.Local); name == "" || name == "Local" {
		t.Errorf("got %q", name)
	}
}
