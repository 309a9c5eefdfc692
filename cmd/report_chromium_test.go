package cmd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium that notes what a page asks of it.
type browser struct {
	*testing.T
	ctx      context.Context
	mu       sync.Mutex
	requests []string
	problems []string
}

// newBrowser skips the test where there is no Chromium, unless
// RUNNER_REQUIRE_BROWSER is set.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	switch {
	case path != "":
	case os.Getenv("RUNNER_REQUIRE_BROWSER") != "":
		t.Fatal("there is no Chromium, and RUNNER_REQUIRE_BROWSER is set")
	default:
		t.Skip("there is no Chromium to look at the page with")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	b := &browser{T: t}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	b.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b.do()
	if err := chromedp.Listen(b.ctx, b.note); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, log.Enable, struct{}{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) note(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, string(e.Type))
	case *log.EventEntryAdded:
		b.problems = append(b.problems, e.Entry.Text)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// look opens a page in a window of a width, in a scheme.
func (b *browser) look(address, scheme string, width int64) {
	b.Helper()
	b.media("", scheme)
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(address))
}

func (b *browser) media(kind, scheme string) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: kind, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// list evaluates an expression that gives a list of complaints.
func (b *browser) list(expression string) []string {
	b.Helper()
	list, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](expression))
	if err != nil {
		b.Fatal(err)
	}
	return list
}

func (b *browser) text(expression string) string {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// keep writes a picture of the page to the folder $RUNNER_SCREENSHOTS, for
// people to look at.
func (b *browser) keep(name string, width int64) {
	b.Helper()
	dir := os.Getenv("RUNNER_SCREENSHOTS")
	if dir == "" {
		return
	}
	height, err := chromedp.Run(b.ctx, chromedp.Evaluate[int64]("document.documentElement.scrollHeight"))
	if err != nil {
		b.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, height))
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		b.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, 900))
}
