package sqlaction

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// ErrAddress is what is said of an address that names no known database.
var errAddress = errors.New("want sqlite:FILE, postgres://USER:PASSWORD@HOST/DATABASE or mysql://USER:PASSWORD@HOST/DATABASE")

// scheme is what an address begins with.
func scheme(address string) string {
	s, _, _ := strings.Cut(address, ":")
	return strings.ToLower(s)
}

// grammarOf gives the grammar of the database that an address is of, also
// where the rest of it isn't known yet; nil: it can't be told.
func grammarOf(address string) *grammar {
	switch scheme(address) {
	case "sqlite":
		return &sqliteGrammar
	case "postgres", "postgresql":
		return &postgresGrammar
	case "mysql", "mariadb":
		return &mysqlGrammar
	}
	return nil
}

// CheckAddress says what is wrong with an address in which all is expanded.
// Relative files are those of dir.
func CheckAddress(address, dir string) error {
	_, err := newDatabase(address, dir)
	return err
}

// newDatabase reads an address. It connects to nothing.
func newDatabase(address, dir string) (database, error) {
	switch scheme(address) {
	case "sqlite":
		return newSQLite(address, dir)
	case "postgres", "postgresql":
		return newPostgres(address)
	case "mysql", "mariadb":
		return newMySQL(address)
	}
	return nil, fmt.Errorf("%q is no address of a database: %w", Redact(address), errAddress)
}

// parseURL reads an address as a URL. Why it is none isn't told: that may
// quote a password.
func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.User == nil && strings.Contains(address, "@") {
		return nil, fmt.Errorf("%q can't be read as an address: special characters of a user or a password are written as %%XX", Redact(address))
	}
	return u, nil
}

// secretKeys are query parameters of addresses that hold secrets.
var secretKeys = []string{"password", "sslpassword"}

// Secrets gives the passwords in an address, as they stand there and as they
// are meant.
func Secrets(address string) (all []string) {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil
	}
	rest, query, _ := strings.Cut(rest, "?")
	raw := []string{}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if _, password, ok := strings.Cut(rest[:at], ":"); ok {
			raw = append(raw, password)
		}
	}
	for _, part := range strings.Split(query, "&") {
		if key, value, _ := strings.Cut(part, "="); slices.Contains(secretKeys, strings.ToLower(key)) {
			raw = append(raw, value)
		}
	}
	for _, s := range raw {
		all = append(all, s)
		for _, unescape := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
			if plain, err := unescape(s); err == nil && !slices.Contains(all, plain) {
				all = append(all, plain)
			}
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// Redact gives an address without passwords, and without what follows a ?.
func Redact(address string) string {
	s, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	rest, _, _ = strings.Cut(rest, "?")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, _, _ := strings.Cut(rest[:at], ":")
		rest = user + rest[at:]
	}
	return s + "://" + rest
}

// sqliteFile is the file that an address names. It is taken as it stands:
// nothing is escaped in it.
func sqliteFile(address, dir string) (string, error) {
	_, path, _ := strings.Cut(address, ":")
	switch {
	case strings.HasPrefix(path, "///"):
		path = path[2:]
	case strings.HasPrefix(path, "//"):
		return "", fmt.Errorf("%q names a host: an absolute path is written sqlite:///PATH, one beside runner.yaml sqlite:PATH", address)
	case path == "" || strings.HasPrefix(path, ":memory:"):
		return "", fmt.Errorf("%q names no file: want sqlite:PATH", address)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path, nil
}

// Place is what of an address says which database it is: neither who uses it,
// nor how. Variables stay in it as they are.
func Place(address, dir string) string {
	if scheme(address) == "sqlite" && !strings.Contains(address, "${") {
		if path, err := sqliteFile(address, dir); err == nil {
			return "sqlite:" + filepath.Clean(path)
		}
	}
	s, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	rest, query, _ := strings.Cut(rest, "?")
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	var where []string
	for _, part := range strings.Split(query, "&") {
		if key, _, _ := strings.Cut(part, "="); slices.Contains(placeKeys, strings.ToLower(key)) {
			where = append(where, part)
		}
	}
	if len(where) > 0 {
		rest += "?" + strings.Join(where, "&")
	}
	return s + "://" + rest
}

// placeKeys are query parameters of addresses that name a database.
var placeKeys = []string{"host", "hostaddr", "port", "dbname", "database", "socket", "service", "search_path", "options"}
