package ledgertest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"runner/ledger"
)

// The suite starts the test binary again, with these set, where it needs
// processes.
const (
	envJob  = "LEDGERTEST_JOB"
	envDir  = "LEDGERTEST_DIR"
	envName = "LEDGERTEST_NAME"
)

var hasMain bool // whether TestMain calls Main

// Main is the body of a store's TestMain. In a child process of the suite it
// does the child's job, else it runs the tests; it doesn't return.
func Main(m *testing.M, open func(dir string) (ledger.Store, error)) {
	job := os.Getenv(envJob)
	if job == "" {
		hasMain = true
		os.Exit(m.Run())
	}
	if err := child(job, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(job string, open func(dir string) (ledger.Store, error)) error {
	s, err := open(os.Getenv(envDir))
	if err != nil {
		return err
	}
	switch name := os.Getenv(envName); job {
	case "claim":
		n, err := claimAll(s, name, 20)
		if err != nil {
			return err
		}
		fmt.Println(n)
	case "create":
		if err := planOne(s, name); err != nil {
			return err
		}
		fmt.Println(s.ID())
	case "hang":
		return hang(s)
	default:
		return fmt.Errorf("unknown job %q", job)
	}
	return s.Close()
}

func planOne(s ledger.Store, id string) error {
	return s.Update(context.Background(), func(tx ledger.Tx) error {
		b := ledger.Batch{TaskName: task, ExecuteDate: date, CreatedAt: now}
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		_, err := tx.Insert(b.ID, inputs(id))
		return err
	})
}

// hang stops in the middle of a transaction that has written a lot, and waits
// to be killed.
func hang(s ledger.Store) error {
	return s.Update(context.Background(), func(tx ledger.Tx) error {
		b := ledger.Batch{TaskName: "killed", ExecuteDate: date}
		if err := tx.PutBatch(&b); err != nil {
			return err
		}
		if _, err := tx.Insert(b.ID, inputs(serial("k", 5000)...)); err != nil {
			return err
		}
		kept, err := tx.List(ledger.Query{TaskName: task})
		if err != nil {
			return err
		}
		if err := tx.Swap([]ledger.Change{{Old: kept[0], New: claimed(kept[0], "killed")}}); err != nil {
			return err
		}
		fmt.Println("written")
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // the parent holds the other end
		return nil
	})
}

// command is the test binary, about to do a job on the fixture's folder.
func (f *fixture) command(job, name string) *exec.Cmd {
	f.Helper()
	if !hasMain {
		f.Skip("TestMain doesn't call ledgertest.Main")
	}
	exe, err := os.Executable()
	f.check(err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envJob+"="+job, envDir+"="+f.dir, envName+"="+name)
	return cmd
}

// together starts n processes and gives what each printed.
func (f *fixture) together(job string, n int) []string {
	f.Helper()
	cmds := make([]*exec.Cmd, n)
	outs := make([]bytes.Buffer, n)
	errs := make([]bytes.Buffer, n)
	for i := range cmds {
		cmds[i] = f.command(job, fmt.Sprint("process-", i))
		cmds[i].Stdout, cmds[i].Stderr = &outs[i], &errs[i]
		f.check(cmds[i].Start())
	}
	said := make([]string, n)
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			f.Errorf("process %d: %v: %s", i, err, errs[i].String())
		}
		said[i] = strings.TrimSpace(outs[i].String())
	}
	if f.Failed() {
		f.FailNow()
	}
	return said
}

func claimsAmongProcesses(f *fixture) {
	b := f.batch(task, date)
	ids := serial("r", 300)
	f.plan(b, ids...)
	total := 0
	for _, said := range f.together("claim", 4) {
		var n int
		_, err := fmt.Sscan(said, &n)
		f.check(err)
		total += n
	}
	f.claimedOnce(b, total, len(ids))
}

func createAmongProcesses(f *fixture) {
	f.check(f.s.Close())
	f.dir = f.TempDir() // where there is no ledger yet
	said := f.together("create", 8)
	f.s = f.again()
	for i, id := range said {
		f.equal(fmt.Sprint("the ledger's id in process ", i), id, f.s.ID())
	}
	f.equal("pending", f.batch(task, date).Counts, ledger.Counts{ledger.Pending: int64(len(said))})
}

func killedWriter(f *fixture) {
	e := f.plan(f.batch(task, date), "kept")[0]
	cmd := f.command("hang", "")
	in, err := cmd.StdinPipe()
	f.check(err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	f.check(err)
	f.check(cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	f.equal("the child's line", line, "written\n")
	f.check(err)
	f.check(cmd.Process.Kill())
	_ = cmd.Wait() // it was killed: that is the point

	f.view(func(r ledger.Reader) error {
		list, err := r.Batches("killed", "")
		f.equal("batches of the killed process", len(list), 0)
		return err
	})
	f.equal("the record it was changing", f.get(e.ID), e)
	f.equal("counts", f.batch(task, date).Counts, ledger.Counts{ledger.Pending: 1})
	f.swap(ledger.Change{Old: e, New: claimed(e, "run-1")}) // nothing of its locks is left
}
