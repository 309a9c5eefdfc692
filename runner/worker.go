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
		e.workers.Go(e.worker)
	}
}

func (e *engine) stopWorkers() {
	close(e.work)
	e.workers.Wait()
}

// worker makes one attempt after the other: into the journal, act, into the
// journal. The end of one is written and told together with the start of the
// next, if that is at hand.
func (e *engine) worker() {
	journal := pen{file: e.file}
	var last ended
	told := true
	tell := func(err error) {
		if !told {
			last.failure, told = err, true
			e.ended <- last
		}
	}
	for {
		en, ok := ledger.Entry{}, false
		select {
		case en, ok = <-e.work:
		default:
			tell(journal.flush())
			en, ok = <-e.work
		}
		switch {
		case !ok:
			tell(journal.flush())
			return
		case e.Stop.Asked():
			tell(journal.flush())
			e.ended <- ended{Report: notStarted(en)}
			continue
		}
		id := attemptID(e.sum.RunID, en)
		if !e.lease.begin(id) {
			tell(journal.flush())
			e.ended <- ended{Report: notStarted(en)}
			continue
		}
		at := e.led.Now()
		err := journal.start(en, at)
		tell(err)
		if err != nil {
			e.lease.ended(id)
			e.ended <- ended{Report: notStarted(en), failure: err}
			continue
		}
		last, told = e.attempt(en, id, at), false
		journal.end(last.Report, en.BizID)
	}
}

// attempt makes one attempt, which the journal knows to be started.
func (e *engine) attempt(en ledger.Entry, id string, at time.Time) ended {
	rep := notStarted(en)
	rep.StartedAt = at
	res := Result{Outcome: ledger.NotStarted}
	if e.lease.held() {
		res = e.act(en, id)
	}
	e.lease.ended(id)
	rep.EndedAt = e.led.Now()
	rep.Outcome, rep.Detail, rep.Result, rep.ExitCode = res.Outcome, res.Detail, res.Result, res.ExitCode
	rep.Error, rep.Output, rep.RetryAfter = res.Error, res.Output, res.RetryAfter
	if rep.Outcome == ledger.NotStarted && !res.Halt && e.lease.held() {
		rep.RetryAfter = max(rep.RetryAfter, time.Second)
	}
	return ended{Report: rep, halt: res.Halt}
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
