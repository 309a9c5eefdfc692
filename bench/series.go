package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// series holds the measurements of the rounds, in their order.
type series []float64

func (s series) median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// each combines the rounds of two contenders.
func (s series) each(other series, f func(a, b float64) float64) series {
	var out series
	for i := range min(len(s), len(other)) {
		out = append(out, f(s[i], other[i]))
	}
	return out
}

func (s series) to(f func(float64) float64) series {
	var out series
	for _, v := range s {
		out = append(out, f(v))
	}
	return out
}

// ratio is how often s goes into other, round by round.
func (s series) ratio(other series) series {
	return s.each(other, func(a, b float64) float64 { return b / a })
}

// rate is n for each second.
func (s series) rate(n int) series {
	return s.to(func(seconds float64) float64 { return float64(n) / seconds })
}

// String is the median and the spread from the least to the most.
func (s series) String() string {
	if len(s) < 2 {
		return number(s.median())
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.median()), number(slices.Min(s)), number(slices.Max(s)))
}

// number has three digits that count, and thousands apart.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a < 10:
		return fmt.Sprintf("%.2f", v)
	case a < 100:
		return fmt.Sprintf("%.1f", v)
	case a >= 1000:
		v = math.Round(v/100) * 100
	}
	digits := fmt.Sprintf("%.0f", v)
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && d != '-' && digits[i-1] != '-' {
			out.WriteByte(',')
		}
		out.WriteRune(d)
	}
	return out.String()
}
