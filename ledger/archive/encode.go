package archive

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"runner/ledger"
	"runner/ledger/internal/table"
)

// object writes a JSON object member by member; what is zero is left out.
// encoding/json takes five times as long, and replaces bytes that aren't
// UTF-8: it is used to read.
type object struct{ b []byte }

func (o *object) name(name string) {
	if n := len(o.b); o.b[n-1] != '{' && o.b[n-1] != '[' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

func (o *object) number(name string, n int64) {
	if n != 0 {
		o.name(name)
		o.b = strconv.AppendInt(o.b, n, 10)
	}
}

func (o *object) flag(name string, v bool) {
	if v {
		o.name(name)
		o.b = append(o.b, "true"...)
	}
}

func (o *object) code(name string, n *int) {
	if n != nil {
		o.name(name)
		o.b = strconv.AppendInt(o.b, int64(*n), 10)
	}
}

func (o *object) time(name string, t time.Time) {
	if !t.IsZero() {
		o.name(name)
		o.b = t.UTC().AppendFormat(append(o.b, '"'), timeLayout)
		o.b = append(o.b, '"')
	}
}

func (o *object) text(name, s string) {
	if s == "" {
		return
	}
	o.name(name)
	if !utf8.ValidString(s) {
		o.b = append(o.b, `{"base64":"`...)
		o.b = base64.StdEncoding.AppendEncode(o.b, []byte(s))
		o.b = append(o.b, '"', '}')
		return
	}
	o.b = table.AppendJSON(o.b, s)
}

// payload is written as it is where it can be, so that jq reads it.
func (o *object) payload(p []byte) {
	switch {
	case p == nil:
	case len(p) > 1 && p[0] == '{' && p[len(p)-1] == '}' && bytes.IndexByte(p, '\n') < 0 && utf8.Valid(p) && json.Valid(p):
		o.name("payload")
		o.b = append(o.b, p...)
	default:
		o.name("payload_base64")
		o.b = append(o.b, '"')
		o.b = base64.StdEncoding.AppendEncode(o.b, p)
		o.b = append(o.b, '"')
	}
}

// timeLayout keeps what a ledger keeps: microseconds.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// appendRecord adds the line of a record with its stored story.
func appendRecord(b []byte, e *ledger.Entry, story []ledger.Attempt) []byte {
	o := object{append(b, '{')}
	o.number("id", e.ID)
	o.text("biz_id", e.BizID)
	o.text("status", e.Status.String())
	o.text("detail", e.Detail)
	o.text("result", e.Result)
	o.number("attempts", int64(e.Attempts))
	o.number("generation", int64(e.Generation))
	o.number("fence", e.Fence)
	o.number("act_fence", e.ActFence)
	o.number("comp_fence", e.CompFence)
	if e.Phase != ledger.Act {
		o.text("phase", e.Phase.String())
	}
	o.text("run_id", e.RunID)
	o.time("started_at", e.StartedAt)
	o.time("ended_at", e.EndedAt)
	o.time("not_before", e.NotBefore)
	o.number("delay_ns", int64(e.Delay))
	o.time("later_since", e.LaterSince)
	o.flag("ask_first", e.AskFirst)
	o.flag("suspect", e.Suspect)
	o.code("exit_code", e.ExitCode)
	o.text("error", e.Error)
	o.payload(e.Payload)
	if len(story) > 0 {
		o.name("story")
		o.b = append(o.b, '[')
		for i := range story {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = appendAttempt(o.b, &story[i])
		}
		o.b = append(o.b, ']')
	}
	return append(o.b, '}', '\n')
}

func appendAttempt(b []byte, a *ledger.Attempt) []byte {
	o := object{append(b, '{')}
	o.number("fence", a.Fence)
	o.text("phase", a.Phase.String())
	o.text("status", a.Status.String())
	o.number("generation", int64(a.Generation))
	o.number("number", int64(a.Number))
	o.text("run_id", a.RunID)
	o.text("actor", a.Actor)
	o.time("started_at", a.StartedAt)
	o.time("ended_at", a.EndedAt)
	o.text("detail", a.Detail)
	o.text("result", a.Result)
	o.code("exit_code", a.ExitCode)
	o.text("error", a.Error)
	o.text("output", a.Output)
	o.text("late", a.Late)
	o.text("late_detail", a.LateDetail)
	o.time("late_at", a.LateAt)
	return append(o.b, '}')
}
