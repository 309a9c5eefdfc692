package runner

import (
	"os"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"runner/ledger"
)

// host is what a run says of where it runs. Only boot and pidNS decide
// anything, and only how much of a journal can be believed.
type host struct {
	Name      string    `json:"host"`
	Boot      string    `json:"boot,omitempty"`   // empty where the system has none
	PIDNS     string    `json:"pid_ns,omitempty"` // in which its pids mean something
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
}

func thisHost() host {
	h := host{Boot: bootID(), PID: os.Getpid()}
	h.Name, _ = os.Hostname()
	h.PIDNS, _ = os.Readlink("/proc/self/ns/pid")
	if p, err := process.NewProcess(int32(h.PID)); err == nil {
		if ms, err := p.CreateTime(); err == nil {
			h.StartedAt = time.UnixMilli(ms).UTC()
		}
	}
	return h
}

// is tells whether a run was started here since the last boot, so that its
// file and its processes can be seen.
func (h host) is(run ledger.Run) bool {
	return h.Boot != "" && h.Boot == run.BootID && h.Name == run.Host
}

// sameBoot tells whether o is of the same boot of the same system, so that
// whatever a process of it wrote before it died can be read now.
func (h host) sameBoot(o host) bool { return h.Boot != "" && h.Boot == o.Boot }
