package postgres

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"runner/ledger"

	"github.com/jackc/pgx/v5"
)

// address is where a ledger lies, and how to get there.
type address struct {
	config     *pgx.ConnConfig
	shown      string       // without password
	searchPath string       // as the address says; empty: the role's
	shared     *atomic.Bool // sessions turned out not to be ours alone
}

// Is tells whether a ledger's address is one of this store.
func Is(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && (scheme == "postgres" || scheme == "postgresql")
}

// Shown is an address without its password, for people.
func Shown(s string) string {
	a, err := parse(s)
	if err != nil {
		return "postgres://…"
	}
	return a.shown
}

// parse reads an address. What is wrong with one isn't quoted: it may hold a
// password in any place.
func parse(s string) (a address, err error) {
	base, query, _ := strings.Cut(s, "?")
	q, err := url.ParseQuery(query)
	if err != nil || !Is(s) {
		return a, badAddress()
	}
	a.shared = new(atomic.Bool)
	a.searchPath = q.Get("search_path")
	q.Del("search_path") // a pooler refuses it at the start of a session
	if a.config, err = pgx.ParseConfig(base + "?" + q.Encode()); err != nil {
		return a, badAddress()
	}
	c := a.config
	c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // see the package doc
	c.DescriptionCacheCapacity = 2 * maxTexts
	if c.ConnectTimeout == 0 || c.ConnectTimeout > connectTimeout {
		c.ConnectTimeout = connectTimeout
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "runner"
	}
	c.DialFunc = dial
	a.shown = shownAs(hosts(base), c, a.searchPath)
	return a, nil
}

// hosts is the hosts and ports of an address, several separated by commas.
func hosts(base string) string {
	_, rest, _ := strings.Cut(base, "://")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 { // it must be escaped in a password
		rest = rest[i+1:]
	}
	h, _, _ := strings.Cut(rest, "/")
	return h
}

func badAddress() error {
	return &ledger.UnusableError{Path: "postgres://…", Why: "its address can't be read",
		Hint: "write it as postgres://user:password@host:5432/database, with %40 for @, %2F for / and so on in user and password"}
}

const connectTimeout = 10 * time.Second

// dial finds out within seconds that a host has vanished.
func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}}
	return d.DialContext(ctx, network, addr)
}

func shownAs(hosts string, c *pgx.ConnConfig, searchPath string) string {
	out := url.URL{Scheme: "postgres", Host: hosts, Path: "/" + c.Database, User: url.User(c.User)}
	q := url.Values{}
	if hosts == "" {
		q.Set("host", c.Host)
	}
	if searchPath != "" {
		q.Set("search_path", searchPath)
	}
	out.RawQuery = strings.ReplaceAll(q.Encode(), "%2F", "/")
	return out.String()
}

// scrub takes the passwords of an address out of a text.
func (a address) scrub(text string) string {
	for _, p := range []string{a.config.Password, url.QueryEscape(a.config.Password), url.PathEscape(a.config.Password)} {
		if p != "" {
			text = strings.ReplaceAll(text, p, "***")
		}
	}
	return text
}

// scrubbed is an error whose text has no password.
type scrubbed struct {
	text string
	err  error
}

func (e *scrubbed) Error() string { return e.text }

func (e *scrubbed) Unwrap() error { return e.err }

// oneLine puts the causes that pgx lists, one for each address that it tried,
// into one line, each once.
func oneLine(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !slices.Contains(parts, line) {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ")
}

func (a address) scrubError(err error) error {
	text := err.Error()
	if clean := a.scrub(oneLine(text)); clean != text {
		return &scrubbed{clean, err}
	}
	return err
}
