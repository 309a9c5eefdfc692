package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// machine is where it was measured.
type machine struct {
	cores      int
	kernel, fs string
	fsync      series // milliseconds
	load       string // before
	after      string
	day        string
}

func look(dir string) (machine, error) {
	m := machine{cores: runtime.NumCPU(), kernel: text("uname", "-sr"), fs: fileSystem(dir), load: load(), day: time.Now().UTC().Format(time.DateOnly)}
	var err error
	m.fsync, err = fsyncs(dir)
	return m, err
}

func (m *machine) end() { m.after = load() }

func (m machine) String() string {
	s := fmt.Sprintf("%s, %d cores, %s/%s, %s, %s, fsync of 4 KiB %.2f ms, load %s", m.day, m.cores, runtime.GOOS, runtime.GOARCH, m.kernel, m.fs, m.fsync.median(), m.load)
	if m.after != "" {
		s += " before and " + m.after + " after"
	}
	return s + ", " + runtime.Version()
}

func text(argv ...string) string {
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		return argv[0] + " unknown"
	}
	return strings.TrimSpace(string(out))
}

func fileSystem(dir string) string {
	words := strings.Fields(text("df", "-PT", dir))
	if i := slices.Index(words, "on"); i >= 0 && i+2 < len(words) {
		return words[i+2] // after the heading: device, type
	}
	return "file system unknown"
}

func load() string {
	all, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(all), " ")
	return first
}

// fsyncs appends a page and syncs it, as a commit does.
func fsyncs(dir string) (ms series, err error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	page := make([]byte, 4096)
	for range 200 {
		if _, err := f.Write(page); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := f.Sync(); err != nil {
			return nil, err
		}
		ms = append(ms, float64(time.Since(began).Microseconds())/1000)
	}
	return ms, nil
}
