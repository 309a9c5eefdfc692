package cmd

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"runner/ledger"
)

// recordJSON is a record as JSON and CSV show it. Its names are an interface:
// they only grow.
type recordJSON struct {
	TaskName       string          `json:"task_name"`
	BizID          string          `json:"biz_id"`
	ExecuteDate    string          `json:"execute_date"`
	Status         ledger.Status   `json:"status"`
	Detail         string          `json:"detail"`
	Result         string          `json:"result"`
	Attempts       int             `json:"attempts"`
	Generation     int             `json:"generation"`
	Fence          int64           `json:"fence"`
	RunID          string          `json:"run_id"`
	StartedAt      stamp           `json:"started_at"`
	EndedAt        stamp           `json:"ended_at"`
	NotBefore      stamp           `json:"not_before"`
	ExitCode       *int            `json:"exit_code"`
	Error          string          `json:"error"`
	Payload        json.RawMessage `json:"payload"`
	IdempotencyKey string          `json:"idempotency_key"`
}

func newRecord(e ledger.Entry, namespace string) recordJSON {
	return recordJSON{
		TaskName: e.TaskName, BizID: e.BizID, ExecuteDate: e.ExecuteDate,
		Status: e.Status, Detail: e.Detail, Result: e.Result,
		Attempts: e.Attempts, Generation: e.Generation, Fence: e.Fence, RunID: e.RunID,
		StartedAt: stamp{e.StartedAt}, EndedAt: stamp{e.EndedAt}, NotBefore: stamp{e.NotBefore},
		ExitCode: e.ExitCode, Error: e.Error, Payload: payloadJSON(e.Payload),
		IdempotencyKey: ledger.IdempotencyKey(namespace, e.Key, e.Generation),
	}
}

// payloadJSON keeps the text of a payload; nil becomes null.
func payloadJSON(b []byte) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	if !json.Valid(b) { // written by another hand: still give valid JSON
		b, _ = encodeJSON(string(b))
	}
	return json.RawMessage(bytes.TrimSpace(b))
}

// stamp is an instant: RFC 3339 UTC with milliseconds in JSON, null when
// never; local where people read it.
type stamp struct{ time.Time }

const stampLayout = "2006-01-02T15:04:05.000Z"

// MarshalJSON implements json.Marshaler.
func (s stamp) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + s.UTC().Format(stampLayout) + `"`), nil
}

// in is the instant in a zone, empty when never.
func (s stamp) in(loc *time.Location) string {
	if s.IsZero() {
		return ""
	}
	return s.Time.In(loc).Format(time.RFC3339)
}

// exitText is an exit code for people, empty where there is none.
func exitText(code *int) string {
	if code == nil {
		return ""
	}
	return strconv.Itoa(*code)
}
