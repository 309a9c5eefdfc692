package cmd

import (
	"fmt"
	"slices"
	"time"
)

const (
	trendHeight = 96 // of the tallest bar, in pixels
	trendTop    = 18 // above it, for the scale
)

// pageTrend is how long the days of a task took: bars in a picture whose
// width is that of the window.
type pageTrend struct {
	Says           string
	Height, Base   int
	Max, Median    string
	MedianY, TextY int
	First, Last    string
	Bars           []pageBar
}

// pageBar stands at percents of the width.
type pageBar struct {
	X, Width  string
	Y, Height int
	Name      string // of the day's mark
	Says      string
}

// newTrend is nil if no run of the task has ended in these days.
func newTrend(t reportTask, work map[int64]*dayWork) *pageTrend {
	var took []time.Duration
	var last time.Duration
	for _, d := range t.days {
		if w := work[d.batch.ID]; w != nil {
			last = w.took()
			took = append(took, last)
		}
	}
	if len(took) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(took))
	longest, median := sorted[len(sorted)-1], sorted[len(sorted)/2]
	height := func(d time.Duration) int {
		return max(int(float64(trendHeight)*float64(d)/float64(max(longest, 1))), 1)
	}
	p := &pageTrend{
		Says: fmt.Sprintf("Time at work by day: %s with runs, half of them within %s, the longest %s, the newest %s.",
			plural(int64(len(took)), "day"), spanText(median), spanText(longest), spanText(last)),
		Height: trendTop + trendHeight + 20, Base: trendTop + trendHeight, Max: spanText(longest), Median: spanText(median),
		MedianY: trendTop + trendHeight - height(median), TextY: trendTop + trendHeight + 15,
		First: t.days[0].date.String(), Last: t.days[len(t.days)-1].date.String(),
	}
	step := 100 / float64(len(t.days))
	for i, d := range t.days {
		w := work[d.batch.ID]
		if w == nil {
			continue
		}
		h := height(w.took())
		p.Bars = append(p.Bars, pageBar{
			X: fmt.Sprintf("%.3f%%", float64(i)*step+step*.12), Width: fmt.Sprintf("%.3f%%", step*.76),
			Y: trendTop + trendHeight - h, Height: h, Name: d.mark.name(),
			Says: fmt.Sprintf("%s: %s in %s, %s", d.date, spanText(w.took()), plural(int64(w.runs), "run"), plural(w.executed, "attempt")),
		})
	}
	return p
}
