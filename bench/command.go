package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// command is a program to measure.
type command struct {
	dir   string // empty: the working directory
	stdin string // a file
	env   []string
	argv  []string
	delay time.Duration // added to each fsync
}

// usage is what a command took.
type usage struct {
	wall   time.Duration
	memory int64 // peak resident set in bytes; 0 where it isn't known
	out    []byte
}

// started is a command that runs.
type started struct {
	cmd         *exec.Cmd
	out, errors bytes.Buffer
	began       time.Time
}

func (b *bench) start(c command) (*started, error) {
	s := &started{cmd: exec.CommandContext(b.ctx, c.argv[0], c.argv[1:]...)}
	s.cmd.Dir = c.dir
	s.cmd.Env = append(append(os.Environ(), "RUNNER_CONFIG="+filepath.Join(b.base, "runner.yaml")), c.env...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.errors
	if c.stdin != "" {
		in, err := os.Open(c.stdin)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		s.cmd.Stdin = in
	}
	s.began = time.Now()
	if c.delay > 0 {
		return s, startSlow(s.cmd, c.delay)
	}
	return s, s.cmd.Start()
}

func (s *started) wait() (usage, error) {
	err := s.cmd.Wait()
	u := usage{wall: time.Since(s.began), memory: peakMemory(s.cmd.ProcessState), out: s.out.Bytes()}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(s.cmd.Args, " "), err, tail(s.out.Bytes()), tail(s.errors.Bytes()))
	}
	return u, err
}

func tail(text []byte) []byte { return text[max(0, len(text)-2000):] }

func (b *bench) do(c command) (usage, error) {
	s, err := b.start(c)
	if err != nil {
		return usage{}, err
	}
	return s.wait()
}

// ran is what runner says of a run with -o json.
type ran struct {
	Result   string `json:"result"`
	Planned  int    `json:"planned"`
	Executed int    `json:"executed"`
	Counts   struct {
		Done int `json:"done"`
	} `json:"counts"`
}

func (u usage) ran() (r ran, err error) {
	if err := json.Unmarshal(u.out, &r); err != nil {
		return r, fmt.Errorf("summary of the run: %w: %s", err, tail(u.out))
	}
	return r, nil
}

// expect checks that the command did what is to be measured.
func (u usage) expect(executed, done int) error {
	r, err := u.ran()
	if err == nil && (r.Result != "complete" || r.Executed != executed || r.Counts.Done != done) {
		err = errors.New("it was to execute " + fmt.Sprint(executed) + " and to have " + fmt.Sprint(done) + " done: " + string(tail(u.out)))
	}
	return err
}

// contender is one side of a comparison; run takes one measurement.
type contender struct {
	name string
	run  func() (usage, error)
}

// alternate lets the contenders run in turn, rounds times, and gives the
// seconds of each by name.
func (b *bench) alternate(rounds int, list ...contender) (map[string]series, error) {
	seconds := map[string]series{}
	for range rounds {
		for _, c := range list {
			u, err := c.run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			seconds[c.name] = append(seconds[c.name], u.wall.Seconds())
		}
	}
	return seconds, nil
}
