//go:build unix

package runner

import (
	"context"
	"syscall"
	"time"
)

// EndSurvivors ends what is left of attempts whose runners died: politely, and
// by force what is still there after KillAfter. Only process groups in which
// a process of the attempt was seen are touched. It gives those that remain.
func EndSurvivors(ctx context.Context, survivors []Survivor) (remain []Survivor) {
	signal := func(list []Survivor, sig syscall.Signal) {
		for _, s := range list {
			if s.Group > 1 {
				_ = syscall.Kill(-s.Group, sig) // it may just have ended
			}
		}
	}
	signal(survivors, syscall.SIGTERM)
	if remain = waitForEnd(ctx, survivors, KillAfter); len(remain) == 0 {
		return nil
	}
	signal(remain, syscall.SIGKILL)
	return waitForEnd(ctx, remain, KillAfter)
}

// waitForEnd looks until nothing is left, or time is up.
func waitForEnd(ctx context.Context, survivors []Survivor, limit time.Duration) (remain []Survivor) {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		remain = remain[:0:0]
		for _, s := range survivors {
			if s.Group > 1 && syscall.Kill(-s.Group, 0) == nil && groupAlive(s.Group) {
				remain = append(remain, s)
			}
		}
		if len(remain) == 0 || time.Now().After(deadline) {
			return remain
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return remain
		}
	}
}
