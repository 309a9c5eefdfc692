package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"runner/ledger"
	"runner/ledger/postgres"
	"runner/ledger/sqlite"
)

const (
	bigLedger = 1 << 30  // reading all of it takes a while
	bigWAL    = 64 << 20 // four times what is folded into the ledger as a rule
)

// checkLedger looks at the ledger from outside, and then into it.
func (d *doctor) checkLedger(ctx context.Context) error {
	if postgres.Is(d.where.ledger) {
		return d.checkPostgres(ctx)
	}
	at := sqlite.Survey(d.where.ledger)
	refused := at.Network != nil && !d.a.flags.networkFS
	switch {
	case refused:
		d.badLedger("file system", at.Network)
	case at.Network != nil:
		d.warn("file system", "put it on a local disk", "it lies on a network file system, where locks may lie")
	case at.Err == nil:
		d.ok("file system", "local")
	}
	switch {
	case at.Err != nil && sqlite.Denied(at.Err) && len(at.Unwritable) > 0:
		d.checkRights(at) // knows more of it
		return nil
	case at.Err != nil:
		d.badLedger("ledger", at.Err)
		return nil
	}
	fit := d.checkExists(at)
	d.checkRights(at)
	d.checkRoom(at.Folder, at.WALSize)
	if refused || !fit {
		return nil
	}
	return d.open(ctx, at)
}

// open looks into the ledger.
func (d *doctor) open(ctx context.Context, at sqlite.Site) error {
	if !d.o.fast && at.Size+at.WALSize >= bigLedger {
		d.a.p.note("checking the integrity of %s (%s): this may take time, and --fast leaves it out", at.Path, bytesText(at.Size))
	}
	before := len(d.rows)
	err := sqlite.Examine(ctx, at.Path, sqlite.Options{AllowNetworkFS: true, Version: programVersion()}, func(s *sqlite.Store) error {
		d.rows, d.known = d.rows[:before], nil // it may be called again
		return d.lookInto(ctx, s)
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return err
	case errors.Is(err, ledger.ErrNoLedger):
		d.warn("ledger", "look again", "it has just been removed, or is being made")
	default:
		d.badLedger("ledger", err)
	}
	return nil
}

// badLedger tells why a ledger can't be used.
func (d *doctor) badLedger(check string, err error) {
	var u *ledger.UnusableError
	if errors.As(err, &u) && sqlite.Denied(err) {
		d.bad("owner", noLedgerUse, u.Hint, "%s", u.Why) // which names the file
		return
	}
	d.bad(check, noLedgerUse, hintOf(err), "%s", err.Error())
}

// checkExists tells what is there, and whether it can be looked into.
func (d *doctor) checkExists(at sqlite.Site) bool {
	switch {
	case !at.Exists && d.where.config != nil && !d.where.config.CreateLedger:
		d.bad("ledger", noLedgerUse, "mount the volume it is on, or set create_ledger: true for the first run",
			"there is none at %s, and create_ledger is false", at.Path)
		return false
	case !at.Exists:
		d.ok("ledger", "there is none at %s yet; the first run makes it", at.Path)
		return false
	}
	d.ok("ledger", "%s, %s", at.Path, bytesText(at.Size))
	if at.WALSize >= bigWAL {
		d.warn("write-ahead log", "it is folded into the ledger when no reader holds an old snapshot and the last run has ended", "it has grown to %s", bytesText(at.WALSize))
	} else {
		d.ok("write-ahead log", "%s", bytesText(at.WALSize))
	}
	if at.Schema > 0 && at.Schema < at.Known {
		d.warn("schema", "the next run brings it up to date, after a backup", "version %d, and this program has %d: nothing more can be looked at", at.Schema, at.Known)
		return false
	}
	d.ok("schema", "version %d", at.Known)
	return true
}

// checkRights finds what can't be written, and files of another user, as one
// run under sudo leaves them.
func (d *doctor) checkRights(at sqlite.Site) {
	var others []string
	var folder bool
	for _, err := range at.Unwritable {
		var u *ledger.UnusableError
		if errors.As(err, &u) && sqlite.Denied(err) && strings.Contains(u.Why, " belongs to ") {
			others = append(others, u.Why)
			folder = folder || strings.HasPrefix(u.Why, at.Folder+" belongs to ")
			continue
		}
		d.badLedger("writable", err)
	}
	switch {
	case len(others) > 0:
		d.bad("owner", noLedgerUse, chownHint(at, at.Me, folder), "%s", strings.Join(others, "; "))
	case len(at.Unwritable) == 0:
		d.ok("writable", "the ledger's files and their folder")
		d.checkOwners(at)
	}
}

// checkOwners is for those who may write to everything: what they write may
// then be closed to those who may not.
func (d *doctor) checkOwners(at sqlite.Site) {
	byOwner := map[string][]string{}
	for _, o := range at.Owners {
		byOwner[o.Owner] = append(byOwner[o.Owner], filepath.Base(o.Path))
	}
	if at.Me == "" || len(byOwner) == 0 {
		return
	}
	if len(byOwner) == 1 && byOwner[at.Me] != nil {
		d.ok("owner", "%s", at.Me)
		return
	}
	var parts []string
	for owner, files := range byOwner {
		parts = append(parts, fmt.Sprintf("%s belong to %s", someOf(files), owner))
	}
	slices.Sort(parts)
	main := at.Owners[0].Owner // the ledger's
	hint := "run as " + main
	if len(byOwner) > 1 {
		hint = chownHint(at, main, false) + ", and run as " + main
	}
	d.warn("owner", hint, "%s, and this is %s", strings.Join(parts, "; "), at.Me)
}

// chownHint gives the files of a ledger to a user: with its folder where
// nothing else lies in that.
func chownHint(at sqlite.Site, user string, folder bool) string {
	if folder || filepath.Base(at.Folder) == filepath.Dir(defaultLedger) {
		return fmt.Sprintf("sudo chown -R %s %s", user, shellWord(at.Folder))
	}
	return fmt.Sprintf("sudo chown -R %s %s*", user, shellWord(at.Path))
}

// maxAhead is how far the ledger's newest time may be ahead of the clock.
const maxAhead = time.Minute

// lookInto asks the ledger itself.
func (d *doctor) lookInto(ctx context.Context, s *sqlite.Store) error {
	h, err := s.Health(ctx, sqlite.HealthQuery{Integrity: !d.o.fast})
	if err != nil {
		return err
	}
	for _, text := range h.Damage {
		d.bad("integrity", noLedgerUse, "bring a backup back: runner ledger restore-backup FILE", "%s", oneLine(text))
	}
	if len(h.Damage) > 0 {
		return nil
	}
	if d.o.fast {
		d.ok("integrity", "not checked (--fast)")
	} else {
		d.ok("integrity", "whole")
	}
	if ahead := h.Newest.Sub(d.a.now()); ahead > maxAhead {
		d.bad("clock", otherwise, "set the clock right before anything runs: today is one of its dates",
			"it says %s, and the ledger has been written to at %s: it was set back, or was ahead then",
			d.a.now().In(d.where.zone).Format(time.RFC3339), h.Newest.In(d.where.zone).Format(time.RFC3339))
	} else {
		d.ok("clock", "%s (%s)", d.a.now().In(d.where.zone).Format(time.RFC3339), d.where.zoneName)
	}
	return d.checkWork(ctx, ledger.New(s), s.RunsDir())
}
