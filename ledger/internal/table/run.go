package table

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"runner/ledger"
)

// RunColumns are in the order that Run reads and RunValues gives them.
const RunColumns = `id, batch_id, task_name, execute_date, time_zone, command, host, boot_id, pid,
process_started_at, file, definition, digest, version, started_at, ended_at, result, exit_code,
n_planned, n_new, n_executed, n_pending, n_running, n_done, n_failed, n_in_doubt, n_skipped`

const runWidth = 27

// InsertRun takes over the row of a run that only a record named so far.
var InsertRun = `INSERT INTO run(` + RunColumns + `) VALUES (` + Placeholders(runWidth) + `)
ON CONFLICT (id) DO UPDATE SET (` + RunColumns + `) = (` + excluded(RunColumns) + `) WHERE run.batch_id IS NULL`

// UpdateRun takes the run's number after RunValues.
var UpdateRun = fmt.Sprintf(`UPDATE run SET (%s) = (%s) WHERE no = $%d`, RunColumns, Placeholders(runWidth), runWidth+1)

// RunValues are the values of RunColumns.
func RunValues(r *ledger.Run) []any {
	v := []any{
		r.ID, r.BatchID, OrNull(r.TaskName), OrNull(r.ExecuteDate), OrNull(r.TimeZone), OrNull(r.Command),
		OrNull(r.Host), OrNull(r.BootID), int64(r.PID), Micros(r.ProcessStartedAt), OrNull(r.File),
		Blob(r.Definition), OrNull(r.Digest), OrNull(r.Version), Micros(r.StartedAt), Micros(r.EndedAt),
		OrNull(r.Result), int64(r.ExitCode), r.Planned, r.New, r.Executed,
	}
	for _, n := range r.Counts {
		v = append(v, n)
	}
	return v
}

// Run reads no and RunColumns.
func Run(row []any) ledger.Run {
	r := ledger.Run{
		No:               Integer(row[0]),
		ID:               Str(row[1]),
		BatchID:          Integer(row[2]),
		TaskName:         Str(row[3]),
		ExecuteDate:      Str(row[4]),
		TimeZone:         Str(row[5]),
		Command:          Str(row[6]),
		Host:             Str(row[7]),
		BootID:           Str(row[8]),
		PID:              int(Integer(row[9])),
		ProcessStartedAt: Instant(row[10]),
		File:             Str(row[11]),
		Definition:       Bytes(row[12]),
		Digest:           Str(row[13]),
		Version:          Str(row[14]),
		StartedAt:        Instant(row[15]),
		EndedAt:          Instant(row[16]),
		Result:           Str(row[17]),
		ExitCode:         int(Integer(row[18])),
		Planned:          Integer(row[19]),
		New:              Integer(row[20]),
		Executed:         Integer(row[21]),
	}
	for i := range r.Counts {
		r.Counts[i] = Integer(row[22+i])
	}
	return r
}

// SelectRuns gives no, RunColumns and more columns of the runs that q selects.
func SelectRuns(q ledger.RunQuery, more ...string) (query string, args []any) {
	var w Where
	w.Add("batch_id IS NOT NULL")
	w.AddIf(q.ID != "", "id = ?", q.ID)
	w.AddIf(q.TaskName != "", "task_name = ?", q.TaskName)
	w.AddIf(q.ExecuteDate != "", "execute_date = ?", q.ExecuteDate)
	w.AddIf(q.OpenOnly, "ended_at IS NULL")
	w.AddIf(q.Before > 0, "no < ?", q.Before)
	if n := int64(utf8.RuneCountInString(q.IDPart)); n > 0 { // substr and length count characters
		w.Add("(substr(id, 1, ?) = ? OR substr(id, length(id) - ?) = ?)", n, q.IDPart, n-1, q.IDPart)
	}
	return "SELECT " + strings.Join(append([]string{"no", RunColumns}, more...), ", ") + " FROM run" + w.Text() + " ORDER BY no DESC" + Limit(q.Limit), w.Args
}

// Placeholders are $1 to $n.
func Placeholders(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, ", $%d", i)
	}
	return b.String()[2:]
}

func excluded(columns string) string {
	names := strings.FieldsFunc(columns, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	return "excluded." + strings.Join(names, ", excluded.")
}
