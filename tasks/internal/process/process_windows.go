package process

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// drainTime is how long an output that others keep open is read after the
// process has ended.
const drainTime = 200 * time.Millisecond

// statusControlC is the exit code of a process that CTRL_BREAK ended.
const statusControlC = 0xC000013A

type platform struct {
	proc  *os.Process
	job   windows.Handle // holds the whole tree; 0 if there is none
	out   [2]*os.File
	state *os.ProcessState
}

// Start starts a process. Its errors are those that Classify knows.
func Start(s *Spec) (*Process, error) {
	p := &Process{}
	var write [2]*os.File
	var err error
	for i := range write {
		if p.out[i], write[i], err = os.Pipe(); err != nil {
			return nil, err
		}
		defer write[i].Close()
	}
	p.proc, err = os.StartProcess(s.Path, s.Argv, &os.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: []*os.File{s.Stdin, write[0], write[1]},
		Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP},
	})
	if err != nil {
		p.out[0].Close()
		p.out[1].Close()
		return nil, err
	}
	p.Pid = p.proc.Pid
	p.job = jobOf(p.Pid)
	return p, nil
}

// jobOf puts a process into a job object of its own.
func jobOf(pid int) windows.Handle {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, h)
		windows.CloseHandle(h)
	}
	if err != nil {
		windows.CloseHandle(job)
		return 0
	}
	return job
}

// pump reads until the process has ended, and a little longer.
func (p *Process) pump(h Handling) {
	var mu sync.Mutex
	var readers sync.WaitGroup
	for i, f := range p.out {
		readers.Go(func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := f.Read(buf)
				mu.Lock()
				h.Read(i, buf[:n])
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	p.state, _ = p.proc.Wait()
	cut := time.AfterFunc(drainTime, func() {
		p.out[0].Close()
		p.out[1].Close()
	})
	readers.Wait()
	if cut.Stop() {
		p.out[0].Close()
		p.out[1].Close()
	}
}

func (p *Process) exited() bool { return false }

func (p *Process) reap() Exit {
	if p.state == nil {
		return Exit{Code: -1, Signal: "unknown"}
	}
	code := p.state.ExitCode()
	if p.killed || uint32(code) == statusControlC {
		return Exit{Code: -1, Signal: "terminated"}
	}
	return Exit{Code: code}
}

func (p *Process) signalGroup(kill bool) {
	switch {
	case !kill:
		windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid))
	case p.job != 0:
		windows.TerminateJobObject(p.job, 1)
	default:
		p.proc.Kill()
	}
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	times                                [4]int64
	faults, total, active, terminatedNum uint32
}

func (p *Process) groupAlive() bool {
	if p.job == 0 {
		return false
	}
	var info accounting
	err := windows.QueryInformationJobObject(p.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil || info.active == 0 {
		p.Release()
		return false
	}
	return true
}

// Release lets go of what is left of a process that succeeded.
func (p *Process) Release() {
	if p.job != 0 {
		windows.CloseHandle(p.job)
		p.job = 0
	}
}

// Classify says what an error of Start means.
func Classify(err error) Failure {
	switch {
	case errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE):
		return TooLong
	case errors.Is(err, syscall.EINVAL):
		return Invalid
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission), errors.Is(err, windows.ERROR_BAD_EXE_FORMAT):
		return Vanished
	}
	return Busy
}

// HideFiles does nothing: handles are inherited only where a program asks.
func HideFiles() {}
