//go:build unix

package tasks

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

func init() {
	helpers["show"] = helpShow
	helpers["cat"] = helpCat
	helpers["exit"] = helpExit
	helpers["flood"] = helpFlood
	helpers["hang"] = helpHang
	helpers["leave"] = helpLeave
	helpers["result"] = helpResult
	helpers["fds"] = helpFDs
}

// helpShow prints arguments, folder and the variables of runner on stdout.
func helpShow(args []string) int {
	dir, _ := os.Getwd()
	fmt.Printf("%q in %s\n", args, dir)
	for _, kv := range os.Environ() {
		ofTests := strings.HasPrefix(kv, "RUNNER_TEST_") || strings.HasPrefix(kv, "RUNNER_REQUIRE_")
		if strings.HasPrefix(kv, "RUNNER_") && !ofTests || strings.HasPrefix(kv, "SHOW_") {
			fmt.Println(kv)
		}
	}
	return 0
}

func helpCat([]string) int {
	n, err := io.Copy(os.Stdout, os.Stdin)
	fmt.Printf("[%d bytes, %v]\n", n, err)
	return 0
}

// helpExit prints the other arguments on stderr and exits with the first.
func helpExit(args []string) int {
	for _, a := range args[1:] {
		fmt.Fprintln(os.Stderr, a)
	}
	code, _ := strconv.Atoi(args[0])
	return code
}

// helpFlood prints that many MiB on both outputs.
func helpFlood(args []string) int {
	n, _ := strconv.Atoi(args[0])
	block := []byte(strings.Repeat("0123456789abcde\n", 64<<10))
	for range n {
		os.Stdout.Write(block)
		os.Stderr.Write(block)
	}
	fmt.Fprintln(os.Stderr, "the end")
	return 1
}

// helpHang says on the FIFO that it is ready, and waits for a signal, after
// which it exits as told; with "never" it takes no notice of TERM.
func helpHang(args []string) int {
	ch := make(chan os.Signal, 1)
	if args[1] != "default" {
		signal.Notify(ch, syscall.SIGTERM)
	}
	fmt.Fprintln(os.Stderr, "hanging")
	ready(args[0])
	<-ch
	if args[1] == "never" {
		ready(args[0])
		select {}
	}
	code, _ := strconv.Atoi(args[1])
	return code
}

func ready(fifo string) {
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err == nil {
		fmt.Fprintln(f, os.Getpid())
		f.Close()
	}
}

// helpLeave leaves a process behind that holds the outputs open, once that
// process is ready, and exits with the first argument.
func helpLeave(args []string) int {
	c := exec.Command(os.Args[0], args[1:]...)
	c.Env = append(os.Environ(), helperVariable+"=hang")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	alive, w, _ := os.Pipe()
	c.ExtraFiles = []*os.File{w}
	if err := c.Start(); err != nil {
		return 98
	}
	w.Close()
	_ = alive
	// Ready comes from the child to the test, which lets us go on.
	if f, err := os.Open(args[1] + ".go"); err == nil {
		f.Close()
	}
	code, _ := strconv.Atoi(args[0])
	return code
}

func helpResult(args []string) int {
	if err := os.WriteFile(os.Getenv("RUNNER_RESULT"), []byte(strings.Join(args[1:], "\n")), 0o666); err != nil {
		return 97
	}
	code, _ := strconv.Atoi(args[0])
	return code
}

// helpFDs prints the files that it inherited.
func helpFDs([]string) int {
	for fd := range 256 {
		var st syscall.Stat_t
		if flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0); errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			if syscall.Fstat(fd, &st) == nil {
				fmt.Print(fd, " ")
			}
		}
	}
	return 0
}
