package runner

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"runner/ledger"
)

// attemptVar names an attempt in the environment of whatever it starts.
const attemptVar = "RUNNER_ATTEMPT_ID"

// attemptID names an attempt: there is never another with this id.
func attemptID(runID string, e ledger.Entry) string { return ledger.AttemptID(runID, e.ID, e.Fence) }

// Survivor is what is left of an attempt whose runner died. Its record stays
// running until it has ended.
type Survivor struct {
	ledger.Key
	RecordID  int64
	RunID     string
	PID       int       // 0: can't be seen from here
	Group     int       // process group to end it by; 0 as PID
	StartedAt time.Time // of the attempt
	Due       time.Time // when its timeout should have ended it; zero: it has none
	Until     time.Time // where it can't be seen: taken for ended from then on; zero: never
}

// Overdue tells whether a survivor should have ended long ago: nobody is left
// to end it at its timeout.
func (s Survivor) Overdue(now time.Time) bool { return !s.Due.IsZero() && now.After(s.Due) }

// Leftover is a process of an attempt that left the attempt's process group,
// such as a daemon. It blocks nothing.
type Leftover struct {
	ledger.Key
	PID int
}

// suspectProcess is a started attempt that may have outlived its runner.
type suspectProcess struct {
	id  string
	pid int // of its process group; 0 if it was never written down
}

// processes is what was found of attempts.
type processes struct {
	alive map[string]member // of the attempt's group
	left  map[string]int    // by pid, in another one
	blind bool              // processes can't be seen from here at all
}

// member is a process of an attempt with its group as it was found: the process
// may have ended since, and others of the group go on.
type member struct{ pid, group int }

// findProcesses looks for what is left of attempts.
var findProcesses = func(attempts []suspectProcess) processes {
	group := make(map[string]int, len(attempts))
	groups := map[int]string{}
	for _, a := range attempts {
		group[a.id] = a.pid
		if a.pid != 0 {
			groups[a.pid] = a.id
		}
	}
	found := processes{alive: map[string]member{}, left: map[string]int{}, blind: true}
	pids, err := process.Pids()
	if err != nil {
		return found
	}
	for _, pid := range pids {
		p := &process.Process{Pid: pid}
		m := member{int(pid), groupOf(int(pid))}
		env, err := p.Environ()
		if int(pid) == os.Getpid() && err == nil {
			found.blind = false
		}
		if errors.Is(err, fs.ErrPermission) {
			// somebody else's process in a group of ours: rather a survivor too many
			if id, ok := groups[m.group]; ok && !zombie(p) {
				found.alive[id] = m
			}
			continue
		}
		id := attemptOf(env)
		g, asked := group[id]
		switch {
		case !asked || m.group == 0 || zombie(p):
		case g == 0 || g == m.group:
			found.alive[id] = m
		default:
			found.left[id] = int(pid)
		}
	}
	return found
}

// attemptOf is the attempt that an environment names; empty if it names none.
func attemptOf(env []string) string {
	for _, v := range env {
		if id, ok := strings.CutPrefix(v, attemptVar+"="); ok {
			return id
		}
	}
	return ""
}

// groupAlive tells whether a process group has a process that is no zombie.
func groupAlive(group int) bool {
	pids, err := process.Pids()
	if err != nil {
		return true
	}
	for _, pid := range pids {
		if groupOf(int(pid)) == group && !zombie(&process.Process{Pid: pid}) {
			return true
		}
	}
	return false
}

func zombie(p *process.Process) bool {
	s, err := p.Status()
	return err == nil && len(s) > 0 && s[0] == process.Zombie
}
