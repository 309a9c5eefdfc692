//go:build unix

package tasks

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/output"
)

func TestOutputIsKeptAsAsked(t *testing.T) {
	for _, c := range []struct {
		keep, code, output string
	}{
		{"", "0", ""}, {"", "1", "text\n"}, {keepFailed, "0", ""}, {keepFailed, "1", "text\n"},
		{keepAll, "0", "text\n"}, {keepAll, "1", "text\n"}, {keepNone, "0", ""}, {keepNone, "1", ""},
	} {
		a := helperAction(t, "exit", c.code, "text")
		a.spec.KeepOutput = c.keep
		r := act(t, a)
		if r.Output != c.output || (c.code == "1" && r.Error != "exit status 1: text") {
			t.Errorf("%s %s: output %q, error %q", c.keep, c.code, r.Output, r.Error)
		}
	}
}

// Case 18: 5 GB of output took the runner's memory.
func TestFloodOfOutputIsCut(t *testing.T) {
	var before, after runtime.MemStats
	a := helperAction(t, "flood", "64")
	runtime.ReadMemStats(&before)
	r := act(t, a)
	runtime.ReadMemStats(&after)
	if d := after.TotalAlloc - before.TotalAlloc; d > 16<<20 {
		t.Errorf("128 MiB of output allocated %d bytes", d)
	}
	if !strings.HasSuffix(r.Output, "the end\n") || !strings.Contains(r.Output, " bytes left out …") || len(r.Output) > 17<<10 {
		t.Errorf("%d bytes kept: …%q", len(r.Output), r.Output[max(0, len(r.Output)-100):])
	}
	wantOutcome(t, r, ledger.FailedAttempt, "exit status 1: 0123456789abcde\n0123456789abcde\nthe end")
}

// Case 50: secrets in captured output.
func TestSecretsAreMaskedEverywhere(t *testing.T) {
	a := helperAction(t, "exit", "3", "token is s3cr3t-token.", "")
	a.mask = output.NewMasker([]string{"s3cr3t-token"})
	r := act(t, a)
	if r.Error != "exit status 3: token is ***." || r.Output != "token is ***.\n\n" {
		t.Errorf("got %q, %q", r.Error, r.Output)
	}
	a = helperAction(t, "result", "0", "result=s3cr3t-token!")
	a.mask = output.NewMasker([]string{"s3cr3t-token"})
	if r := act(t, a); r.Result != "***!" {
		t.Errorf("got %q", r.Result)
	}
	a = helperAction(t, "show", "s3cr3t-token {{.fields.nope}}")
	a.mask = output.NewMasker([]string{"s3cr3t-token"})
	if r := act(t, a); strings.Contains(r.Error, "s3cr3t") {
		t.Errorf("got %q", r.Error)
	}
}

func TestResultFileIsRead(t *testing.T) {
	for _, c := range []struct {
		code   string
		lines  []string
		result string
		err    string
	}{
		{"0", nil, "", ""},
		{"0", []string{"result=first", "result=a=b ", "later=1"}, "a=b ", ""},
		{"4", []string{"result=x\r"}, "x", "exit status 4"},
		{"0", []string{"result=" + strings.Repeat("优", 2000)}, strings.Repeat("优", 1364) + "…", ""},
		{"0", []string{"result=\xff"}, "\ufffd", ""},
		{"1", []string{"retry_after=30s"}, "", "exit status 1"},
		{"0", []string{"retry_after=x"}, "", ""},
	} {
		a := helperAction(t, "result", append([]string{c.code}, c.lines...)...)
		r := act(t, a)
		if r.Result != c.result || r.Error != c.err || len(r.Result) > runner.MaxResult {
			t.Errorf("%q: got %q, error %q", c.lines, r.Result, r.Error)
		}
		if left, _ := os.ReadDir(a.scratch.dir); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if st, err := os.Stat(a.scratch.dir); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("folder: %v, %v", st, err)
		}
	}
}

func TestResultThatIsNoFileHoldsNothingUp(t *testing.T) {
	dir := t.TempDir()
	a := newAction(t, commandSpec{Script: `mkfifo "$RUNNER_RESULT"`, Base: dir, Dir: dir})
	wantOutcome(t, act(t, a), ledger.Succeeded, "RUNNER_RESULT can't be read: it is no file")
}
