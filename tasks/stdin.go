package tasks

// ReadsStdin tells whether the task's own records come from stdin, which can
// be opened only once.
func (t *Task) ReadsStdin() bool {
	const stdin = "-"
	return t.records.Lines == stdin || t.records.CSV == stdin || t.records.JSONL == stdin
}
