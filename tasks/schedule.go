package tasks

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"

	"runner/ledger"
)

// Schedule says on which execute dates a task should run. Nothing is started
// by it.
type Schedule struct {
	Text  string // as it is written
	Since string // the first execute date that counts; empty: not said
	back  int    // how many days an execute date lies before the day of its tick
}

// Due is an execute date that should have run, and since when.
type Due struct {
	Date string
	At   time.Time
}

// words are the schedule for people.
func (s *Schedule) words() string {
	text := s.Text
	switch s.back {
	case 0:
	case 1:
		text += " for yesterday"
	default:
		text += fmt.Sprintf(" for -%dd", s.back)
	}
	if s.Since != "" {
		text += " since " + s.Since
	}
	return text
}

// wall is a time of day in any zone, kept as UTC: cron means what clocks show,
// and in UTC every time of day is there once. Where a clock is put forward
// inZone takes what it leaves out to be as much later, so the date stays.
func wall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func inZone(w time.Time, loc *time.Location) time.Time {
	t := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, loc)
	if missing := w.Sub(wall(t)); missing > 0 {
		t = t.Add(missing)
	}
	return t
}

// Due gives the execute dates from one to another, both included, that should
// have run by now, each once and in order.
func (s *Schedule) Due(from, to string, now time.Time, loc *time.Location) ([]Due, error) {
	first, err := time.Parse(time.DateOnly, from)
	if err != nil {
		return nil, err
	}
	last, err := time.Parse(time.DateOnly, to)
	if err != nil {
		return nil, err
	}
	end := last.AddDate(0, 0, s.back+1)
	if present := wall(now.In(loc)).Add(time.Second); present.Before(end) {
		end = present
	}
	var list []Due
	for t := first.AddDate(0, 0, s.back); ; {
		if t, err = gronx.NextTickAfter(s.Text, t, true); err != nil || !t.Before(end) {
			return list, nil // without any tick the configuration would be wrong, so this is only the last one
		}
		day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
		if at := inZone(t, loc); !at.After(now) {
			list = append(list, Due{day.AddDate(0, 0, -s.back).Format(time.DateOnly), at})
		}
		t = day.AddDate(0, 0, 1)
	}
}

// Last is the newest execute date that should have run by now.
func (s *Schedule) Last(now time.Time, loc *time.Location) (due Due, ok bool, err error) {
	t, err := gronx.PrevTickBefore(s.Text, wall(now.In(loc)), true)
	if err != nil {
		return due, false, nil // there was none yet
	}
	date := t.AddDate(0, 0, -s.back).Format(time.DateOnly)
	list, err := s.Due(date, date, now, loc)
	if err != nil || len(list) == 0 {
		return due, false, err
	}
	return list[0], true, nil
}

// cron is a schedule as it is written in runner.yaml.
type cron string

// cronForm is what an expression looks like: five fields, or a word.
var cronForm = regexp.MustCompile(cronPattern)

// anyTime is where a first tick is looked for. The leap day of that year lets
// a schedule for leap days be one.
var anyTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (c *cron) UnmarshalText(b []byte) error {
	s := string(b)
	if !cronForm.MatchString(s) {
		return fmt.Errorf("wants the five fields of cron, such as \"0 2 * * *\", or a word such as \"@daily\", not %q", s)
	}
	if !gronx.IsValid(s) {
		return fmt.Errorf("isn't understood: %q%s", s, wrongField(s))
	}
	if _, err := gronx.NextTickAfter(s, anyTime, true); err != nil {
		return fmt.Errorf("names a time that never comes: %q", s)
	}
	*c = cron(s)
	return nil
}

// wrongField names the first of the five fields that is wrong by itself.
func wrongField(s string) string {
	fields := strings.Fields(s)
	names := []string{"minute", "hour", "day of the month", "month", "day of the week"}
	if len(fields) != len(names) {
		return ""
	}
	for i, name := range names {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = fields[i]
		if !gronx.IsValid(strings.Join(alone, " ")) {
			return fmt.Sprintf(", its %s %q", name, fields[i])
		}
	}
	return ""
}

// daysBack is a day before another one, written as for --date.
type daysBack int

func (d *daysBack) UnmarshalText(b []byte) error {
	switch s := string(b); {
	case s == "today":
		*d = 0
	case s == "yesterday":
		*d = 1
	case daysBackForm.MatchString(s):
		n, err := strconv.Atoi(strings.TrimSuffix(s[1:], "d"))
		*d = daysBack(n)
		return err
	default:
		return fmt.Errorf("wants today, yesterday or a number of days back such as -2d, not %q", s)
	}
	return nil
}

var daysBackForm = regexp.MustCompile(`^-[0-9]{1,4}d$`)

// days is a number of days, at least one.
type days int

func (d *days) UnmarshalText(b []byte) error {
	if !daysForm.MatchString(string(b)) {
		return fmt.Errorf("wants a number of days such as 90d, not %q", b)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(string(b), "d"))
	*d = days(n)
	return err
}

const daysPattern = `^[1-9][0-9]{0,4}d$`

var daysForm = regexp.MustCompile(daysPattern)

// calendarDate is a day of the calendar.
type calendarDate string

func (d *calendarDate) UnmarshalText(b []byte) error {
	if ledger.CheckDate(string(b)) != nil {
		return errors.New("wants a date such as 2026-11-28, not " + strconv.Quote(string(b)))
	}
	*d = calendarDate(b)
	return nil
}

// schedule takes when the task should run.
func (c *checker) schedule(f *taskFile) *Schedule {
	if !c.doc.Has(&f.Schedule) {
		for key, ptr := range map[string]any{"schedule_date": &f.ScheduleDate, "schedule_since": &f.ScheduleSince} {
			if c.doc.Has(ptr) {
				c.doc.Report(fmt.Sprintf("%q needs a %q", key, "schedule"), "", ptr)
			}
		}
		return nil
	}
	return &Schedule{Text: string(f.Schedule), Since: string(f.ScheduleSince), back: int(f.ScheduleDate)}
}
