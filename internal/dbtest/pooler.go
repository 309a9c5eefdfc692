//go:build unix

package dbtest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PgBouncer starts a pooler in front of a server, for one test. It pools
// transactions: two of one client may meet two sessions of the server.
func PgBouncer(t testing.TB, at string) (address string) {
	t.Helper()
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		bin, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		missing(t, "pgbouncer is not installed: apt-get install pgbouncer")
	}
	c, err := pgx.ParseConfig(at)
	check(t, err)
	dir, owner, err := makeDir("pool", "postgres")
	check(t, err)
	ini, users := filepath.Join(dir, "ini"), filepath.Join(dir, "users")
	check(t, os.WriteFile(users, []byte(fmt.Sprintf("%q \"\"\n", c.User)), 0o644))
	check(t, os.WriteFile(ini, []byte(fmt.Sprintf(`[databases]
* = host=%s port=%d
[pgbouncer]
unix_socket_dir = %s
listen_port = 6432
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 5
max_client_conn = 500
`, c.Host, c.Port, dir, users)), 0o644))
	s := &server{dir: dir, last: "INT", args: []string{bin, "-q", ini}}
	q := url.Values{"host": {dir}, "port": {"6432"}, "sslmode": {"disable"}}
	address = fmt.Sprintf("postgres://%s@/%s?%s", c.User, c.Database, q.Encode())
	s.ping = pinging(address)
	check(t, s.run(owner))
	t.Cleanup(func() { check(t, s.end()) })
	return address
}
