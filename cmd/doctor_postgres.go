package cmd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"runner/ledger"
	"runner/ledger/postgres"
)

// checkPostgres looks at a ledger on PostgreSQL.
func (d *doctor) checkPostgres(ctx context.Context) error {
	d.checkRunDir()
	o := postgres.Options{Version: programVersion(), RunsDir: d.where.runsDir}
	err := postgres.Examine(ctx, d.where.ledger, o, func(h postgres.Health, s *postgres.Store) error {
		d.ok("server", "PostgreSQL %s", h.Server)
		d.checkServer(h)
		if s == nil {
			return nil
		}
		return d.checkWork(ctx, ledger.New(s), s.RunsDir())
	})
	if err != nil && ctx.Err() == nil {
		d.badLedger("ledger", err)
		return nil
	}
	return err
}

func (d *doctor) checkServer(h postgres.Health) {
	at := d.where.shown()
	switch {
	case h.Schema > h.Known:
		d.bad("schema", noLedgerUse, "use the runner that wrote it, or a newer one", "version %d, and this program has %d", h.Schema, h.Known)
		return
	case h.Exists && h.Schema < h.Known:
		d.warn("schema", "the next run brings it up to date; so does runner ledger migrate", "version %d, and this program has %d: nothing more can be looked at", h.Schema, h.Known)
		return
	case h.Exists:
		d.ok("ledger", "%s", at)
		d.ok("schema", "version %d", h.Schema)
	case d.where.config != nil && !d.where.config.CreateLedger:
		d.bad("ledger", noLedgerUse, "name another one, or once: runner ledger migrate", "there is none at %s, and create_ledger is false", at)
		return
	case !h.MayCreate:
		d.bad("ledger", noLedgerUse, "once, as a role that may: runner ledger migrate", "there is none at %s, and this role may not make tables there", at)
		return
	default:
		d.ok("ledger", "there is none at %s yet; the first run makes it", at)
	}
	switch {
	case h.Standby:
		d.bad("writable", noLedgerUse, "name the primary, or all hosts with ?target_session_attrs=read-write", "the server is a standby, which can only be read")
	case len(h.Missing) > 0:
		d.bad("writable", noLedgerUse, "as the owner of the tables: GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA … TO …",
			"this role may not %s", strings.Join(h.Missing, ", "))
	case len(h.NoArchive) > 0:
		d.warn("writable", "fine where it doesn't archive; else, as the owner of the tables: GRANT DELETE ON record, attempt, output TO …",
			"by this role, but runner ledger archive won't work: it may not %s", strings.Join(h.NoArchive, ", "))
	default:
		d.ok("writable", "by this role")
	}
	d.checkClocks(h)
}

// checkClocks compares this host's clock, by which today is a date, with the
// server's, by which runs wait and are alive.
func (d *doctor) checkClocks(h postgres.Health) {
	now := d.a.now().In(d.where.zone).Format(time.RFC3339) + " (" + d.where.zoneName + ")"
	if off := h.ClockAhead.Abs(); off > maxAhead+h.ClockWithin {
		d.warn("clock", "set this host's clock right: today is one of its dates", "%s, and the server's is %s off", now, off.Round(time.Second))
		return
	}
	d.ok("clock", "%s, as the server's", now)
}

// checkRunDir looks at the folder of this host's run files, or at where it
// would be made.
func (d *doctor) checkRunDir() {
	dir := d.where.runsDir
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	if err := folderWritable(dir); err != nil {
		d.bad("run files", noLedgerUse, "check its owner and mode, or name another folder: --run-dir DIR", "%s", err.Error())
		return
	}
	d.checkRoom(dir, 0)
}
