//go:build unix

package dbtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// keeper is the shell that holds a server. It starts and stops it as it is
// told, and stops it for good, by its pid, when nobody is there to tell.
const keeper = `dir=$1 last=$2; shift 2
start() { "$@" >>"$dir/log" 2>&1 </dev/null & pid=$!; }
stop() { kill -"$1" "$pid"; wait "$pid"; }
start "$@"
while read -r word; do
	case $word in
	start) case $(ps -o stat= -p "$pid" 2>/dev/null) in '' | Z*) start "$@" ;; esac ;;
	*) stop "$word" ;;
	esac
	echo "$word"
done
stop "$last"
cd / && rm -rf "$dir"`

// server is a database server of this test process.
type server struct {
	dir  string
	last string // the signal that ends it for good
	args []string
	ping func() error

	mu   sync.Mutex
	tell io.WriteCloser
	said *bufio.Reader
	done func() error
}

// makeDir makes a folder for a server and gives its owner: the test's own
// user, or, as servers refuse to run as root, another one. Its path is short:
// a socket's has at most 107 bytes.
func makeDir(name, as string) (dir string, owner *syscall.Credential, err error) {
	base := os.TempDir()
	if len(base) > 60 || os.Getuid() == 0 { // root's own may be closed to others
		base = "/tmp"
	}
	if dir, err = os.MkdirTemp(base, name); err != nil || os.Getuid() != 0 {
		return dir, nil, err
	}
	u, err := user.Lookup(as)
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return dir, nil, err
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32) // numbers, on Unix
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return dir, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}

// as prepares a command to run as the folder's owner.
func (s *server) as(owner *syscall.Credential, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "HOME="+s.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner, Setsid: true}
	return cmd
}

// running keeps servers from being collected: with one, the pipe to its
// keeper would be closed.
var running sync.Map

// run starts the server and waits until it answers.
func (s *server) run(owner *syscall.Credential) error {
	cmd := s.as(owner, "/bin/sh", append([]string{"-c", keeper, "keeper", s.dir, s.last}, s.args...)...)
	tell, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.tell, s.said, s.done = tell, bufio.NewReader(said), cmd.Wait
	running.Store(s, true)
	return s.await()
}

// again starts a server that was ended. It refuses as long as something is
// left of what was killed.
func (s *server) again() error {
	for range 10 {
		if err := s.order("start"); err != nil {
			return err
		}
		if s.answers(3*time.Second) == nil {
			return nil
		}
	}
	return s.await()
}

// answers waits until the server answers.
func (s *server) answers(d time.Duration) (err error) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = s.ping(); err == nil {
			return nil
		}
	}
	return err
}

func (s *server) await() error {
	err := s.answers(30 * time.Second)
	if err == nil {
		return nil
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return errors.Join(fmt.Errorf("%s doesn't answer: %w", s.args[0], err), s.end(), errors.New(string(log)))
}

// order tells the keeper something and waits until it is done.
func (s *server) order(word string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Fprintln(s.tell, word); err != nil {
		return err
	}
	line, err := s.said.ReadString('\n')
	if err == nil && strings.TrimSpace(line) != word {
		err = fmt.Errorf("the keeper of %s said %q instead of %q", s.args[0], line, word)
	}
	return err
}

// end stops the server for good, and removes its folder.
func (s *server) end() error {
	running.Delete(s)
	return errors.Join(s.tell.Close(), s.done())
}
