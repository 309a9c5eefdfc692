package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"runner/ledger"
	"runner/runner"
	"runner/tasks"
)

func TestErrorsAndTheirExitCodes(t *testing.T) {
	unusable := &ledger.UnusableError{Path: "x", Why: "it is damaged"}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("unforeseen"), 1},
		{usagef("no"), 2},
		{withHint(usagef("no"), "yes"), 2},
		{fmt.Errorf("wrapped: %w", usagef("no")), 2},
		{&tasks.ConfigError{}, 2},
		{&tasks.HintError{Msg: "no task"}, 2},
		{&runner.PlaceError{Name: "ids.txt", Line: 3}, 2},
		{&ledger.UnknownIDsError{}, 2},
		{&ledger.RefusedError{}, 2},
		{&ledger.RefusedError{Busy: true}, 5},
		{unusable, 7},
		{withHint(fmt.Errorf("open: %w", unusable), "mend it"), 7},
		{ledger.ErrNoLedger, 7},
		{errors.Join(usagef("no"), unusable), 7},
		{&signalError{os.Interrupt}, 130},
		{&signalError{syscall.SIGTERM}, 143},
		{&signalError{syscall.SIGHUP}, 129},
		{errors.Join(&signalError{os.Interrupt}, unusable), 7},
	} {
		if got := codeOfError(c.err); got != c.want {
			t.Errorf("%v: exit %d, want %d", c.err, got, c.want)
		}
	}
}

func TestRunsAndTheirExitCodes(t *testing.T) {
	for _, c := range []struct {
		name  string
		facts outcomeFacts
		want  int
	}{
		{"complete", outcomeFacts{}, 0},
		{"failed", outcomeFacts{Failed: 1}, 1},
		{"usage", outcomeFacts{Usage: true, Failed: 1}, 2},
		{"in doubt beats failed", outcomeFacts{InDoubt: 1, Failed: 9}, 3},
		{"halted beats what is left", outcomeFacts{Halted: true, InDoubt: 1, Busy: true}, 4},
		{"busy beats in doubt", outcomeFacts{Busy: true, InDoubt: 1}, 5},
		{"waiting", outcomeFacts{Waiting: true, Failed: 1}, 5},
		{"blocked beats busy", outcomeFacts{Blocked: true, Busy: true}, 6},
		{"the ledger beats a signal", outcomeFacts{LedgerError: true, Signal: os.Interrupt}, 7},
		{"a signal beats usage", outcomeFacts{Signal: os.Interrupt, Usage: true, Halted: true}, 130},
		{"terminated", outcomeFacts{Signal: syscall.SIGTERM}, 143},
		{"hung up", outcomeFacts{Signal: syscall.SIGHUP}, 129},
	} {
		if got := codeOf([]outcomeFacts{{}, c.facts}); got != c.want {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.want)
		}
	}
}

// Over several dates the first code of the contract's table wins, whichever
// date it comes from.
func TestTheFirstCodeThatAppliesToAnyDateWins(t *testing.T) {
	order := []int{7, 130, 143, 129, 2, 4, 6, 5, 3, 1, 0}
	single := map[int]outcomeFacts{
		7: {LedgerError: true}, 130: {Signal: os.Interrupt}, 143: {Signal: syscall.SIGTERM}, 129: {Signal: syscall.SIGHUP},
		2: {Usage: true}, 4: {Halted: true}, 6: {Blocked: true}, 5: {Busy: true}, 3: {InDoubt: 2}, 1: {Failed: 3}, 0: {},
	}
	rapid.Check(t, func(t *rapid.T) {
		codes := rapid.SliceOf(rapid.SampledFrom(order)).Draw(t, "codes")
		want, signal := 0, 0
		var results []outcomeFacts
		for _, c := range codes {
			if c > 128 {
				if signal != 0 && signal != c {
					continue // a run is interrupted by one signal
				}
				signal = c
			}
			results = append(results, single[c])
			if slices.Index(order, c) < slices.Index(order, want) {
				want = c
			}
		}
		if got := codeOf(results); got != want {
			t.Fatalf("%v: exit %d, want %d", codes, got, want)
		}
	})
}

func TestASignalEndsAReadingCommand(t *testing.T) {
	ctx, stop := interruptible(context.Background())
	defer stop()
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Skip(err) // no such signals on this system
	}
	<-ctx.Done()
	if got := codeOfError(causeOf(ctx, ctx.Err())); got != exitTERM {
		t.Errorf("exit %d, want %d", got, exitTERM)
	}
}
