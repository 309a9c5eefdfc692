package archive_test

import (
	"os"
	"testing"
	"time"

	"runner/ledger"

	"pgregory.net/rapid"
)

func drawTime(t *rapid.T) time.Time {
	if rapid.Bool().Draw(t, "never") {
		return time.Time{}
	}
	return time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "time")).UTC()
}

func drawText(t *rapid.T) string {
	return rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("a\"\\\n\x00\u2028<é券"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
}

func drawPayload(t *rapid.T) []byte {
	return rapid.SampledFrom([][]byte{
		nil, {}, []byte(`{}`), []byte(`{ "n": 12345678901234567890, "s":"0010" }`), []byte("{\"a\":\n1}"), []byte("{\"a\":1} "),
		[]byte(`{"base64":"eA=="}`), []byte(`no JSON`), []byte("\xff\x00"), []byte(`"text"`), []byte(`{"券":"\u00e9"}`), []byte("null"),
	}).Draw(t, "payload")
}

func drawCode(t *rapid.T) *int {
	if rapid.Bool().Draw(t, "no code") {
		return nil
	}
	n := rapid.IntRange(-1, 255).Draw(t, "code")
	return &n
}

func drawRecord(t *rapid.T, e *ledger.Entry) (story []ledger.Attempt) {
	e.Status = rapid.SampledFrom([]ledger.Status{ledger.Done, ledger.Skipped}).Draw(t, "status")
	e.Phase = ledger.Phase(rapid.IntRange(0, 2).Draw(t, "phase"))
	e.Detail, e.Result, e.Error, e.RunID = drawText(t), drawText(t), drawText(t), rapid.SampledFrom([]string{"", "run-1", "run-2"}).Draw(t, "run")
	e.Attempts, e.Generation = rapid.IntRange(0, 9).Draw(t, "attempts"), rapid.IntRange(0, 3).Draw(t, "generation")
	e.Fence, e.ActFence, e.CompFence = rapid.Int64Range(0, 1<<40).Draw(t, "fence"), rapid.Int64Range(0, 9).Draw(t, "act"), rapid.Int64Range(0, 9).Draw(t, "comp")
	e.NotBefore, e.LaterSince, e.StartedAt, e.EndedAt = drawTime(t), drawTime(t), drawTime(t), drawTime(t)
	e.Delay, e.AskFirst, e.Suspect = time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "delay")), rapid.Bool().Draw(t, "ask"), rapid.Bool().Draw(t, "suspect")
	e.ExitCode, e.Payload = drawCode(t), drawPayload(t)
	for f := range rapid.IntRange(0, 3).Draw(t, "lines") {
		story = append(story, ledger.Attempt{
			RecordID: e.ID, Fence: int64(f + 1), Phase: ledger.Phase(rapid.IntRange(0, 3).Draw(t, "phase")), Generation: rapid.IntRange(0, 3).Draw(t, "generation"),
			Number: f, RunID: rapid.SampledFrom([]string{"", "run-1", "run-3"}).Draw(t, "run"), Actor: drawText(t), StartedAt: drawTime(t), EndedAt: drawTime(t),
			Status: ledger.Status(rapid.IntRange(0, 5).Draw(t, "status")), Detail: drawText(t), Result: drawText(t), ExitCode: drawCode(t),
			Error: drawText(t), Output: drawText(t), Late: drawText(t), LateDetail: drawText(t), LateAt: drawTime(t),
		})
	}
	return story
}

func TestAnArchivedBatchComesBackExactlyAsItWas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		led := open(t, dir)
		defer led.Close()
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z券"\\:]{1,6}`), 0, 6, rapid.ID).Draw(rt, "ids")
		fill(t, led, task, ids, func(_ int, e *ledger.Entry) []ledger.Attempt { return drawRecord(rt, e) })
		fill(t, led, "other", []string{"x"}, plain)
		before := look(t, led)
		d := folder(dir)
		m, err := d.Archive(ctx, led, task, date)
		must(t, err)
		if m.Why != "" {
			rt.Fatal(m.Why)
		}
		now := look(t, led)
		if len(now.Records) > 0 || len(now.Stories) > 0 || !now.Batch.Sealed() || now.Batch.Counts != before.Batch.Counts {
			rt.Fatalf("after the archive there are %+v", now)
		}
		must(t, d.Check(led, now.Batch))
		must(t, d.Restore(ctx, led, now.Batch))
		same(t, "what came back", look(t, led), before)
	})
}
