package cmd

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	goprogress "github.com/jedib0t/go-pretty/v6/progress"

	"runner/ledger"
	"runner/runner"
)

// How progress is shown. Where stderr is no terminal, auto shows it only in a
// CI job, whose log somebody follows: under cron a line would become a mail.
const (
	progressAuto  = "auto"
	progressBar   = "bar"
	progressPlain = "plain"
	progressNone  = "none"
)

var progressForms = []string{progressAuto, progressBar, progressPlain, progressNone}

// progress is told what happens during a run, and shows how far it is.
type progress interface {
	observe(runner.Event)
	stop()
}

func (a *app) newProgress(how, task, date string) progress {
	if how == "" || how == progressAuto {
		switch {
		case a.p.quiet || a.flags.verbose || a.p.lines != nil:
			how = progressNone
		case a.p.err.tty && a.getenv("TERM") != "dumb":
			how = progressBar
		case a.getenv("CI") != "" && !a.p.err.tty:
			how = progressPlain
		}
	}
	t := &tally{name: task + " " + date, now: a.now}
	switch how {
	case progressBar:
		return &barProgress{tally: t, p: a.p}
	case progressPlain:
		return &plainProgress{tally: t, p: a.p, every: 30 * time.Second}
	}
	return noProgress{}
}

type noProgress struct{}

func (noProgress) observe(runner.Event) {}
func (noProgress) stop()                {}

// tally counts what a run has settled.
type tally struct {
	mu             sync.Mutex
	name           string
	now            func() time.Time
	began          time.Time
	total, before  int64 // records; of them settled before this run
	done           int64
	failed, doubts int64
}

func (t *tally) count(ev runner.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case ev.Planned != nil:
		t.began, t.total, t.before = t.now(), ev.Planned.Planned, ev.Planned.AlreadyDone
	case ev.Settled != nil:
		switch ev.Settled.Entry.Status {
		case ledger.Done:
			t.done++
		case ledger.Failed:
			t.failed++
		case ledger.InDoubt:
			t.doubts++
		}
	}
}

func (t *tally) settled() int64 { return t.before + t.done + t.failed + t.doubts }

// line tells all in one line.
func (t *tally) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d done", t.name, t.done)
	for _, x := range []struct {
		n    int64
		word string
	}{{t.before, "skipped"}, {t.failed, "failed"}, {t.doubts, "in doubt"}} {
		if x.n > 0 {
			fmt.Fprintf(&b, ", %d %s", x.n, x.word)
		}
	}
	fmt.Fprintf(&b, " of %d", t.total)
	worked := t.settled() - t.before
	if secs := t.now().Sub(t.began).Seconds(); worked > 0 && secs > 0.5 {
		rate := float64(worked) / secs
		left := time.Duration(float64(max(t.total-t.settled(), 0)) / rate * float64(time.Second))
		fmt.Fprintf(&b, ", %s/s, %s left", short(rate), left.Round(time.Second))
	}
	return b.String()
}

// short writes a rate with as many digits as it deserves.
func short(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.1f", rate)
	}
	return fmt.Sprintf("%.0f", rate)
}

// plainProgress prints a line now and then.
type plainProgress struct {
	*tally
	p     *printer
	every time.Duration
	once  sync.Once
	quit  chan struct{}
	ended chan struct{}
}

func (b *plainProgress) observe(ev runner.Event) {
	b.count(ev)
	if ev.Planned == nil {
		return
	}
	b.quit, b.ended = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(b.ended)
		tick := time.NewTicker(b.every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				b.mu.Lock()
				text := b.line()
				b.mu.Unlock()
				b.p.note("%s", text)
			case <-b.quit:
				return
			}
		}
	}()
}

func (b *plainProgress) stop() {
	b.once.Do(func() {
		if b.quit != nil {
			close(b.quit)
			<-b.ended
		}
	})
}

// barProgress draws a bar on the terminal. What else is printed on stderr
// meanwhile goes above it.
type barProgress struct {
	*tally
	p       *printer
	w       goprogress.Writer
	tracker *goprogress.Tracker
}

const barLength = 16

func (b *barProgress) observe(ev runner.Event) {
	b.count(ev)
	if ev.Planned != nil && ev.Planned.Planned > ev.Planned.AlreadyDone {
		b.start()
	}
	if b.tracker != nil {
		b.update()
	}
}

func (b *barProgress) start() {
	b.w = goprogress.NewWriter()
	b.w.SetOutputWriter(b.p.err.under())
	b.w.SetTrackerLength(barLength)
	b.w.SetTerminalWidth(b.p.err.columns())
	b.w.SetTrackerPosition(goprogress.PositionLeft)
	b.w.SetUpdateFrequency(100 * time.Millisecond)
	style := b.w.Style()
	style.Visibility = goprogress.StyleVisibility{Tracker: true, Percentage: true}
	style.Options.Separator = " "
	style.Options.PercentFormat = "%3.0f%%"
	b.tracker = &goprogress.Tracker{Total: b.total}
	b.update()
	b.w.AppendTracker(b.tracker)
	b.p.err.divert(func(text string) { b.w.Log("%s", strings.TrimSuffix(text, "\n")) })
	go b.w.Render()
}

func (b *barProgress) update() {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.line()
	if width := b.p.err.columns(); width > 0 {
		text = clip(text, max(width-barLength-12, 10))
	}
	b.tracker.UpdateMessage(visible(text))
	b.tracker.SetValue(min(b.settled(), b.total-1)) // at the total it would count as done and be drawn once more
}

func (b *barProgress) stop() {
	if b.tracker == nil {
		return
	}
	b.w.Stop()
	for b.w.IsRenderInProgress() {
		time.Sleep(time.Millisecond) // it has no way to wait for it
	}
	_, _ = io.WriteString(b.p.err.under(), "\x1b[1A\x1b[2K") // the summary takes the bar's place
	b.p.err.divert(nil)
	b.tracker = nil
}
