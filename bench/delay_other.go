//go:build !linux

package main

import (
	"errors"
	"os/exec"
	"time"
)

func startSlow(*exec.Cmd, time.Duration) error {
	return errors.New("an fsync can be made slow only on Linux")
}
