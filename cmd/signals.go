package cmd

import (
	"os"
	"os/signal"
	"syscall"

	"runner/runner"
)

// caughtFunc gives the first signal that was caught; nil if none was.
type caughtFunc func() os.Signal

// watchSignals turns signals into requests to stop, harder each time.
func (a *app) watchSignals() (stop *runner.Stop, caught caughtFunc, done func()) {
	stop = runner.NewStop(runner.DefaultGrace)
	sigs := make(chan os.Signal, 3)
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup: stays ignored
		signal.Notify(sigs, syscall.SIGHUP)
	}
	first := make(chan os.Signal, 1)
	ended := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case s := <-sigs:
				if n == 1 {
					first <- s
				}
				stop.Ask()
				a.sayStop(n, s)
			case <-ended:
				return
			}
		}
	}()
	var got os.Signal
	caught = func() os.Signal {
		select {
		case got = <-first:
		default:
		}
		return got
	}
	return stop, caught, func() {
		signal.Stop(sigs)
		close(ended)
		stop.Close()
	}
}

func (a *app) sayStop(n int, s os.Signal) {
	switch n {
	case 1:
		a.p.note("%s: nothing more is started; what runs may finish within %s (again: end it now)", s, runner.DefaultGrace)
	case 2:
		a.p.note("%s: ending what runs (again: kill it)", s)
	default:
		a.p.note("%s: killing what runs", s)
	}
}
