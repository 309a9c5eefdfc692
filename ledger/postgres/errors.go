package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"runner/ledger"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATE codes, https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeNotNumber      = "22P02"
	codeReadOnly       = "25006"
	codeSerialization  = "40001"
	codeDeadlock       = "40P01"
	codeNoStatement    = "26000"
	codeIsStatement    = "42P05"
	codeDenied         = "42501"
	codeNoColumn       = "42703"
	codeNoTable        = "42P01"
	codeTableExists    = "42P07"
	codeNoSchema       = "3F000"
	codeNoDatabase     = "3D000"
	codeLockTimeout    = "55P03"
	codeTooMany        = "53300"
	codeDiskFull       = "53100"
	codeIdleInTransact = "25P03"
	classConnection    = "08"
	classShutdown      = "57P"
	classAuth          = "28"
	classResources     = "53"
	classInternal      = "XX"
)

func codeOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func hasClass(err error, classes ...string) bool {
	code := codeOf(err)
	for _, c := range classes {
		if strings.HasPrefix(code, c) {
			return true
		}
	}
	return false
}

// raced tells whether a transaction failed only because another was under
// way, so that it may be run again at once.
func raced(err error) bool {
	code := codeOf(err)
	return errors.Is(err, ledger.ErrRaced) || code == codeSerialization || code == codeDeadlock
}

// A statement that must not be committed fails by reading one of these texts as a
// number: it is known by it, and so is the reason in the log of the server.
const (
	staleText  = "runner: a record was changed by another hand, so this is made again: "
	sealedText = "runner: the batch is sealed, so nothing is planned: "
)

// failIf is an expression that fails with a text where a condition on an
// aggregate holds. The count keeps the server from reading the text beforehand.
func failIf(condition, text string) string {
	return "CASE WHEN " + condition + " THEN ('" + text + "' || count(*))::int END"
}

// refused gives the error of a statement that has failed on purpose.
func refused(err error) error {
	var e *pgconn.PgError
	switch {
	case !errors.As(err, &e) || e.Code != codeNotNumber:
		return nil
	case strings.Contains(e.Message, staleText):
		return ledger.ErrRaced
	case strings.Contains(e.Message, sealedText):
		return ledger.ErrSealed
	}
	return nil
}

// passing tells whether the server, or the way to it, may be there again in a
// moment: it restarts, another one takes over, or it is full.
func passing(err error) bool {
	var dial *pgconn.ConnectError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return false
	case codeOf(err) == codeReadOnly: // the server has become a standby
		return true
	case codeOf(err) != "":
		return hasClass(err, classConnection, classShutdown, codeTooMany, codeIdleInTransact, codeNoStatement, codeIsStatement)
	case lost(err):
		return true
	case errors.As(err, &dial):
		return !strings.Contains(err.Error(), "tls:") && !strings.Contains(err.Error(), "x509:")
	}
	return false
}

// explain turns an error that makes the ledger unusable into plain words.
func (a *address) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if u := (*ledger.UnusableError)(nil); errors.As(err, &u) {
		return err
	}
	if no := refused(err); no != nil {
		return no
	}
	why, hint := a.words(err)
	if why == "" {
		return err
	}
	return &ledger.UnusableError{Path: a.shown, Why: why, Hint: hint, Err: a.scrubError(err)}
}

func (a *address) words(err error) (why, hint string) {
	var dial *pgconn.ConnectError
	switch code := codeOf(err); {
	case hasClass(err, classAuth):
		return "the server refuses the role or its password", "check user and password of the address (PGPASSWORD and ~/.pgpass count too)"
	case code == codeNoDatabase:
		return "there is no such database", "make it with: createdb " + a.config.Database
	case code == codeNoSchema:
		return "the first schema of its search_path doesn't exist", "make it with: CREATE SCHEMA …; or name another one: ?search_path=NAME"
	case code == codeDenied:
		return "this role has not the rights it needs", a.grants()
	case code == codeReadOnly:
		return "the server is a standby, which can only be read", "name the primary, or all hosts with ?target_session_attrs=read-write"
	case code == codeLockTimeout:
		return "another transaction has been holding what this one needs for more than " + lockTimeout, "find it in pg_stat_activity; a stopped or hanging process may hold it"
	case code == codeDiskFull:
		return "there is no room left on the server", "free some space there, then run again"
	case hasClass(err, classConnection, classShutdown, classResources, codeIdleInTransact):
		return "the server can't serve at the moment", "look into its log"
	case hasClass(err, classInternal):
		return "the server reported damage or an error of its own", "look into its log"
	case code != "":
		return "", ""
	case errors.As(err, &dial):
		return "the server can't be reached", "check host and port of the address, and whether it runs: pg_isready"
	case lost(err):
		return "the connection was lost", "look into the server's log; run again to go on"
	}
	return "", ""
}

// lost tells whether the connection broke.
func lost(err error) bool {
	var e *lostError
	return errors.As(err, &e)
}

// grants is what gives a role its rights. DELETE is for archiving only.
func (a *address) grants() string {
	return fmt.Sprintf("as the owner of the tables: GRANT USAGE ON SCHEMA … TO %[1]q; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO %[1]q (DELETE is needed by runner ledger archive only)", a.config.User)
}

func (a *address) noLedger() error { return fmt.Errorf("%s: %w", a.shown, ledger.ErrNoLedger) }
