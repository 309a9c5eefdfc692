package watchdog

import (
	"fmt"
	"strconv"
	"strings"
)

// The messages of a runner to its watchdog, a line each.
const (
	deadlineMsg = "d" // steady wall: nothing may act from then on
	beginMsg    = "b" // attempt: it may act from now on, in the runner
	groupMsg    = "g" // attempt pid: it acts in that process group instead
	endMsg      = "e" // attempt: it acts no more
	quitMsg     = "q" // the run is over: leave in peace
)

// message is a decoded line.
type message struct {
	kind     string
	attempt  string
	pid      int
	deadline Instant
}

func decode(line string) (m message, err error) {
	f := strings.Fields(line)
	want := map[string]int{deadlineMsg: 3, beginMsg: 2, groupMsg: 3, endMsg: 2, quitMsg: 1}
	if len(f) == 0 || len(f) != want[f[0]] {
		return m, fmt.Errorf("watchdog: unknown message %q", line)
	}
	m.kind = f[0]
	switch m.kind {
	case deadlineMsg:
		if m.deadline.Steady, err = strconv.ParseInt(f[1], 10, 64); err == nil {
			m.deadline.Wall, err = strconv.ParseInt(f[2], 10, 64)
		}
	case groupMsg:
		m.attempt = f[1]
		m.pid, err = strconv.Atoi(f[2])
		if err == nil && m.pid < 2 {
			err = fmt.Errorf("watchdog: no process group: %d", m.pid)
		}
	case beginMsg, endMsg:
		m.attempt = f[1]
	}
	return m, err
}
