package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fatih/color"

	"runner/tasks"
)

const (
	plainWidth   = 80 // of a calendar that doesn't go to a terminal
	weekDays     = 7
	markdownDays = 31 // in one table
)

// printReport prints a calendar where people read it, else a row for each day.
func (a *app) printReport(r *report) error {
	switch a.p.form {
	case formTable:
		return a.p.text(r.calendar(a.p.out) + r.below(a))
	case formMarkdown:
		return a.p.text(r.markdown())
	}
	return list(a.p, nil, all(r.json()))
}

// calendar draws the days from left to right, and in blocks of weeks where
// they are too many for a line.
func (r *report) calendar(s *stream) string {
	if len(r.tasks) == 0 {
		return ""
	}
	limit := s.columns()
	names := make([]string, len(r.tasks))
	wide := 0
	for i, t := range r.tasks {
		names[i] = visible(t.name)
		if limit > 0 {
			names[i] = clip(names[i], max(limit/3, narrowest))
		}
		wide = max(wide, columnsOf(names[i]))
	}
	if limit == 0 {
		limit = max(plainWidth, wide+tableGap+3*weekDays)
	}
	var b strings.Builder
	for i, block := range r.blocks(limit - wide - tableGap) {
		if i > 0 {
			b.WriteByte('\n')
		}
		indent := strings.Repeat(" ", wide+tableGap)
		for _, line := range block.head() {
			b.WriteString(strings.TrimRight(clip(indent+line, limit), " ") + "\n")
		}
		for i, t := range r.tasks {
			b.WriteString(names[i] + strings.Repeat(" ", wide+tableGap-columnsOf(names[i])) + block.marks(t, s.colors) + "\n")
		}
	}
	return b.String() + "\n" + r.legend(limit, s.colors)
}

// dayBlock is days that stand in one line, each so many columns wide.
type dayBlock struct {
	days []day
	from int // position of the first among the days of the report
	cell int
}

// blocks chooses the widest form in which all days fit; else several lines of
// whole weeks.
func (r *report) blocks(room int) []dayBlock {
	for _, cell := range []int{3, 2, 1} {
		b := dayBlock{days: r.days, cell: cell}
		if b.width() <= room && (cell > 1 || len(r.days) <= 2*reportDays) {
			return []dayBlock{b}
		}
	}
	cell := 2
	weeks := room / (weekDays*cell + 1)
	if weeks == 0 {
		cell, weeks = 1, max(room/(weekDays+1), 1)
	}
	var blocks []dayBlock
	for from := 0; from < len(r.days); {
		n := (weeks-1)*weekDays + weekDays - monday(r.days[from])
		to := min(from+n, len(r.days))
		blocks = append(blocks, dayBlock{r.days[from:to], from, cell})
		from = to
	}
	return blocks
}

// monday counts the days of the week before d.
func monday(d day) int { return (int(d.t.Weekday()) + weekDays - 1) % weekDays }

// at is the column of a day: weeks stand apart.
func (b dayBlock) at(i int) int { return i*b.cell + (i+monday(b.days[0]))/weekDays }

func (b dayBlock) width() int { return b.at(len(b.days)-1) + 2 }

// head names the months, and below the days, or of each week the first.
func (b dayBlock) head() [2]string {
	var months, days strings.Builder
	for i, d := range b.days {
		if i == 0 || d.t.Day() == 1 {
			next := d.lastOfMonth().add(1)
			label := d.t.Format("Jan 2006")
			if left := d.daysTo(next); i+left < len(b.days) {
				switch room := b.at(i+left) - b.at(i); {
				case room < len("Jan "):
					label = ""
				case room <= len(label):
					label = label[:len("Jan")]
				}
			}
			pad(&months, b.at(i))
			months.WriteString(label)
		}
		if b.cell == 3 || i == 0 && monday(d) < weekDays-1 || monday(d) == 0 {
			pad(&days, b.at(i))
			days.WriteString(d.t.Format("02"))
		}
	}
	return [2]string{months.String(), days.String()}
}

func pad(b *strings.Builder, to int) {
	b.WriteString(strings.Repeat(" ", max(to-b.Len(), 0)))
}

func (b dayBlock) marks(t reportTask, p palette) string {
	var line strings.Builder
	column := 0
	for i := range b.days {
		d := t.days[b.from+i]
		line.WriteString(strings.Repeat(" ", b.at(i)-column) + d.tint(p).Sprint(d.mark.glyph()))
		column = b.at(i) + 1
	}
	return line.String()
}

func (d reportDay) tint(p palette) *color.Color {
	if d.mark == markInDoubt {
		return p.doubt
	}
	if d.mark == markSealed {
		return p.dim
	}
	return statusJSON{State: d.state}.tint(p)
}

// counts says how many days have each mark.
func (r *report) counts() (n [markCount]int) {
	for _, t := range r.tasks {
		for _, d := range t.days {
			n[d.mark]++
		}
	}
	return n
}

// legend explains the marks that there are. How many days nothing was to do on
// is nobody's question.
func (r *report) legend(limit int, p palette) string {
	var lines []string
	line, width := "", 0
	for m, n := range r.counts() {
		if n == 0 || dayMark(m) == markNone {
			continue
		}
		word := fmt.Sprintf("%d %s", n, dayMark(m).words())
		size := 2 + columnsOf(word)
		if width > 0 && width+tableGap+size > limit {
			lines = append(lines, line)
			line, width = "", 0
		}
		if width > 0 {
			line += strings.Repeat(" ", tableGap)
			width += tableGap
		}
		line += markTint(dayMark(m), p).Sprint(dayMark(m).glyph()) + " " + word
		width += size
	}
	if width > 0 {
		lines = append(lines, line)
	}
	if r.counts()[markNone] > 0 {
		lines = append(lines, clip(markNone.glyph()+" "+dayMarks[markNone].means, limit))
	}
	lines = append(lines, clip(r.span(), limit))
	return strings.Join(lines, "\n") + "\n"
}

func markTint(m dayMark, p palette) *color.Color {
	state := m.name()
	return reportDay{mark: m, state: state}.tint(p)
}

// span names the days and their zone.
func (r *report) span() string {
	return fmt.Sprintf("%s to %s, %s", r.from(), r.to(), r.where.zoneName)
}

// below says what to do, of the newest days.
func (r *report) below(a *app) string {
	var b strings.Builder
	lines, days := needLines(r.needs())
	for i, text := range lines {
		if i == 0 {
			b.WriteByte('\n')
		}
		if i == maxTold {
			left := 0
			for _, n := range days[i:] {
				left += n
			}
			fmt.Fprintf(&b, "and %s more: runner status%s\n", plural(int64(left), "day"), a.sameFlags())
			break
		}
		b.WriteString(visible(text) + "\n")
	}
	if o := r.older; o.batches > 0 {
		fmt.Fprintf(&b, "before %s: %s: runner status%s\n", r.from(), o.words(), a.sameFlags())
	}
	return b.String()
}

// needLines says what to do in lines, and of how many days each is: those of a
// task that never ran have one for all.
func needLines(needs []reportNeed) (lines []string, days []int) {
	missed := map[string][]tasks.Due{}
	for _, n := range slices.Backward(needs) {
		if n.mark == markMissing {
			missed[n.task] = append(missed[n.task], tasks.Due{Date: n.date})
		}
	}
	for _, n := range needs {
		due := missed[n.task]
		switch {
		case n.mark != markMissing || len(due) == 1:
			lines, days = append(lines, n.task+" "+n.date+": "+n.words()), append(days, 1)
		case len(due) > 1:
			lines, days = append(lines, missedLine(n.task, due)), append(days, len(due))
			missed[n.task] = nil // said
		}
	}
	return lines, days
}

// reportNeed is what a person should do about a day.
type reportNeed struct {
	task, date string
	mark       dayMark
	statusNeed
}

func (n reportNeed) words() string {
	if n.Count == 0 {
		return n.Message + ": " + n.Command
	}
	return fmt.Sprintf("%d %s: %s: %s", n.Count, strings.ReplaceAll(n.Status, "_", " "), n.Message, n.Command)
}

// needs are the days that need a person, newest first, each with the first
// thing to do.
func (r *report) needs() (list []reportNeed) {
	for i := len(r.days) - 1; i >= 0; i-- {
		for _, t := range r.tasks {
			if d := t.days[i]; len(d.needs) > 0 {
				list = append(list, reportNeed{t.name, d.date.String(), d.mark, d.needs[0]})
			}
		}
	}
	return list
}

func (o reportOlder) words() string {
	var words []string
	for _, x := range []struct {
		n    int64
		word string
	}{{o.inDoubt, "in doubt"}, {o.failed, "failed"}, {o.open, "open"}} {
		if x.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", x.n, x.word))
		}
	}
	return strings.Join(words, ", ")
}
