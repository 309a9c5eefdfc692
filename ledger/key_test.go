package ledger

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestIdempotencyKeysNeverChangeTheirForm(t *testing.T) {
	b, err := os.ReadFile("testdata/idempotency_keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		want, of, _ := strings.Cut(strings.TrimSpace(line), "\t")
		var namespace string
		var k Key
		var generation int
		if err := json.Unmarshal([]byte(of), &[]any{&namespace, &k.TaskName, &k.BizID, &k.ExecuteDate, &generation}); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := IdempotencyKey(namespace, k, generation); got != want {
			t.Errorf("%s: %s, want %s", of, got, want)
		}
		if other, ok := seen[want]; ok {
			t.Errorf("%s and %s share the key %s", of, other, want)
		}
		seen[want] = of
	}
	if len(seen) < 20 {
		t.Errorf("only %d golden keys are left", len(seen))
	}
}

func TestABizIDIsOpaqueText(t *testing.T) {
	for id, ok := range map[string]bool{
		"a": true, "-": true, "0010": true, "12345678901234567890": true, "1e3": true, " a ": true, "a\tb": true, "null": true,
		"用户:1": true, "👩‍👩‍👧": true, "e\u0301": true, "a\u2028b": true, "a'; drop table record--": true, "$(rm -rf /)": true,
		strings.Repeat("x", MaxBizID): true, strings.Repeat("券", MaxBizID/3): true,
		"": false, strings.Repeat("x", MaxBizID+1): false, strings.Repeat("券", MaxBizID/3+1): false,
		"a\r": false, "\r": false, "a\nb": false, "a\x00b": false, "\xff": false, "a\xed\xa0\x80": false,
	} {
		if err := CheckBizID(id); (err == nil) != ok {
			t.Errorf("%.40q: %v", id, err)
		}
	}
}

func TestATaskNameIsSafeInPathsAndListings(t *testing.T) {
	for name, ok := range map[string]bool{
		"t": true, "grant-coupon": true, "a.b_c": true, "发券": true, "école": true, "e\u0301cole": true, "1": true, "_": true, "हिन्दी": true,
		strings.Repeat("x", MaxTaskName): true, strings.Repeat("x", MaxTaskName+1): false,
		"": false, "-x": false, ".": false, "..": false, "a/b": false, `a\b`: false, "a b": false, "a\n": false, "a\x00": false,
		"a\u200bb": false, "a:b": false, "a*": false, "\xff": false, "👍": false,
	} {
		if err := CheckTaskName(name); (err == nil) != ok {
			t.Errorf("%.40q: %v", name, err)
		}
	}
}

func TestAnExecuteDateIsACalendarDate(t *testing.T) {
	for date, ok := range map[string]bool{
		"2026-11-28": true, "2024-02-29": true, "1970-01-01": true, "9999-12-31": true,
		"": false, "2026-02-29": false, "2026-13-01": false, "2026-00-10": false, "2026-11-31": false, "2026-1-2": false, "20261128": false,
		"26-11-28": false, " 2026-11-28": false, "2026-11-28\n": false, "2026-11-28T00:00:00Z": false, "today": false, "２０２６-11-28": false,
	} {
		if err := CheckDate(date); (err == nil) != ok {
			t.Errorf("%q: %v", date, err)
		}
	}
}

func TestNoTwoClaimsShareAnAttemptID(t *testing.T) {
	seen := map[string]bool{}
	for _, run := range []string{"r", "r1"} {
		for record := range int64(12) {
			for fence := range int64(12) {
				seen[AttemptID(run, record, fence)] = true
			}
		}
	}
	if len(seen) != 2*12*12 {
		t.Errorf("%d ids for %d claims", len(seen), 2*12*12)
	}
}
