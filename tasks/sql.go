package tasks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"runner/runner"
	"runner/tasks/internal/decode"
	"runner/tasks/internal/output"
	"runner/tasks/internal/sqlaction"
)

// sqlAction is what works in a database. All that it says is masked.
type sqlAction struct {
	inner interface {
		runner.Action
		Close() error
	}
	mask *output.Masker
}

func (a *sqlAction) Prepare() error {
	if err := a.inner.Prepare(); err != nil {
		return sqlError(err, a.mask)
	}
	return nil
}

func (a *sqlAction) Act(ctx context.Context, at runner.Attempt) runner.Result {
	r := a.inner.Act(ctx, at)
	r.Error = output.Valid(a.mask.String(r.Error))
	r.Result = output.Cut(output.Valid(a.mask.String(r.Result)), runner.MaxResult)
	return r
}

func (a *sqlAction) Close() error { return a.inner.Close() }

// sqlError masks an error and says what to do about it.
func sqlError(err error, mask *output.Masker) error {
	e := &HintError{Msg: "sql: " + output.Valid(mask.String(err.Error()))}
	var connect *sqlaction.ConnectError
	var guard *sqlaction.GuardError
	var hint *HintError
	switch {
	case errors.As(err, &hint):
		e.Hint = hint.Hint
	case errors.Is(err, os.ErrNotExist):
		e.Hint = "a database is never made here: make it first, or correct its address"
	case errors.As(err, &connect):
		e.Hint = "is it running, and are address, user and password right?"
	case errors.As(err, &guard):
		e.Hint = "let somebody who may make the table do so once, see sql in docs/configuration.md, or say guard: off"
	}
	return e
}

// takeDatabases reads the addresses that have a name.
func (c *checker) takeDatabases(f *configFile) {
	c.databases = map[string]string{}
	for i := range f.Databases {
		p := &f.Databases[i]
		if p.Key == "" || strings.Contains(p.Key, ":") {
			c.doc.Report(fmt.Sprintf("%q can't name a database: it is empty, or an address", p.Key), "", &p.Key)
		}
		c.databases[p.Key] = p.Value
		c.address(p.Value, &p.Value)
	}
}

// address reports what is wrong with an address, as far as its variables are
// set: others may run it.
func (c *checker) address(address string, ptr any) {
	full, err := expand(address)
	if err != nil && !strings.Contains(err.Error(), "is not set") {
		c.report(err, ptr)
		return
	}
	if err == nil {
		err = sqlaction.CheckAddress(full, c.dir)
		if err != nil {
			c.doc.Report(output.NewMasker(addressSecrets(address)).String(err.Error()), "", ptr)
		}
	}
}

// databaseAddress gives the address that a section means.
func (c *checker) databaseAddress(database *string, section any) string {
	if !c.doc.Has(database) {
		c.doc.Report(`it needs a "database"`, "a name under databases:, or an address", section)
		return ""
	}
	if a, ok := c.databases[*database]; ok {
		return a
	}
	if strings.Contains(*database, ":") || strings.Contains(*database, "${") {
		c.address(*database, database)
		return *database
	}
	names := slices.Sorted(maps.Keys(c.databases))
	hint := "name it under databases:, or give its address"
	if near := decode.Nearest(*database, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	c.doc.Report(fmt.Sprintf("there is no database %q", *database), hint, database, section)
	return ""
}

// address gives the address of one of the databases of the configuration.
func (t *Task) address(database string) string {
	if a, ok := t.databases[database]; ok {
		return a
	}
	return database
}

// allAddresses gives those of all databases of the task.
func (p *plan) allAddresses() []string {
	all := slices.Clone(p.addresses)
	specs := []spec{p.spec}
	for _, d := range []*probe{p.doubts.check, p.doubts.compensate} {
		if d != nil {
			specs = append(specs, d.spec)
		}
	}
	for _, s := range specs {
		if a, ok := s.(addressed); ok {
			all = append(all, a.addresses()...)
		}
	}
	return all
}

// addressSecrets gives what of an address nobody may see: passwords, and the
// values of variables that are in one or are an address by themselves. Hosts
// and users may be seen, or no error could name them.
func addressSecrets(address string) []string {
	full, _ := expand(address) // what isn't set is no secret
	secrets := sqlaction.Secrets(full)
	for _, s := range sqlaction.Secrets(address) {
		for _, m := range variable.FindAllStringSubmatch(s, -1) {
			secrets = append(secrets, os.Getenv(m[1]))
		}
		if !strings.Contains(s, "${") {
			secrets = append(secrets, s)
		}
	}
	for _, m := range variable.FindAllStringSubmatch(address, -1) {
		if v := os.Getenv(m[1]); strings.Contains(v, "://") {
			secrets = append(secrets, v)
		}
	}
	return secrets
}
