//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

func peakMemory(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) * 1024
}
