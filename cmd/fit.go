package cmd

import (
	"slices"
	"strings"
)

// fitting is what a table knows of a column to fit it into a terminal.
type fitting struct {
	wide, id bool
	spare    int
}

const (
	roomyText = 20 // columns of a text below which others are left out for it
	roomyID   = 16 // the same of an id, of which both ends are seen
)

// leaveOut chooses the columns to show: those that can't be spared, and of the
// others, the dearest first, what there is room for. blank ones say nothing;
// nil: that isn't known.
func leaveOut(full []int, columns []fitting, blank []bool, limit int) (hidden []bool) {
	hidden = make([]bool, len(columns))
	used := -tableGap
	var spare []int
	for i, c := range columns {
		switch {
		case blank != nil && blank[i]:
			hidden[i] = true
		case c.spare > 0:
			hidden[i] = true
			spare = append(spare, i)
		default:
			used += c.needs(full[i]) + tableGap
		}
	}
	slices.SortStableFunc(spare, func(a, b int) int { return columns[a].spare - columns[b].spare })
	for _, i := range spare {
		if n := columns[i].needs(full[i]) + tableGap; used+n <= limit {
			hidden[i] = false
			used += n
		}
	}
	return hidden
}

// needs is how much room a column is given before others are.
func (f fitting) needs(full int) int {
	if f.wide {
		return min(full, roomyText)
	}
	return full
}

// shrink takes from the columns that can be cut until a row fits, or there is
// nothing left to take: from texts first, from ids only what texts can't give.
func shrink(full []int, columns []fitting, limit int) []int {
	w := slices.Clone(full)
	over := tableGap*(len(w)-1) - limit
	for _, n := range w {
		over += n
	}
	for _, step := range []struct {
		id    bool
		least int
	}{{false, roomyText}, {true, roomyID}, {false, narrowest}, {true, narrowest}} {
		for ; over > 0; over-- {
			widest := -1
			for i, n := range w {
				if c := columns[i]; c.wide && c.id == step.id && n > step.least && (widest < 0 || n > w[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			w[widest]--
		}
	}
	return w
}

// clipMiddle cuts s to at most n columns with … for what is gone from its
// middle: ids often begin alike.
func clipMiddle(s string, n int) string {
	if n < 3 || columnsOf(s) <= n {
		return clip(s, n)
	}
	var all []string
	for g := widths.StringGraphemes(s); g.Next(); {
		all = append(all, g.Value())
	}
	tail, room := len(all), (n-1)/2
	for tail > 0 && columnsOf(all[tail-1]) <= room {
		tail--
		room -= columnsOf(all[tail])
	}
	end := strings.Join(all[tail:], "")
	return widths.TruncateString(s, n-columnsOf(end), "…") + end
}

// wrap breaks text at its spaces into lines of at most n columns. A longer word
// is broken wherever the line ends.
func wrap(text string, n int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && columnsOf(line)+1+columnsOf(word) <= n {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		line = ""
		for g := widths.StringGraphemes(word); g.Next(); {
			if columnsOf(line)+g.Width() > n && line != "" {
				lines, line = append(lines, line), ""
			}
			line += g.Value()
		}
	}
	return append(lines, line)
}
