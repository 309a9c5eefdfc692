package archive

import (
	"encoding/json"
	"time"

	"runner/ledger"
)

// Head is the first line of a file.
type Head struct {
	Format      int              `json:"runner_archive"`
	Ledger      string           `json:"ledger"` // its id
	TaskName    string           `json:"task_name"`
	ExecuteDate string           `json:"execute_date"`
	Counts      map[string]int64 `json:"counts"`
	WrittenAt   time.Time        `json:"written_at"`
	Version     string           `json:"version"` // of the program
}

// end is the last line of a file: without it the file is cut off.
type end struct {
	End     bool  `json:"end"`
	Records int64 `json:"records"`
	Lines   int64 `json:"story_lines"`
}

// text is a string, or {"base64": …} where it isn't UTF-8.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return json.Unmarshal(b, (*string)(t))
	}
	var raw struct {
		Base64 []byte `json:"base64"`
	}
	err := json.Unmarshal(b, &raw)
	*t = text(raw.Base64)
	return err
}

type recordLine struct {
	End           bool            `json:"end"`
	ID            int64           `json:"id"`
	BizID         string          `json:"biz_id"`
	Status        ledger.Status   `json:"status"`
	Detail        text            `json:"detail"`
	Result        text            `json:"result"`
	Attempts      int             `json:"attempts"`
	Generation    int             `json:"generation"`
	Fence         int64           `json:"fence"`
	ActFence      int64           `json:"act_fence"`
	CompFence     int64           `json:"comp_fence"`
	Phase         ledger.Phase    `json:"phase"`
	RunID         text            `json:"run_id"`
	StartedAt     time.Time       `json:"started_at"`
	EndedAt       time.Time       `json:"ended_at"`
	NotBefore     time.Time       `json:"not_before"`
	Delay         int64           `json:"delay_ns"`
	LaterSince    time.Time       `json:"later_since"`
	AskFirst      bool            `json:"ask_first"`
	Suspect       bool            `json:"suspect"`
	ExitCode      *int            `json:"exit_code"`
	Error         text            `json:"error"`
	Payload       json.RawMessage `json:"payload"`
	PayloadBase64 *[]byte         `json:"payload_base64"`
	Story         []attemptLine   `json:"story"`
}

type attemptLine struct {
	Fence      int64         `json:"fence"`
	Phase      ledger.Phase  `json:"phase"`
	Status     ledger.Status `json:"status"`
	Generation int           `json:"generation"`
	Number     int           `json:"number"`
	RunID      text          `json:"run_id"`
	Actor      text          `json:"actor"`
	StartedAt  time.Time     `json:"started_at"`
	EndedAt    time.Time     `json:"ended_at"`
	Detail     text          `json:"detail"`
	Result     text          `json:"result"`
	ExitCode   *int          `json:"exit_code"`
	Error      text          `json:"error"`
	Output     text          `json:"output"`
	Late       text          `json:"late"`
	LateDetail text          `json:"late_detail"`
	LateAt     time.Time     `json:"late_at"`
}

func (l *recordLine) entry(h *Head) ledger.Entry {
	e := ledger.Entry{
		ID: l.ID, Key: ledger.Key{TaskName: h.TaskName, BizID: l.BizID, ExecuteDate: h.ExecuteDate}, Payload: l.Payload,
		Status: l.Status, Phase: l.Phase, Detail: string(l.Detail), Result: string(l.Result), Attempts: l.Attempts, Generation: l.Generation,
		Fence: l.Fence, ActFence: l.ActFence, CompFence: l.CompFence, RunID: string(l.RunID), NotBefore: l.NotBefore,
		Delay: time.Duration(l.Delay), LaterSince: l.LaterSince, AskFirst: l.AskFirst, Suspect: l.Suspect,
		StartedAt: l.StartedAt, EndedAt: l.EndedAt, ExitCode: l.ExitCode, Error: string(l.Error),
	}
	if l.PayloadBase64 != nil {
		e.Payload = *l.PayloadBase64
	}
	return e
}

func (a *attemptLine) attempt(record int64) ledger.Attempt {
	return ledger.Attempt{
		RecordID: record, Fence: a.Fence, Phase: a.Phase, Generation: a.Generation, Number: a.Number, RunID: string(a.RunID),
		Actor: string(a.Actor), StartedAt: a.StartedAt, EndedAt: a.EndedAt, Status: a.Status, Detail: string(a.Detail),
		Result: string(a.Result), ExitCode: a.ExitCode, Error: string(a.Error), Output: string(a.Output),
		Late: string(a.Late), LateDetail: string(a.LateDetail), LateAt: a.LateAt,
	}
}
