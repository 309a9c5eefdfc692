package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"runner/ledger"
	"runner/runner"
)

// maxCases is how many records a JUnit file tells by name: those who read it
// hold all of it in memory, and so do we.
const maxCases = 1000

// writeJUnit writes a suite for each task and date: a case for the run as a
// whole, and one for each record of it that isn't done.
func (n *notices) writeJUnit(ctx context.Context) error {
	all := junit.Testsuites{Name: "runner"}
	left := maxCases
	for _, r := range n.results {
		suite, err := n.suite(ctx, r, &left)
		if err != nil {
			return err
		}
		suite.ID = len(all.Suites)
		all.AddSuite(suite)
	}
	return replaceFile(n.junit, all.WriteXML)
}

func (n *notices) suite(ctx context.Context, r notice, left *int) (junit.Testsuite, error) {
	s := junit.Testsuite{Name: xmlText(strings.TrimSpace(r.TaskName + " " + r.ExecuteDate)), Time: secondsText(r.row.DurationMS)}
	if !r.StartedAt.IsZero() {
		s.SetTimestamp(r.StartedAt)
	}
	for _, p := range []struct{ name, value string }{
		{"run_id", r.RunID}, {"task_name", r.TaskName}, {"execute_date", r.ExecuteDate}, {"time_zone", r.TimeZone}, {"result", string(r.Result)},
		{"planned", fmt.Sprint(r.Planned)}, {"executed", fmt.Sprint(r.Executed)},
	} {
		s.AddProperty(p.name, xmlText(p.value))
	}
	for _, st := range ledger.Statuses {
		s.AddProperty(st.String(), fmt.Sprint(r.Counts[st]))
	}
	s.AddTestcase(runCase(r, s.Name))
	told, err := n.cases(ctx, r, &s, left)
	if open := r.Counts.Total() - r.Counts[ledger.Done]; err == nil && open > told {
		s.SystemOut = &junit.Output{Data: fmt.Sprintf("%d of %d records that are not done are left out of this file; runner ledger ls --task %s --date %s lists them",
			open-told, open, xmlText(shellWord(r.TaskName)), r.ExecuteDate)}
	}
	return s, err
}

// runCase is the run as a whole: it fails where it didn't get to its end.
// Records that failed or are in doubt have cases of their own.
func runCase(r notice, class string) junit.Testcase {
	c := junit.Testcase{Name: "run", Classname: class, Time: secondsText(r.row.DurationMS), Status: string(r.Result)}
	switch codeOf([]outcomeFacts{r.facts}) {
	case exitOK, exitFailed, exitInDoubt:
		return c
	}
	message := strings.ReplaceAll(string(r.Result), "_", " ")
	if r.Counts.Total() > 0 {
		message += ": " + countWords(r.row.Counts)
	}
	if why := r.row.why(); why != "" {
		message += ": " + why
	}
	c.Failure = &junit.Result{Message: xmlText(oneLine(message)), Type: string(r.Result), Data: xmlText(sentence(r.row))}
	return c
}

// cases adds the records that aren't done, and says how many.
func (n *notices) cases(ctx context.Context, r notice, s *junit.Testsuite, left *int) (told int64, err error) {
	if r.Counts.Total() == r.Counts[ledger.Done] || r.Result == runner.LedgerError {
		return 0, nil
	}
	led, err := n.a.openReader(ctx, n.where)
	if err != nil {
		return 0, err
	}
	defer led.Close() // it was only read
	for e, err := range led.Each(ctx, ledger.Query{
		TaskName: r.TaskName, ExecuteDate: r.ExecuteDate, Limit: reportPage,
		Statuses: []ledger.Status{ledger.Failed, ledger.InDoubt, ledger.Pending, ledger.Running, ledger.Skipped},
	}) {
		switch {
		case err != nil:
			return told, err
		case !r.Holds(e.ID):
			continue
		case *left == 0:
			return told, nil
		}
		*left--
		told++
		s.AddTestcase(recordCase(e, s.Name))
	}
	return told, nil
}

func recordCase(e ledger.Entry, class string) junit.Testcase {
	c := junit.Testcase{Name: xmlText(e.BizID), Classname: class, Status: e.Status.String()}
	if !e.StartedAt.IsZero() && e.EndedAt.After(e.StartedAt) {
		c.Time = secondsText(e.EndedAt.Sub(e.StartedAt).Milliseconds())
	}
	first, _, _ := strings.Cut(e.Error, "\n")
	why := strings.ReplaceAll(e.Status.String(), "_", " ")
	if first != "" {
		why += ": " + first
	}
	res := &junit.Result{
		Message: xmlText(why), Type: e.Status.String(),
		Data: xmlText(fmt.Sprintf("attempts: %d\nexit code: %s\n%s", e.Attempts, exitText(e.ExitCode), e.Error)),
	}
	switch e.Status {
	case ledger.Failed:
		c.Failure = res
	case ledger.InDoubt:
		c.Error = res
	default:
		c.Skipped = res
	}
	return c
}

// xmlText makes text that XML can hold: line ends stay, all else that is no
// character of a text is escaped.
func xmlText(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.Map(xmlRune, visible(l))
	}
	return strings.Join(lines, "\n")
}

// xmlRune replaces the few characters that are none in XML.
func xmlRune(r rune) rune {
	if r == 0xFFFE || r == 0xFFFF {
		return '\uFFFD'
	}
	return r
}

func secondsText(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64) }

// replaceFile writes a file that others read: whole, or as it was.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // unless it was renamed
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
