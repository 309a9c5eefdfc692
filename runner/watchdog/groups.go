//go:build unix

package watchdog

import (
	"slices"
	"strings"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"
)

// attemptVar names an attempt in the environment of whatever it starts.
const attemptVar = "RUNNER_ATTEMPT_ID="

// groupsOf finds the process groups of attempts by their environment.
func groupsOf(attempts map[string]bool) (groups []int) {
	if len(attempts) == 0 {
		return nil
	}
	pids, err := process.Pids()
	if err != nil {
		return nil
	}
	for _, pid := range pids {
		env, err := (&process.Process{Pid: pid}).Environ()
		if err != nil {
			continue // somebody else's, or it has ended
		}
		for _, v := range env {
			id, ok := strings.CutPrefix(v, attemptVar)
			if !ok || !attempts[id] {
				continue
			}
			if g, err := syscall.Getpgid(int(pid)); err == nil && g > 1 && !slices.Contains(groups, g) {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// alive tells whether a group has a process that is no zombie.
func alive(group int) bool {
	if syscall.Kill(-group, 0) == syscall.ESRCH {
		return false
	}
	pids, err := process.Pids()
	if err != nil {
		return true
	}
	for _, pid := range pids {
		g, err := syscall.Getpgid(int(pid))
		if err != nil || g != group {
			continue
		}
		status, err := (&process.Process{Pid: pid}).Status()
		if err != nil || !slices.Contains(status, process.Zombie) {
			return true
		}
	}
	return false
}
