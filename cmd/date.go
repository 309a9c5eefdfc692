package cmd

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxDates is how many dates one command takes unless --max-dates says more.
const maxDates = 400

const (
	dateForms = "use 2026-11-28, 20261128, today, yesterday or -3d"
	spanForms = "use 2026-11-28, 20261128, today, yesterday, -3d, 2026-11 or A..B" // where several dates are taken
)

var (
	isoDate     = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	compactDate = regexp.MustCompile(`^\d{8}$`)
	monthForm   = regexp.MustCompile(`^\d{4}-\d{2}$`)
	daysAgo     = regexp.MustCompile(`^-(\d{1,6})d$`)
)

// day is a calendar date. It is kept as midnight UTC, where every day has 24
// hours, so that arithmetic is that of the calendar in every zone.
type day struct{ t time.Time }

func (d day) String() string    { return d.t.Format(time.DateOnly) }
func (d day) add(days int) day  { return day{d.t.AddDate(0, 0, days)} }
func (d day) lastOfMonth() day  { return day{d.t.AddDate(0, 1, -d.t.Day())} }
func (d day) daysTo(to day) int { return int(to.t.Sub(d.t) / (24 * time.Hour)) }
func (d day) supported() bool   { return d.t.Year() >= 1 && d.t.Year() <= 9999 }
func today(now time.Time, loc *time.Location) day {
	y, m, d := now.In(loc).Date()
	return day{time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
}

// parseDate reads one execute date. today, yesterday and -3d are counted in
// the given zone.
func parseDate(text string, now time.Time, loc *time.Location) (string, error) {
	if monthForm.MatchString(text) || strings.Contains(text, "..") {
		return "", withHint(usagef("date %q is more than one date", text), "%s", dateForms)
	}
	d, err := parseDay(text, now, loc, dateForms)
	if err != nil {
		return "", err
	}
	return d.String(), nil
}

// parseDates reads what --date accepts where several dates are wanted: one
// date, a month (2026-11) or A..B with both ends, each of them a date or a
// month. The result is ascending, holds each date once, and has at most limit
// dates.
func parseDates(text string, now time.Time, loc *time.Location, limit int) ([]string, error) {
	from, to, err := parseSpan(text, now, loc)
	if err != nil {
		return nil, err
	}
	n := from.daysTo(to) + 1
	if n < 1 {
		return nil, withHint(usagef("date %q ends before it begins", text), "write the earlier date first: %s..%s", to, from)
	}
	if n > limit {
		return nil, withHint(usagef("date %q is %d dates, at most %d are allowed", text, n, limit), "take a shorter range, or raise --max-dates")
	}
	dates := make([]string, n)
	for i := range dates {
		dates[i] = from.add(i).String()
	}
	return dates, nil
}

func parseSpan(text string, now time.Time, loc *time.Location) (from, to day, err error) {
	first, last, isRange := strings.Cut(text, "..")
	if !isRange {
		return parseDayOrMonth(text, now, loc)
	}
	if first == "" || last == "" {
		return from, to, withHint(usagef("date %q has an open end", text), "name both ends, for example 2026-11-01..2026-11-30")
	}
	if from, _, err = parseDayOrMonth(first, now, loc); err != nil {
		return from, to, err
	}
	_, to, err = parseDayOrMonth(last, now, loc)
	return from, to, err
}

func parseDayOrMonth(text string, now time.Time, loc *time.Location) (from, to day, err error) {
	if !monthForm.MatchString(text) {
		from, err = parseDay(text, now, loc, spanForms)
		return from, from, err
	}
	t, err := time.Parse("2006-01", text)
	if err != nil || !(day{t}).supported() {
		return from, to, withHint(usagef("date %q is no month of the calendar", text), spanForms)
	}
	from = day{t}
	return from, from.lastOfMonth(), nil
}

// parseDay reads one date; forms are what the hint offers.
func parseDay(text string, now time.Time, loc *time.Location, forms string) (day, error) {
	switch {
	case text == "":
		return day{}, withHint(usagef("date is empty"), "%s", forms)
	case text == "today":
		return today(now, loc), nil
	case text == "yesterday":
		return today(now, loc).add(-1), nil
	case isoDate.MatchString(text):
		return parseCalendar(time.DateOnly, text)
	case compactDate.MatchString(text):
		return parseCalendar("20060102", text)
	}
	if m := daysAgo.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // at most six digits
		if d := today(now, loc).add(-n); d.supported() {
			return d, nil
		}
	}
	return day{}, withHint(usagef("date %q is not understood", text), "%s", forms)
}

func parseCalendar(layout, text string) (day, error) {
	t, err := time.Parse(layout, text)
	if err != nil || !(day{t}).supported() {
		return day{}, withHint(usagef("date %q does not exist", text), "%s", lastDayHint(text))
	}
	return day{t}, nil
}

// lastDayHint tells how long the month is that a date overshoots.
func lastDayHint(text string) string {
	digits := strings.ReplaceAll(text, "-", "")
	t, err := time.Parse("200601", digits[:6])
	if err != nil || !(day{t}).supported() {
		return dateForms
	}
	return fmt.Sprintf("the last day of that month is %s", day{t}.lastOfMonth())
}
