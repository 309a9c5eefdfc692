//go:build unix

package dbtest

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// EnvMariaDB is the socket of the MariaDB that tests use as root, without a
// password, where one runs already.
const EnvMariaDB = "RUNNER_TEST_MARIADB"

var maria struct {
	sync.Mutex
	socket string
}

// MySQL says how to reach a database of a test.
type MySQL struct {
	DSN    string // as the driver go-sql-driver/mysql reads it
	URL    string // mysql://user@host:port/name
	Socket string
	Name   string
}

// MariaDB gives a new, empty database, which is dropped when the test ends.
func MariaDB(t testing.TB) MySQL {
	t.Helper()
	maria.Lock()
	defer maria.Unlock()
	if maria.socket == "" {
		maria.socket = os.Getenv(EnvMariaDB)
	}
	if maria.socket == "" {
		maria.socket = startMariaDB(t, "--innodb-flush-log-at-trx-commit=0").Socket()
		check(t, os.Setenv(EnvMariaDB, maria.socket)) // for the children of this process
	}
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), databases.Add(1))
	check(t, mariaExec(maria.socket, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"))
	t.Cleanup(func() { check(t, mariaExec(maria.socket, "DROP DATABASE "+name)) })
	p := NewProxy(t, "unix", maria.socket)
	return MySQL{
		DSN:    mariaDSN(maria.socket, name),
		URL:    "mysql://root@" + p.Address() + "/" + name,
		Socket: maria.socket,
		Name:   name,
	}
}

func mariaDSN(socket, name string) string {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "unix", socket, name
	return c.FormatDSN()
}

func mariaExec(socket, statement string) error {
	db, err := sql.Open("mysql", mariaDSN(socket, ""))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(statement)
	return err
}

// MariaDBServer is a server for one test, which may kill it.
type MariaDBServer struct{ s *server }

// StartMariaDB starts a server for one test alone. What it has committed
// outlives it.
func StartMariaDB(t testing.TB) *MariaDBServer {
	t.Helper()
	m := startMariaDB(t, "--innodb-flush-log-at-trx-commit=2")
	t.Cleanup(func() { check(t, m.s.end()) })
	return m
}

// Kill kills the server.
func (m *MariaDBServer) Kill(t testing.TB) {
	t.Helper()
	check(t, m.s.order("KILL"))
}

// Restart starts the server after Kill, and waits until it answers.
func (m *MariaDBServer) Restart(t testing.TB) {
	t.Helper()
	check(t, m.s.again())
}

// Socket is the path of the socket that the server listens on.
func (m *MariaDBServer) Socket() string { return filepath.Join(m.s.dir, "s.sock") }

// Database makes a database, which goes with the server.
func (m *MariaDBServer) Database(t testing.TB, name string) MySQL {
	t.Helper()
	check(t, mariaExec(m.Socket(), "CREATE DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"))
	return MySQL{DSN: mariaDSN(m.Socket(), name), URL: "mysql://root@localhost/" + name + "?socket=" + m.Socket(), Socket: m.Socket(), Name: name}
}

func startMariaDB(t testing.TB, settings ...string) *MariaDBServer {
	t.Helper()
	install, err1 := exec.LookPath("mariadb-install-db")
	daemon, err2 := lookDaemon("mariadbd")
	if err1 != nil || err2 != nil {
		missing(t, "MariaDB is not installed: apt-get install mariadb-server")
	}
	dir, owner, err := makeDir("maria", "mysql")
	check(t, err)
	s := &server{dir: dir, last: "KILL"} // a clean stop takes seconds, for nothing
	data := filepath.Join(dir, "data")
	cmd := s.as(owner, install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v: %s", err, out)
	}
	socket := filepath.Join(dir, "s.sock")
	s.args = []string{daemon, "--no-defaults", "--datadir=" + data, "--socket=" + socket, "--pid-file=" + filepath.Join(dir, "pid"),
		"--skip-networking", "--skip-name-resolve", "--skip-log-bin",
		"--innodb-buffer-pool-size=32M", "--character-set-server=utf8mb4"}
	s.args = append(s.args, settings...)
	s.ping = func() error { return mariaExec(socket, "DO 1") }
	check(t, mysql.SetLogger(&mysql.NopLogger{})) // pings fail until it is up
	check(t, s.run(owner))
	return &MariaDBServer{s}
}

// lookDaemon finds a program that may lie where ordinary users don't look.
func lookDaemon(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return exec.LookPath(filepath.Join("/usr/sbin", name))
}
