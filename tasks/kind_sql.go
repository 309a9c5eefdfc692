package tasks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/output"
	"runner/tasks/internal/sqlaction"
)

// sqlKind executes statements in a transaction of a business database.
var sqlKind = kind{
	name:   "sql",
	value:  func(f *taskFile) any { return &f.SQL },
	check:  checkSQL,
	stored: storedSQL,
	probe: &probeKind{
		value: func(f *probeFile) any { return &f.SQL },
		check: checkSQLProbe,
	},
	// A server may still be at it when the connection is gone.
	lingers: true,
}

// sqlFile is an action.
type sqlFile struct {
	Database   string   `yaml:"database" jsonschema:"required" jsonschema_description:"A name under databases, or an address: sqlite:FILE, sqlite:///FILE, postgres://USER:PASSWORD@HOST:PORT/DATABASE or mysql://USER:PASSWORD@HOST:PORT/DATABASE."`
	Statement  string   `yaml:"statement" jsonschema_description:"What is done for a record. :biz_id, :execute_date, :task_name, :generation, :idempotency_key and the record's fields are bound as values."`
	Statements []string `yaml:"statements" jsonschema:"minItems=1" jsonschema_description:"Several of them, in this order, in one transaction."`
	Read       string   `yaml:"read" jsonschema_description:"A query before the first statement. It gives one row, whose columns are parameters of what follows, and no row means what on_no_rows says."`
	OnNoRows   choice   `yaml:"on_no_rows" default:"noop" jsonschema:"enum=noop,enum=retry,enum=fail" jsonschema_description:"What it means that the first statement finds no row: there is nothing to do, and the others are left out; the attempt failed, and the next one reads again; or the record failed for good."`
	State      string   `yaml:"state" jsonschema_description:"A query that is asked where there was nothing to do. Its first row is kept as the result of the record, so it tells why."`
	Guard      choice   `yaml:"guard" default:"on" jsonschema:"enum=on,enum=off" jsonschema_description:"Whether a row in the table runner_effects, in the same transaction, makes sure that it is done once. With off, a row that is there already (a unique key) counts as done."`
	Batch      int      `yaml:"batch" default:"1" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"How many records share a transaction, at most; jobs is the number of transactions at once, so jobs times batch records are under way, at most 4096. One that fails doesn't hinder the others."`
}

// sqlProbeFile is a check or a compensation.
type sqlProbeFile struct {
	Database   string   `yaml:"database" jsonschema:"required" jsonschema_description:"As for an action."`
	Query      string   `yaml:"query" jsonschema_description:"Of a check: a row means that the effect is there, none that it isn't, an error that it can't tell. An aggregate such as count(*) always gives a row. Parameters as for an action."`
	Statement  string   `yaml:"statement" jsonschema_description:"Of a compensation: what undoes the effect."`
	Statements []string `yaml:"statements" jsonschema:"minItems=1" jsonschema_description:"Several of them, in one transaction."`
}

// JSONSchemaExtend adds that there is one statement, or a list.
func (sqlFile) JSONSchemaExtend(s *jsonschema.Schema) {
	addDefaults(s, reflect.TypeFor[sqlFile]())
	s.OneOf = oneOf([]string{"statement", "statements"})
}

// JSONSchemaExtend adds that something is asked or done.
func (sqlProbeFile) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = oneOf([]string{"query", "statement", "statements"})
}

// maxBatch bounds what one failing commit has to be repeated for.
const maxBatch = 1000

// sqlSpec is an action, a check or a compensation.
type sqlSpec struct {
	Database   string   `json:"database"` // for people
	Address    string   `json:"address"`  // of which ${NAME} isn't replaced
	Dir        string   `json:"dir"`      // of relative files
	Query      string   `json:"query,omitempty"`
	Statements []string `json:"statements,omitempty"`
	Read       string   `json:"read,omitempty"`
	State      string   `json:"state,omitempty"`
	OnNoRows   string   `json:"on_no_rows,omitempty"`
	Guard      bool     `json:"guard,omitempty"`
	Batch      int      `json:"batch,omitempty"`
}

func checkSQL(c *checker, t *taskFile) spec {
	f := &t.SQL
	c.commandsOnly(t, "SQL", "keep_output")
	c.choices(f)
	s := sqlSpec{
		Database: f.Database, Address: c.databaseAddress(&f.Database, f), Dir: c.dir,
		Statements: c.statements(&f.Statement, &f.Statements, f),
		Read:       f.Read, State: f.State, OnNoRows: string(f.OnNoRows), Guard: f.Guard != "off", Batch: cmp.Or(f.Batch, 1),
	}
	c.sqlText(s.Address, &f.Statement, sqlaction.CheckAction)
	for i := range f.Statements {
		c.sqlText(s.Address, &f.Statements[i], sqlaction.CheckAction)
	}
	c.sqlText(s.Address, &f.Read, sqlaction.CheckQuery)
	c.sqlText(s.Address, &f.State, sqlaction.CheckQuery)
	if c.doc.Has(&f.Batch) && (f.Batch < 1 || f.Batch > maxBatch) {
		c.doc.Report(fmt.Sprintf(`"batch" must be 1 to %d, not %d`, maxBatch, f.Batch), "", &f.Batch)
	}
	if c.doc.Has(&f.State) && f.OnNoRows != "" && f.OnNoRows != "noop" {
		c.doc.Report(`"state" tells why there was nothing to do, which is an error here`, "leave on_no_rows out", &f.State)
	}
	return s
}

func checkSQLProbe(c *checker, _ *taskFile, key string, p *probeFile) prober {
	f := &p.SQL
	s := sqlSpec{Database: f.Database, Address: c.databaseAddress(&f.Database, f), Dir: c.dir}
	if key == "check" {
		s.Query = f.Query
		if !c.doc.Has(&f.Query) {
			c.doc.Report(`a check needs a "query"`, "a row means that the effect is there", f)
		}
		for name, ptr := range map[string]any{"statement": &f.Statement, "statements": &f.Statements} {
			if c.doc.Has(ptr) {
				c.doc.Report(fmt.Sprintf("%q is for actions: a check changes nothing", name), "", ptr)
			}
		}
		c.sqlText(s.Address, &f.Query, sqlaction.CheckQuery)
		return s
	}
	if c.doc.Has(&f.Query) {
		c.doc.Report(`"query" is for a check`, "", &f.Query)
	}
	s.Statements = c.statements(&f.Statement, &f.Statements, f)
	c.sqlText(s.Address, &f.Statement, sqlaction.CheckAction)
	for i := range f.Statements {
		c.sqlText(s.Address, &f.Statements[i], sqlaction.CheckAction)
	}
	return s
}

// statements takes one or many.
func (c *checker) statements(one *string, many *[]string, section any) []string {
	switch {
	case c.doc.Has(one) && c.doc.Has(many):
		c.doc.Report(`"statement" and "statements" exclude each other`, "", many)
	case c.doc.Has(one):
		return []string{*one}
	case !c.doc.Has(many):
		c.doc.Report(`it needs a "statement"`, "or several under statements:", section)
	case len(*many) == 0:
		c.doc.Report(`"statements" is an empty list`, "", many)
	}
	return *many
}

// sqlText reports what is wrong with a statement.
func (c *checker) sqlText(address string, text *string, check func(address, text string) error) {
	if !c.doc.Has(text) {
		return
	}
	if full, err := expand(address); err == nil {
		address = full
	}
	if err := check(address, *text); err != nil {
		c.doc.Report(err.Error(), "", text)
	}
}

func storedSQL(text json.RawMessage) (spec, error) {
	var s sqlSpec
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if len(s.Statements) == 0 && s.Query == "" {
		return nil, fmt.Errorf("it has no statement")
	}
	return s, nil
}

func (s sqlSpec) masked(m *output.Masker) (any, bool) {
	c := s
	c.Statements = slices.Clone(s.Statements)
	changed := false
	texts := []*string{&c.Database, &c.Address, &c.Query, &c.Read, &c.State}
	for i := range c.Statements {
		texts = append(texts, &c.Statements[i])
	}
	for _, t := range texts {
		text := m.String(*t)
		changed = changed || text != *t
		*t = text
	}
	return c, changed
}

func (s sqlSpec) words() (action, dir string) {
	parts := append([]string{s.Read, s.Query}, s.Statements...)
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	for i, p := range parts {
		parts[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.Join(parts, "; "), ""
}

func (s sqlSpec) addresses() []string { return []string{s.Address} }

// workers: each record of a batch is an attempt of its own.
func (s sqlSpec) workers(jobs int) int { return jobs * max(s.Batch, 1) }

func (s sqlSpec) guard() prober {
	if !s.Guard {
		return nil
	}
	return guardSpec{s}
}

// expanded gives the address as it is used.
func (s sqlSpec) expanded() (string, error) { return expand(s.Address) }

func (s sqlSpec) action(sur surroundings) runner.Action {
	return &sqlAction{mask: sur.mask, inner: sqlaction.New(sqlaction.Options{
		Address: s.expanded, Dir: s.Dir, Statements: s.Statements, Read: s.Read, State: s.State,
		OnNoRows: sqlaction.NoRows(s.OnNoRows), Guard: s.Guard, Namespace: sur.namespace, Batch: s.Batch, Jobs: sur.jobs,
	})}
}

func (s sqlSpec) probeOptions(sur surroundings) sqlaction.ProbeOptions {
	return sqlaction.ProbeOptions{
		Address: s.expanded, Dir: s.Dir, Query: s.Query, Statements: s.Statements, Namespace: sur.namespace, Jobs: sur.jobs,
	}
}

func (s sqlSpec) inPhase(ph ledger.Phase, sur surroundings) runner.Action {
	if ph == ledger.Check {
		return &sqlAction{mask: sur.mask, inner: sqlaction.NewCheck(s.probeOptions(sur))}
	}
	return &sqlAction{mask: sur.mask, inner: sqlaction.NewCompensation(s.probeOptions(sur))}
}

// guardSpec asks the guard of an action. It is never stored: it follows from
// the action.
type guardSpec struct{ sqlSpec }

func (s guardSpec) words() (action, dir string) { return "the guard in " + sqlaction.GuardTable, "" }

func (s guardSpec) inPhase(_ ledger.Phase, sur surroundings) runner.Action {
	return &sqlAction{mask: sur.mask, inner: sqlaction.NewGuardCheck(s.probeOptions(sur))}
}
