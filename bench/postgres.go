package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres is a server of this benchmark alone.
type postgres struct {
	address string
	cmd     *exec.Cmd
	b       *bench
	folder  string
}

// postgresBin is the folder of an installed server; empty: there is none.
func postgresBin() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is right
	slices.Sort(found)
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	path, err := exec.LookPath("postgres")
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return ""
	}
	return filepath.Dir(path)
}

// startPostgres starts a durable server. Where that can't be, it says why.
func (b *bench) startPostgres() (p *postgres, why string, err error) {
	bin := postgresBin()
	if bin == "" {
		return nil, "PostgreSQL is missing", nil
	}
	folder, err := b.work.make("pg")
	if err != nil {
		return nil, "", err
	}
	as := []string{}
	if os.Getuid() == 0 { // it refuses to run as root
		if as, why, err = asPostgres(b.work.root, folder); why != "" || err != nil {
			return nil, why, err
		}
	}
	data := filepath.Join(folder, "data")
	argv := append(slices.Clone(as), filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
	if _, err := b.do(command{dir: folder, argv: argv}); err != nil {
		return nil, "", err
	}
	argv = append(as, filepath.Join(bin, "postgres"), "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "max_wal_size=4GB", "-c", "shared_buffers=256MB")
	p = &postgres{cmd: exec.CommandContext(b.ctx, argv[0], argv[1:]...), b: b, folder: folder}
	p.cmd.Dir = folder
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	var log bytes.Buffer
	p.cmd.Stderr = &log
	p.address = "postgres://postgres@/postgres?" + url.Values{"host": {folder}, "sslmode": {"disable"}}.Encode()
	if err := p.cmd.Start(); err != nil {
		return nil, "", err
	}
	if err := p.await(); err != nil {
		return nil, "", errors.Join(err, p.stop(), errors.New(log.String()))
	}
	return p, "", nil
}

// asPostgres gives a folder, and the way to it, to the server's user.
func asPostgres(root, folder string) (as []string, why string, err error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, "there is no user postgres to run it", nil
	}
	var uid, gid int
	if _, err := fmt.Sscan(u.Uid+" "+u.Gid, &uid, &gid); err != nil {
		return nil, "", err
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return nil, "there is no setpriv to run it as another user", nil
	}
	as = []string{setpriv, "--reuid=" + u.Uid, "--regid=" + u.Gid, "--clear-groups"}
	return as, "", errors.Join(os.Chmod(root, 0o711), os.Chown(folder, uid, gid))
}

func (p *postgres) await() (err error) {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var c *pgx.Conn
		if c, err = pgx.Connect(context.Background(), p.address); err == nil {
			return c.Close(context.Background())
		}
	}
	return err
}

// stop ends the server at once.
func (p *postgres) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt) // else it is gone already
	_ = p.cmd.Wait()                       // its exit code says that it was told to
	return p.b.work.remove(p.folder)
}
