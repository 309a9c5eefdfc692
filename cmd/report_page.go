package cmd

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"runner/ledger"
)

//go:embed report.html
var pageText string

//go:embed report.css
var pageStyle string

var pageTemplate = template.Must(template.New("report.html").Funcs(template.FuncMap{
	"text":  pageWords,
	"words": commandWords,
	"lang":  langOf,
}).Parse(pageText))

// page is what the template of a report shows. Its texts come from the ledger
// as they are: the template calls text for each, which makes hidden characters
// visible, and html/template escapes the rest.
type page struct {
	Style    template.CSS
	Title    string
	Span     string
	Written  string
	Ledger   string
	Version  string
	Tiles    []pageMark
	Needs    []pageNeed
	MoreDay  int // days that need a person and are left out
	Older    string
	Blocks   []pageBlock
	Doubts   []pageDoubt
	Unlisted string // of those in doubt
	Tasks    []pageTask
	Notes    []string
}

type pageMark struct{ Glyph, Name, Words, Means, Count string }

type pageNeed struct{ Task, Date, Link, Glyph, Name, What, Command string }

// pageBlock is a part of the calendar: rows of tasks, columns of days.
type pageBlock struct {
	Months []pageMonth
	Days   []pageDate
	Rows   []pageRow
}

type pageMonth struct {
	Name string
	Span int
}

type pageDate struct {
	Number, Week, Full string
	Start              int // of a week: where it stands in a narrow window, 1 to 7
	Monday             bool
}

type pageRow struct {
	Task, Link string
	Cells      []pageCell
}

type pageCell struct {
	pageDate
	Glyph, Name, Words, Link, Says string
}

type pageDoubt struct {
	Task, BizID, Date, Since, Error string
	Commands                        []string
}

type pageTask struct {
	Name, Link, Zone string
	Trend            *pageTrend
	Days             []pageDay
	Slowest          []pageSlow
	Among            string // how many of how many records were looked at
	Errors           []pageError
	Grouped          string
}

type pageDay struct {
	Link, Date, Glyph, Name, Words     string
	Records, Done, Failed, Doubt, Open string
	Took, Command, Why                 string
}

type pageSlow struct{ Took, BizID, Date, Status, Started, Command string }

type pageError struct{ Count, Message, Dates, Example, Command string }

func newPage(ctx context.Context, a *app, r *report, led *ledger.Ledger) (*page, error) {
	p := &page{
		Style: template.CSS(pageStyle),
		Title: "Batches by day", Span: r.from() + " – " + r.to(), Written: r.now.In(r.where.zone).Format("2006-01-02 15:04 -07:00") + " " + r.where.zoneName,
		Ledger: r.where.shown(), Version: programVersion(),
	}
	counts := r.counts()
	for m := markComplete; m < markCount; m++ {
		p.Tiles = append(p.Tiles, pageMark{m.glyph(), m.name(), m.words(), dayMarks[m].means, number(int64(counts[m]))})
	}
	links := r.links()
	p.addNeeds(a, r, links)
	p.addCalendar(r, links)
	return p, p.addTasks(ctx, a, r, led)
}

func (p *page) write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := pageTemplate.Execute(b, p); err != nil {
		return err
	}
	return b.Flush()
}

// maxNeeds is how many days that need a person a page lists.
const maxNeeds = 50

// links are the places of tasks on a page, by name.
func (r *report) links() map[string]string {
	m := map[string]string{}
	for i, t := range r.tasks {
		m[t.name] = fmt.Sprintf("t%d", i+1)
	}
	return m
}

func (p *page) addNeeds(a *app, r *report, links map[string]string) {
	needs := r.needs()
	p.MoreDay = max(len(needs)-maxNeeds, 0)
	for _, n := range needs[:len(needs)-p.MoreDay] {
		what := n.Message
		if n.Count > 0 {
			what = number(n.Count) + " " + strings.ReplaceAll(n.Status, "_", " ") + ": " + what
		}
		p.Needs = append(p.Needs, pageNeed{
			n.task, n.date, links[n.task] + "-" + n.date, n.mark.glyph(), n.mark.name(), what, n.Command + a.sameFlags(),
		})
	}
	if r.older.batches > 0 {
		p.Older = "Before " + r.from() + ": " + r.older.words() + "."
	}
}

func (p *page) addCalendar(r *report, links map[string]string) {
	for from := 0; from < len(r.days) && len(r.tasks) > 0; from += markdownDays {
		to := min(from+markdownDays, len(r.days))
		var b pageBlock
		for i, d := range r.days[from:to] {
			if i == 0 || d.t.Day() == 1 {
				b.Months = append(b.Months, pageMonth{Name: d.t.Format("January 2006")})
			}
			b.Months[len(b.Months)-1].Span++
			b.Days = append(b.Days, newPageDate(d))
		}
		for i, m := range b.Months {
			if m.Span < 4 {
				b.Months[i].Name = m.Name[:3] // a column is narrow
			}
		}
		for _, t := range r.tasks {
			row := pageRow{Task: t.name, Link: links[t.name]}
			for _, d := range t.days[from:to] {
				c := pageCell{pageDate: newPageDate(d.date), Glyph: d.mark.glyph(), Name: d.mark.name(), Words: d.mark.words()}
				if d.mark != markNone {
					c.Link = links[t.name] + "-" + d.date.String()
					c.Says = d.says()
				}
				row.Cells = append(row.Cells, c)
			}
			b.Rows = append(b.Rows, row)
		}
		p.Blocks = append(p.Blocks, b)
	}
}

func newPageDate(d day) pageDate {
	return pageDate{d.t.Format("2"), d.t.Format("Mon"), d.String(), monday(d) + 1, monday(d) == 0}
}

// says is a day in a few words.
func (d reportDay) says() string {
	if d.batch.ID == 0 {
		return d.mark.words()
	}
	return d.mark.words() + ": " + countWords(newCounts(d.batch.Counts))
}

func (p *page) addTasks(ctx context.Context, a *app, r *report, led *ledger.Ledger) error {
	var finder *factFinder
	work, whole := map[int64]*dayWork{}, true
	if led != nil {
		finder = newFactFinder(led)
		var err error
		if work, whole, err = batchWork(ctx, led, r.days[0], r.days[len(r.days)-1]); err != nil {
			return err
		}
	}
	if !whole {
		p.Notes = append(p.Notes, "Times are of the newest "+number(maxWatched)+" runs alone.")
	}
	links := r.links()
	for i, t := range r.tasks {
		pt := pageTask{Name: t.name, Link: links[t.name], Zone: t.zone, Trend: newTrend(t, work)}
		for _, d := range slices.Backward(t.days) {
			if d.mark != markNone {
				pt.Days = append(pt.Days, newPageDay(a, pt.Link, d, work[d.batch.ID]))
			}
		}
		if led != nil {
			facts, err := finder.of(ctx, t, len(r.tasks)-i)
			if err != nil {
				return err
			}
			p.addFacts(a, r, &pt, t, facts)
		}
		p.Tasks = append(p.Tasks, pt)
	}
	if n := r.inDoubt(); int64(len(p.Doubts)) < n {
		p.Unlisted = number(int64(len(p.Doubts))) + " of " + number(n) + " are listed."
	}
	return nil
}

func newPageDay(a *app, link string, d reportDay, w *dayWork) pageDay {
	c := d.batch.Counts
	pd := pageDay{
		Link: link + "-" + d.date.String(), Date: d.date.String(), Glyph: d.mark.glyph(), Name: d.mark.name(), Words: d.mark.words(),
		Took: noText, Records: number(c.Total()), Done: number(c[ledger.Done] + c[ledger.Skipped]), Failed: number(c[ledger.Failed]),
		Doubt: number(c[ledger.InDoubt]), Open: number(d.batch.Open()), Why: d.why(),
	}
	if d.batch.ID == 0 {
		pd.Records, pd.Done, pd.Failed, pd.Doubt, pd.Open = noText, noText, noText, noText, noText
	}
	if w != nil {
		pd.Took = spanText(w.took())
	}
	if len(d.needs) > 0 {
		pd.Command = d.needs[0].Command + a.sameFlags()
	}
	return pd
}

// why says what the mark of a day doesn't.
func (d reportDay) why() string {
	if d.batch.HaltReason != "" && d.mark != markSealed {
		return "halted: " + oneLine(d.batch.HaltReason)
	}
	if s := strings.ReplaceAll(d.state, "_", " "); s != d.mark.words() && d.mark != markSealed {
		return s
	}
	return ""
}
