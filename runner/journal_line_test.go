package runner

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"runner/ledger"
)

func TestJournalLinesAreAsEncodingJSONWritesThem(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching("[ -~]*"), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	number := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64())
	rapid.Check(t, func(t *rapid.T) {
		l := line{ID: number.Draw(t, "id"), Fence: number.Draw(t, "fence"), BizID: text.Draw(t, "biz_id")}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			l.Start = &startLine{ledger.Phase(rapid.IntRange(0, 2).Draw(t, "phase")), number.Draw(t, "at")}
		case 1:
			l.PID = rapid.Int().Draw(t, "pid")
		default:
			l.End = &reportLine{
				Phase: ledger.Phase(rapid.IntRange(0, 2).Draw(t, "phase")), Outcome: ledger.Outcome(rapid.IntRange(0, 9).Draw(t, "outcome")),
				Detail: text.Draw(t, "detail"), Result: text.Draw(t, "result"), ExitCode: rapid.Ptr(rapid.Int(), true).Draw(t, "exit code"),
				Error: text.Draw(t, "error"), Output: text.Draw(t, "output"), RetryAfter: time.Duration(number.Draw(t, "retry after")),
				StartedAt: number.Draw(t, "start"), EndedAt: number.Draw(t, "end"),
			}
		}
		want, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		got := l.appendLine([]byte("before\n"))
		if w := fmt.Sprintf("before\n%08x %s\n", crc32.Checksum(want, castagnoli), want); string(got) != w {
			t.Fatalf("\ngot  %q\nwant %q", got, w)
		}
		var back, same line
		err1, err2 := decodeLine(got[len("before\n"):], &back), json.Unmarshal(want, &same)
		if err1 != nil || err2 != nil || !reflect.DeepEqual(back, same) {
			t.Fatalf("read back as %+v, %v, %v", back, err1, err2)
		}
	})
}
