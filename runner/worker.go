package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"runner/ledger"
)

func (e *engine) startWorkers() {
	e.work = make(chan ledger.Entry, e.jobs+aheadMax)
	e.ended = make(chan ended, e.jobs+aheadMax)
	e.unsettled = map[int64]ledger.Entry{}
	e.asked = roaring64.New()
	e.begun = roaring64.New()
	for range e.jobs {
		e.workers.Go(func() {
			for en := range e.work {
				e.ended <- e.attempt(en)
			}
		})
	}
}

func (e *engine) stopWorkers() {
	close(e.work)
	e.workers.Wait()
}

// attempt makes one attempt: into the journal, act, into the journal. It
// runs in a worker.
func (e *engine) attempt(en ledger.Entry) ended {
	if e.Stop.Asked() {
		return ended{Report: notStarted(en)}
	}
	id := attemptID(e.sum.RunID, en)
	if !e.lease.begin(id) {
		return ended{Report: notStarted(en)}
	}
	defer e.lease.ended(id)
	rep := notStarted(en)
	rep.StartedAt = e.led.Now()
	if err := e.file.started(en, rep.StartedAt); err != nil {
		return ended{Report: notStarted(en), failure: err}
	}
	res := Result{Outcome: ledger.NotStarted}
	if e.lease.held() {
		res = e.act(en, id)
	}
	rep.EndedAt = e.led.Now()
	rep.Outcome, rep.Detail, rep.Result, rep.ExitCode = res.Outcome, res.Detail, res.Result, res.ExitCode
	rep.Error, rep.Output, rep.RetryAfter = res.Error, res.Output, res.RetryAfter
	if rep.Outcome == ledger.NotStarted && !res.Halt && e.lease.held() {
		rep.RetryAfter = max(rep.RetryAfter, time.Second)
	}
	out := ended{Report: rep, halt: res.Halt}
	if err := e.file.ended(rep, en.BizID); err != nil {
		out.failure = err
	}
	return out
}

// act runs the action under its timeout.
func (e *engine) act(en ledger.Entry, id string) (res Result) {
	ctx, cancel := e.acting(), context.CancelFunc(func() {})
	timeout := e.Task.Policy.TimeoutOf(en.Phase)
	if timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	}
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			res = Result{Outcome: ledger.FailedAttempt, Error: fmt.Sprintf("panic: %v", p), Output: string(debug.Stack())}
		}
	}()
	fields, err := Fields(en.Payload)
	if err != nil {
		return Result{Outcome: ledger.FailedForGood, Error: "its stored fields can't be read: " + err.Error()}
	}
	return e.actionOf(en.Phase).Act(ctx, Attempt{
		Record: Record{
			Key: en.Key, ID: id, RunID: e.sum.RunID, Number: number(en), Fence: en.Fence,
			Generation: en.Generation, IdempotencyKey: ledger.IdempotencyKey(e.Task.Namespace, en.Key, en.Generation),
			Fields: fields, Payload: en.Payload,
		},
		Timeout: timeout, Kill: e.Stop.kill,
		Started: func(pid int) {
			e.lease.group(id, pid)
			_ = e.file.pid(en, pid) // a failed write shows at the end line
		},
	})
}

// acting is the context of all attempts.
func (e *engine) acting() context.Context {
	if e.lease != nil {
		return e.lease.ctx
	}
	return e.Stop.ctx
}

func (e *engine) actionOf(p ledger.Phase) Action {
	switch p {
	case ledger.Check:
		return e.Task.Check
	case ledger.Compensate:
		return e.Task.Compensate
	default:
		return e.Task.Action
	}
}

// number is that of the attempt that is made, or asked about.
func number(en ledger.Entry) int {
	if en.Phase == ledger.Act {
		return en.Attempts + 1
	}
	return en.Attempts
}

// Fields gives the fields of a payload as text: strings as they are, the
// rest as it is written in the JSON.
func Fields(payload []byte) (map[string]string, error) {
	if payload == nil {
		return nil, nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(payload, &raw); err != nil {
		return nil, err
	}
	fields := make(map[string]string, len(raw))
	for name, v := range raw {
		v = bytes.TrimSpace(v)
		var s string
		if strings.HasPrefix(string(v), `"`) {
			if err := json.Unmarshal(v, &s); err != nil {
				return nil, err
			}
		} else {
			s = string(v)
		}
		fields[name] = s
	}
	return fields, nil
}
