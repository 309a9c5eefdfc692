package tasks

import "runner/tasks/internal/decode"

// What follows is runner.yaml as it is written. The tags are all that is said
// about a key: the decoder, the JSON Schema and docs/configuration.md are made
// from them.

// configFile is the whole file.
type configFile struct {
	Ledger       string               `yaml:"ledger" default:".runner/ledger.db beside the file" jsonschema_description:"Where it is kept what was done: a file, or postgres://user:password@host/database. ${NAME} is replaced by that environment variable."`
	Lease        Duration             `yaml:"lease" default:"30s" jsonschema_description:"With a ledger on PostgreSQL: after so long without a sign of life a run counts as dead and others take over what it held. Its own actions are ended before. 14s at least: renewed at a third of it, it must leave time to end them."`
	Namespace    string               `yaml:"namespace" jsonschema_description:"Goes into idempotency keys. Set it where two projects write to one business database."`
	CreateLedger bool                 `yaml:"create_ledger" default:"true" jsonschema_description:"With false a missing ledger is an error (exit 7) instead of a new or an empty one, whatever the command."`
	TimeZone     string               `yaml:"timezone" default:"the system's" jsonschema_description:"In which today is meant, such as Asia/Shanghai or UTC."`
	Databases    decode.Map[string]   `yaml:"databases" jsonschema_description:"Addresses of business databases by name, for sql. ${NAME} is replaced by that environment variable; passwords are masked everywhere."`
	Tasks        decode.Map[taskFile] `yaml:"tasks" jsonschema:"required" jsonschema_description:"The tasks by name; at least one."`
}

// taskFile is one task. The value of each kind of action lies in the field of
// that name.
type taskFile struct {
	Description       string             `yaml:"description" jsonschema_description:"What the task is for, in listings."`
	Records           recordsFile        `yaml:"records" default:"one record a date, with the biz_id -" jsonschema_description:"Where its records come from."`
	Run               []string           `yaml:"run" jsonschema:"minItems=1" jsonschema_description:"A program and its arguments. It is looked up beside this file, then in PATH. Arguments may hold {{.biz_id}}, {{.execute_date}}, {{.fields.NAME}}, {{.task_name}}, {{.generation}} and {{.idempotency_key}}."`
	Shell             string             `yaml:"shell" jsonschema_description:"A script for sh. The record comes as \"$1\", $RUNNER_BIZ_ID, $RUNNER_EXECUTE_DATE and $RUNNER_FIELD_NAME, never by a template."`
	Go                string             `yaml:"go" jsonschema_description:"The name of a Go function that is built in."`
	HTTP              httpFile           `yaml:"http" jsonschema_description:"An HTTP request, see http."`
	SQL               sqlFile            `yaml:"sql" jsonschema_description:"Statements in one transaction of a database, see sql. With its guard the effect is exactly once."`
	Env               decode.Map[string] `yaml:"env" jsonschema_description:"Environment variables of commands, added to those of runner."`
	Dir               string             `yaml:"dir" default:"that of the file" jsonschema_description:"The folder in which the command runs."`
	Stdin             choice             `yaml:"stdin" default:"nothing" jsonschema:"enum=json" jsonschema_description:"What the command reads on stdin: the whole record as JSON."`
	Idempotent        bool               `yaml:"idempotent" default:"false" jsonschema_description:"Repeating the action is harmless, so an attempt whose outcome is unknown is repeated."`
	Check             probeFile          `yaml:"check" jsonschema_description:"Tells whether the effect of a record is there. A program and its arguments, as for run (exit 0: it is there, 1: it isn't, 2: half of it is, any other can't tell), or a section, see check and compensate. It is asked when the outcome of an attempt is unknown, and changes nothing."`
	CheckAfter        Duration           `yaml:"check_after" default:"0s; for go and http the timeout" jsonschema_description:"How long after an attempt its effect may still appear: so long a check isn't believed that it is absent. To be given with a timeout of 0."`
	CheckFirst        bool               `yaml:"check_first" default:"false" jsonschema_description:"The check is asked before a first attempt too; what is there already is done."`
	CheckTimeout      Duration           `yaml:"check_timeout" default:"1m" jsonschema_description:"How long the check may take; after that it can't tell."`
	Compensate        probeFile          `yaml:"compensate" jsonschema_description:"Undoes half an effect, once for each attempt: a program and its arguments, as for run, or a section, see check and compensate. Then the check is asked again. Needs a check."`
	CompensateTimeout Duration           `yaml:"compensate_timeout" default:"1m" jsonschema_description:"How long the compensation may take; after that the record stays in doubt."`
	Jobs              int                `yaml:"jobs" default:"the number of CPUs" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"How many records are worked on at once."`
	Timeout           Duration           `yaml:"timeout" default:"1h" jsonschema_description:"How long one attempt may take; 0 is no limit."`
	Retry             retryFile          `yaml:"retry" jsonschema_description:"How a failed record is tried again."`
	Rate              rate               `yaml:"rate" default:"no limit" jsonschema_description:"How many attempts may start in a second, a minute or an hour, such as 50/s, 100/m or 1000/h."`
	MaxFailures       tolerance          `yaml:"max_failures" default:"no limit" jsonschema_description:"The run halts when more attempts than this ended failed or in doubt: a number, or a share such as 5%, which is judged after 20 attempts."`
	Overlap           choice             `yaml:"overlap" default:"join" jsonschema:"enum=join,enum=skip,enum=fail" jsonschema_description:"What a run does while another one works on the same task and date: share the records, leave them (exit 0), or fail (exit 5)."`
	MaxWait           Duration           `yaml:"max_wait" default:"10m" jsonschema_description:"A run that would wait longer than this for its next record ends (exit 5)."`
	ExitCodes         exitCodesFile      `yaml:"exit_codes" jsonschema_description:"What exit codes of the command mean. 0 is done, others are a failed attempt."`
	KeepOutput        choice             `yaml:"keep_output" default:"failed" jsonschema:"enum=failed,enum=all,enum=none" jsonschema_description:"Of which attempts the output of the command is kept; failed is all that did not succeed."`
	Needs             []needFile         `yaml:"needs" jsonschema_description:"Tasks of this file that must be complete (all records done or skipped) for the same execute date before this one runs; else the run is blocked (exit 6) and nothing is started. Dates before the other task's schedule_since aren't needed. A name, or a section, see needs."`
	Schedule          cron               `yaml:"schedule" jsonschema_description:"When the task should run, as cron writes it, such as 0 2 * * *, in the time zone above. Nothing is started by it: runner gaps, status and doctor tell the dates that never ran, and run --catch-up runs them."`
	ScheduleDate      daysBack           `yaml:"schedule_date" default:"today" jsonschema_description:"The execute date that such a run is for, seen from its day: today, yesterday or a number of days back such as -2d."`
	ScheduleSince     calendarDate       `yaml:"schedule_since" default:"the first date in the ledger" jsonschema_description:"The first execute date that should have run, such as 2026-11-01."`
	OnFailure         []string           `yaml:"on_failure" jsonschema:"minItems=1" jsonschema_description:"A program and its arguments, looked up as for run, that is run in the folder of this file once after a run whose exit code is not 0. See hooks."`
	OnSuccess         []string           `yaml:"on_success" jsonschema:"minItems=1" jsonschema_description:"The same after a run that leaves all its dates complete."`
	HookTimeout       Duration           `yaml:"hook_timeout" default:"1m" jsonschema_description:"How long on_failure and on_success may take."`
	Secrets           []string           `yaml:"secrets" jsonschema_description:"Names of environment variables whose values are written as ***."`
	Keep              days               `yaml:"keep" default:"for ever" jsonschema_description:"How long batches stay in the ledger, such as 90d: runner ledger archive moves older ones, seen by their execute date, into files. Nothing is archived by itself."`
	AllowEmpty        bool               `yaml:"allow_empty" default:"false" jsonschema_description:"An input without records is right, as it is for a query of what is still open; else it is an error (exit 2)."`
}

// probeFile is a check or a compensation. A list stands for its run.
type probeFile struct {
	Run  []string     `yaml:"run" decode:"list" jsonschema:"minItems=1" jsonschema_description:"A program and its arguments, as for run of a task."`
	HTTP httpFile     `yaml:"http" jsonschema_description:"An HTTP request, see http. A check is a GET: 2xx says that the effect is there, 404 and 410 that it isn't, anything else can't tell. A compensation is well with 2xx."`
	SQL  sqlProbeFile `yaml:"sql" jsonschema_description:"A query or statements, see sql of check and compensate."`
}

// needFile is another task that must be complete. A name stands for its task.
type needFile struct {
	Task   string   `yaml:"task" decode:"list" jsonschema:"required" jsonschema_description:"The name of the other task."`
	Offset daysBack `yaml:"offset" default:"today" jsonschema_description:"The execute date on which it must be complete, seen from that of this task: -1d is the day before."`
}

// recordsFile says where records come from. The value of each kind of source
// lies in the field of that name.
type recordsFile struct {
	Lines   string           `yaml:"lines" jsonschema_description:"A file with one biz_id a line. Its path may hold {{.execute_date}}; - is stdin."`
	CSV     string           `yaml:"csv" jsonschema_description:"A CSV file (RFC 4180) with a header, one record a row. Path as for lines."`
	JSONL   string           `yaml:"jsonl" jsonschema_description:"A file with one JSON object a line. Numbers keep their text. Path as for lines."`
	Command []string         `yaml:"command" jsonschema:"minItems=1" jsonschema_description:"A program and its arguments, which may hold {{.execute_date}}. What it prints on stdout is the input. If it fails, nothing runs."`
	Glob    string           `yaml:"glob" jsonschema_description:"A pattern with *, ? and [a-z]; one record a file. The biz_id is the path as the pattern writes it, the fields are path (absolute) and name. May hold {{.execute_date}}."`
	HTTP    httpSourceFile   `yaml:"http" jsonschema_description:"What a GET of a URL answers, see records: http."`
	SQL     sqlSourceFile    `yaml:"sql" jsonschema_description:"A query of a database, see sql of records. One record a row; columns are fields."`
	Format  choice           `yaml:"format" default:"lines" jsonschema:"enum=lines,enum=csv,enum=jsonl" jsonschema_description:"What a command prints."`
	BizID   decode.OneOrMany `yaml:"biz_id" default:"biz_id" jsonschema_description:"The column of a csv or sql, or the member of a jsonl, that identifies a record; several are joined by ':', with ':' and '\\' in them escaped."`
}

type retryFile struct {
	Attempts   int      `yaml:"attempts" default:"3" jsonschema:"minimum=1" jsonschema_description:"How often a record is started, at most, the first time included."`
	Backoff    Duration `yaml:"backoff" default:"1s" jsonschema_description:"The wait before the second attempt; doubles each time, with full jitter."`
	MaxBackoff Duration `yaml:"max_backoff" default:"1m, or backoff if that is longer" jsonschema_description:"The longest such wait."`
	MaxLater   Duration `yaml:"max_later" default:"24h" jsonschema_description:"For how long a record may ask to be tried later before it counts as failed."`
}

type exitCodesFile struct {
	Noop      []int `yaml:"noop" jsonschema:"minimum=1,maximum=255" jsonschema_description:"Done, because there was nothing to do."`
	Permanent []int `yaml:"permanent" jsonschema:"minimum=1,maximum=255" jsonschema_description:"Failed for good: not tried again."`
	Later     []int `yaml:"later" default:"[75]" jsonschema:"minimum=1,maximum=255" jsonschema_description:"Not now: the whole task pauses for at least the retry_after that the command wrote to $RUNNER_RESULT, or 30s (up to a tenth longer, so that not all come back at once); not counted as an attempt."`
}
