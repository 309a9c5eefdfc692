package tasks

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"runner/runner"
)

// choice is text of which only some words are allowed: those of the enum tag
// of its field.
type choice string

// choicesOf gives the words of a field's tag.
func choicesOf(f reflect.StructField) (words []string) {
	for _, part := range strings.Split(f.Tag.Get("jsonschema"), ",") {
		if word, ok := strings.CutPrefix(part, "enum="); ok {
			words = append(words, word)
		}
	}
	return words
}

// Duration is a length of time that isn't negative, written as 30s or 1h30m.
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	switch {
	case err != nil:
		return fmt.Errorf("wants a duration such as 30s, 5m or 1h30m, not %q", b)
	case v < 0:
		return fmt.Errorf("is negative: %s", b)
	}
	*d = Duration(v)
	return nil
}

// rate is starts a second.
type rate float64

func (r *rate) UnmarshalText(b []byte) error {
	v, err := ParseRate(string(b))
	*r = rate(v)
	return err
}

var ratePeriods = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}

// ParseRate reads a rate such as 50/s, 100/m or 0.5/h and gives starts a
// second. Its error continues a sentence that begins with the key or flag.
func ParseRate(s string) (float64, error) {
	number, unit, _ := strings.Cut(s, "/")
	v, ok := plainNumber(number)
	period := ratePeriods[unit]
	switch {
	case !ok || period == 0:
		return 0, fmt.Errorf("wants a rate such as 50/s, 100/m or 1000/h, not %q", s)
	case v == 0:
		return 0, fmt.Errorf("must be more than 0, not %q", s)
	}
	return v / period.Seconds(), nil
}

// rateText is the inverse of ParseRate.
func rateText(perSecond float64) string {
	for _, unit := range []string{"s", "m", "h"} {
		n := strconv.FormatFloat(perSecond*ratePeriods[unit].Seconds(), 'f', 6, 64)
		n = strings.TrimRight(strings.TrimRight(n, "0"), ".")
		if v, err := ParseRate(n + "/" + unit); err == nil && abs(v-perSecond) < 1e-9*perSecond {
			return n + "/" + unit
		}
	}
	return strconv.FormatFloat(perSecond, 'g', -1, 64) + "/s"
}

func abs(x float64) float64 { return max(x, -x) }

// tolerance is how many attempts may end badly.
type tolerance runner.Tolerance

func (t *tolerance) UnmarshalText(b []byte) error {
	v, err := ParseTolerance(string(b))
	*t = tolerance(v)
	return err
}

// ParseTolerance reads a number of failures such as 10, or a share of the
// attempts such as 5%. Its error continues a sentence that begins with the
// key or flag.
func ParseTolerance(s string) (runner.Tolerance, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, ok := plainNumber(number)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && ok {
		return runner.Tolerance{Limited: true, Count: n}, nil
	}
	switch {
	case !ok || !percent:
		return runner.Tolerance{}, fmt.Errorf("wants a number such as 10 or a share such as 5%%, not %q", s)
	case v > 100:
		return runner.Tolerance{}, fmt.Errorf("is more than 100%%: %s", s)
	}
	return runner.Tolerance{Limited: true, Percent: v}, nil
}

// toleranceText is the inverse of ParseTolerance.
func toleranceText(t runner.Tolerance) string {
	switch {
	case !t.Limited:
		return ""
	case t.Percent > 0:
		return strconv.FormatFloat(t.Percent, 'f', -1, 64) + "%"
	}
	return strconv.FormatInt(t.Count, 10)
}

// plainNumber reads digits with at most one point among them.
func plainNumber(s string) (float64, bool) {
	whole, part, point := strings.Cut(s, ".")
	if whole == "" || point && part == "" || strings.Trim(whole+part, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}
