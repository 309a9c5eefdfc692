package cmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"runner/ledger"
	"runner/ledger/archive"
	"runner/runner"
	"runner/tasks"
)

// Exit codes. They are an interface: scripts and schedulers branch on them.
const (
	exitOK      = 0
	exitFailed  = 1 // some records failed, in this run or earlier; or anything unforeseen
	exitUsage   = 2 // usage, configuration or input is wrong; nothing was executed
	exitInDoubt = 3 // records in doubt need a person
	exitHalted  = 4 // by max_failures, or by an action that can't be started
	exitBusy    = 5 // others hold records, or records wait for a later time
	exitBlocked = 6 // a task that this one needs is not complete
	exitLedger  = 7 // the ledger can't be used
	exitHUP     = 128 + 1
	exitINT     = 128 + 2
	exitTERM    = 128 + 15
)

// outcomeFacts is what decides the exit code of a run on one date.
type outcomeFacts struct {
	LedgerError bool      // the ledger can't be used, or an outcome could not be recorded
	Signal      os.Signal // that interrupted the run
	Usage       bool      // usage, configuration or input is wrong
	Halted      bool
	Blocked     bool
	Busy        bool
	Waiting     bool
	InDoubt     int64 // records of the scope
	Failed      int64 // records of the scope
}

// codeOf decides over all dates of a run: the first that applies to any.
func codeOf(results []outcomeFacts) int {
	var all outcomeFacts
	for _, f := range results {
		all.merge(f)
	}
	switch {
	case all.LedgerError:
		return exitLedger
	case all.Signal != nil:
		return codeOfSignal(all.Signal)
	case all.Usage:
		return exitUsage
	case all.Halted:
		return exitHalted
	case all.Blocked:
		return exitBlocked
	case all.Busy || all.Waiting:
		return exitBusy
	case all.InDoubt > 0:
		return exitInDoubt
	case all.Failed > 0:
		return exitFailed
	}
	return exitOK
}

func (f *outcomeFacts) merge(g outcomeFacts) {
	f.LedgerError = f.LedgerError || g.LedgerError
	if f.Signal == nil {
		f.Signal = g.Signal
	}
	f.Usage = f.Usage || g.Usage
	f.Halted = f.Halted || g.Halted
	f.Blocked = f.Blocked || g.Blocked
	f.Busy = f.Busy || g.Busy
	f.Waiting = f.Waiting || g.Waiting
	f.InDoubt += g.InDoubt
	f.Failed += g.Failed
}

func codeOfSignal(s os.Signal) int {
	switch s {
	case syscall.SIGHUP:
		return exitHUP
	case syscall.SIGTERM:
		return exitTERM
	}
	return exitINT
}

// codeOfError maps what a command returned.
func codeOfError(err error) int {
	var (
		sig      *signalError
		unusable *ledger.UnusableError
		refused  *ledger.RefusedError
		reported *errReported
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &reported):
		return reported.code
	case errors.As(err, &unusable), errors.Is(err, ledger.ErrNoLedger):
		return exitLedger
	case errors.Is(err, archive.ErrBusy):
		return exitBusy
	case errors.As(err, &sig):
		return codeOfSignal(sig.sig)
	case isUsage(err):
		return exitUsage
	case errors.As(err, &refused):
		if refused.Busy {
			return exitBusy
		}
		return exitUsage
	}
	return exitFailed
}

func isUsage(err error) bool {
	var (
		usage  *usageError
		config *tasks.ConfigError
		place  *runner.PlaceError
		task   *tasks.HintError
		ids    *ledger.UnknownIDsError
		file   *archive.FileError
	)
	return errors.Is(err, ledger.ErrSealed) || errors.As(err, &file) || errors.As(err, &usage) || errors.As(err, &config) || errors.As(err, &place) || errors.As(err, &task) || errors.As(err, &ids)
}

// signalError says that a signal ended a command.
type signalError struct{ sig os.Signal }

func (e *signalError) Error() string { return "interrupted: " + e.sig.String() }

// interruptible ends ctx at the first signal, with a signalError as its
// cause. It is for commands that only read; a run drains instead.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(sigs, syscall.SIGHUP)
	}
	go func() {
		select {
		case s := <-sigs:
			signal.Stop(sigs) // the next one kills
			cancel(&signalError{sig: s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(sigs); cancel(nil) }
}

// causeOf gives the signal that is behind a cancelled ctx, else err itself.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
