package cmd

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"runner/ledger"
)

// written makes a page of the report and gives its address.
func (w *world) written(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("page.html")
	if err != nil {
		t.Fatal(err)
	}
	if code := w.invoke("report", "--html", path); code != exitOK {
		t.Fatalf("exit %d: %s", code, &w.err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// The page is opened in Chromium: in both schemes and windows of all widths,
// with the keyboard alone, by a screen reader, and on paper.
func TestAPageIsReadInABrowser(t *testing.T) {
	w := reportWorld(t)
	b := newBrowser(t)
	address := w.written(t)
	for name, read := range map[string]func(*browser, string){
		"on a screen": onScreen, "with the keyboard": withTheKeyboard, "by a screen reader": byScreenReader, "on paper": onPaper,
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			read(b, address)
		})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if r != address && !strings.HasPrefix(r, address+"#") && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page asked for %s", r)
		}
	}
	for _, p := range b.problems {
		t.Errorf("the console says %s", p)
	}
	if len(b.requests) == 0 {
		t.Error("not even the page was asked for: nobody listens")
	}
}

func onScreen(b *browser, address string) {
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 768, 400, 320} {
			b.look(address, scheme, width)
			at := fmt.Sprintf("%s, %d pixels: ", scheme, width)
			for what, expression := range map[string]string{"contrast": contrast, "outside": outside, "structure": structure} {
				for _, complaint := range b.list(expression) {
					b.Errorf("%s%s: %s", at, what, complaint)
				}
			}
			if dark := b.text("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"; dark != (scheme == "dark") {
				b.Errorf("%sthe page is dark: %v", at, dark)
			}
			b.keep(fmt.Sprintf("%s-%d", scheme, width), width)
		}
	}
	if title := b.text("document.title"); title != "Batches by day · 2026-10-31 – 2026-11-29" {
		b.Errorf("title %q", title)
	}
	// What is copied is what is to be run, to the last space.
	want := doubtCommands(ledger.Key{TaskName: "grant-coupon", BizID: hostile, ExecuteDate: "2026-11-24"}, "")
	got := b.list("[...[...document.querySelectorAll('.doubt')].at(-1).querySelectorAll('code')].map(c => { getSelection().selectAllChildren(c); return getSelection().toString(); })")
	if d := cmp.Diff(want, got); d != "" {
		b.Errorf("commands (-want +got):\n%s", d)
	}
}

// The first thing leads to the calendar, and each day to its line.
func withTheKeyboard(b *browser, address string) {
	b.look(address, "light", 1280)
	const focused = "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
	b.do(chromedp.KeyEvent("\t"))
	if got := b.text(focused); got != "Skip to the calendar" {
		b.Fatalf("first is %q", got)
	}
	b.do(chromedp.KeyEvent("\r"), chromedp.KeyEvent("\t"))
	if got := b.text(focused); got != "grant-coupon" {
		b.Fatalf("in the calendar first is %q", got)
	}
	for range 20 {
		b.do(chromedp.KeyEvent("\t"))
		if strings.HasPrefix(b.text(focused), "grant-coupon 2026-11-11") {
			break
		}
	}
	if got := b.text(focused); !strings.HasPrefix(got, "grant-coupon 2026-11-11 failed: ") {
		b.Fatalf("the day isn't reached: %q", got)
	}
	if got := b.text("getComputedStyle(document.activeElement).outlineStyle"); got != "solid" {
		b.Errorf("the focus isn't seen: outline %s", got)
	}
	b.do(chromedp.KeyEvent("\r"))
	if got := b.text("document.querySelector(':target').innerText"); !strings.Contains(got, "2026-11-11") || !strings.Contains(got, "runner rerun grant-coupon --date 2026-11-11") {
		b.Errorf("the day leads to %q", got)
	}
}

// In a narrow window the tables are laid out otherwise, and stay tables to a
// screen reader.
func byScreenReader(b *browser, address string) {
	for _, width := range []int64{1280, 400} {
		b.look(address, "light", width)
		tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			b.Fatal(err)
		}
		roles, names := map[string]int{}, map[string]bool{}
		for _, n := range tree.Nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			var role, name string
			if err := json.Unmarshal(n.Role.Value, &role); err != nil {
				b.Fatal(err)
			}
			if n.Name != nil && json.Unmarshal(n.Name.Value, &name) == nil {
				names[role+" "+name] = true
			}
			roles[role]++
		}
		for role, least := range map[string]int{"table": 8, "row": 100, "cell": 400, "rowheader": 60, "columnheader": 60} {
			if roles[role] < least {
				b.Errorf("%d pixels: %d times %s, want %d", width, roles[role], role, least)
			}
		}
		for _, name := range []string{"heading Batches by day", "rowheader grant-coupon", "rowheader 对账-每日结算", "link grant-coupon 2026-11-24 in doubt: 49 done, 3 in doubt"} {
			if !names[name] {
				b.Errorf("%d pixels: there is no %s", width, name)
			}
		}
	}
}

// All is dark on white, whatever the screen is.
func onPaper(b *browser, address string) {
	b.look(address, "dark", 794)
	b.media("print", "dark")
	for _, complaint := range b.list(contrast) {
		b.Error(complaint)
	}
	if got := b.text("getComputedStyle(document.body).backgroundColor"); got != "rgb(255, 255, 255)" {
		b.Errorf("the paper is %s", got)
	}
	for _, complaint := range b.list(outside) {
		b.Error(complaint)
	}
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
	if err != nil || !strings.HasPrefix(string(pdf), "%PDF") {
		b.Fatalf("%v", err)
	}
	if dir := os.Getenv("RUNNER_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "print.pdf"), pdf, 0o600); err != nil {
			b.Fatal(err)
		}
		b.keep("print", 794)
	}
}
