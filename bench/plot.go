package main

import (
	"fmt"
	"math"
	"strings"
)

const (
	plotWidth, plotHeight = 640, 320
	left, right           = 60, 110
	top, bottom           = 40, 45
)

// plot draws the cost of a record over the number of records, which grows by
// powers of ten.
func plot(costs []cost) string {
	if len(costs) < 2 {
		return ""
	}
	least, most := math.Log10(float64(costs[0].n)), math.Log10(float64(costs[len(costs)-1].n))
	ceiling := 1.0
	for _, c := range costs {
		ceiling = max(ceiling, c.noop.median(), c.skip.median())
	}
	step := math.Ceil(ceiling / 5)
	ceiling = step * math.Ceil(ceiling/step)
	x := func(n int) float64 {
		return left + (math.Log10(float64(n))-least)/(most-least)*(plotWidth-left-right)
	}
	y := func(micro float64) float64 {
		return plotHeight - bottom - micro/ceiling*(plotHeight-top-bottom)
	}
	var p strings.Builder
	fmt.Fprintf(&p, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&p, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&p, `<text x="%d" y="22" font-size="14">Cost of a record by the size of its batch</text>`+"\n", left)
	for v := 0.0; v <= ceiling; v += step {
		fmt.Fprintf(&p, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f µs</text>`+"\n", left, y(v), plotWidth-right, left-8, y(v)+4, v)
	}
	for _, c := range costs {
		fmt.Fprintf(&p, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(c.n), plotHeight-bottom+18, count(c.n))
	}
	fmt.Fprintf(&p, `<text x="%d" y="%d" text-anchor="middle">records</text>`+"\n", (left+plotWidth-right)/2, plotHeight-8)
	p.WriteString(curve(costs, "noop", "#1f6feb", x, y, func(c cost) float64 { return c.noop.median() }))
	p.WriteString(curve(costs, "skip", "#d1590a", x, y, func(c cost) float64 { return c.skip.median() }))
	return p.String() + "</svg>\n"
}

func curve(costs []cost, name, color string, x func(int) float64, y func(float64) float64, of func(cost) float64) string {
	var points, dots strings.Builder
	for _, c := range costs {
		fmt.Fprintf(&points, "%.1f,%.1f ", x(c.n), y(of(c)))
		fmt.Fprintf(&dots, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(c.n), y(of(c)), color)
	}
	last := costs[len(costs)-1]
	return fmt.Sprintf(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n%s"+`<text x="%.1f" y="%.1f" fill="%s">%s, %.1f µs</text>`+"\n",
		strings.TrimSpace(points.String()), color, dots.String(), x(last.n)+10, y(of(last))+4, color, name, of(last))
}
