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
	StartedAt time.Time // of the attempt
	Until     time.Time // where it can't be seen: taken for ended from then on; zero: never
}

// suspectProcess is a started attempt that may have outlived its runner.
type suspectProcess struct {
	id  string
	pid int // of its process group; 0 if it was never written down
}

// findProcesses looks for what is left of attempts: for each id that has a
// living process, the pid of one. blind tells that processes can't be seen
// from here at all.
var findProcesses = func(attempts []suspectProcess) (found map[string]int, blind bool) {
	group := make(map[string]int, len(attempts))
	groups := map[int]string{}
	for _, a := range attempts {
		group[a.id] = a.pid
		if a.pid != 0 {
			groups[a.pid] = a.id
		}
	}
	pids, err := process.Pids()
	if err != nil {
		return nil, true
	}
	found = map[string]int{}
	self := false
	for _, pid := range pids {
		p := &process.Process{Pid: pid}
		env, err := p.Environ()
		if int(pid) == os.Getpid() {
			self = err == nil
		}
		if errors.Is(err, fs.ErrPermission) {
			// somebody else's process in a group of ours: rather a survivor too many
			if id, ok := groups[groupOf(int(pid))]; ok && !zombie(p) {
				found[id] = int(pid)
			}
			continue
		}
		for _, v := range env {
			id, ok := strings.CutPrefix(v, attemptVar+"=")
			if !ok {
				continue
			}
			if g, asked := group[id]; asked && (g == 0 || g == groupOf(int(pid))) && !zombie(p) {
				found[id] = int(pid)
			}
			break
		}
	}
	return found, !self
}

func zombie(p *process.Process) bool {
	s, err := p.Status()
	return err == nil && len(s) > 0 && s[0] == process.Zombie
}
