package sqlaction

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// grammar is what a database takes as a statement of an action.
type grammar struct {
	syntax
	numbered bool     // parameters are $1, $2 …; else they are ?
	verbs    []string // what a statement may begin with, besides those of all
	commits  []string // verbs that commit by themselves
	never    [][2]string
}

// Of all databases: what reads and what changes rows.
var (
	queries = []string{"SELECT", "VALUES", "TABLE"}
	changes = []string{"INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"}
	// enders are verbs that end the transaction, or reach beyond it.
	enders = []string{
		"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE", "EXECUTE", "DEALLOCATE", "LOCK", "UNLOCK",
		"SET", "RESET", "DISCARD", "ATTACH", "DETACH", "PRAGMA", "VACUUM", "XA", "LISTEN", "USE",
	}
)

// statement is one that can be executed for any record.
type statement struct {
	sql    string   // as the database takes it
	params []string // names, one for each place
	verb   string   // in capitals; of WITH that of the statement itself
	rows   bool     // it gives rows
	names  []string // all words and quoted names: tables are among them
}

// counts tells whether the statement finds rows, or none.
func (s *statement) counts() bool {
	return slices.Contains(queries, s.verb) || slices.Contains(changes, s.verb)
}

// parse reads one statement. Its errors continue a sentence that begins with
// what the statement is.
func (g *grammar) parse(text string) (*statement, error) {
	tokens, err := g.scan(text)
	if err != nil {
		return nil, err
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].is(";") {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return nil, errors.New("it is empty")
	}
	s := &statement{verb: verb(tokens)}
	var b strings.Builder
	last := 0
	for i, t := range tokens {
		if err := g.allows(text, tokens[:i+1]); err != nil {
			return nil, err
		}
		switch t.kind {
		case param:
			b.WriteString(text[last:t.pos])
			s.params = append(s.params, t.text)
			b.WriteString(g.place(len(s.params)))
			last = t.end
		case word, quoted:
			s.names = append(s.names, t.text)
			s.rows = s.rows || t.kind == word && strings.EqualFold(t.text, "RETURNING")
		}
	}
	b.WriteString(text[last:tokens[len(tokens)-1].end])
	s.sql = b.String()
	s.rows = s.rows && slices.Contains(changes, s.verb) || slices.Contains(queries, s.verb)
	return s, nil
}

func (g *grammar) place(n int) string {
	if g.numbered {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}

// is tells whether a token is a sign.
func (t token) is(sign string) bool { return t.kind == punct && t.text == sign }

// allows refuses the last of some tokens: what is no part of one statement
// with named parameters, and two words in a row that end the transaction
// wherever they stand.
func (g *grammar) allows(text string, tokens []token) error {
	switch t := tokens[len(tokens)-1]; {
	case t.kind == mark:
		return fmt.Errorf("it has the parameter %s: values are named, such as :biz_id", text[t.pos:t.end])
	case t.is(";"):
		return errors.New("it holds several statements: write each by itself under statements")
	case len(tokens) < 2:
		return nil
	}
	a, b := tokens[len(tokens)-2], tokens[len(tokens)-1]
	for _, n := range g.never {
		if a.kind == word && b.kind == word && strings.EqualFold(a.text, n[0]) && strings.EqualFold(b.text, n[1]) {
			return fmt.Errorf("%s %s isn't allowed in it: it ends the transaction", n[0], n[1])
		}
	}
	return nil
}

// verb is what a statement begins with. After WITH it is the verb that uses
// what WITH names.
func verb(tokens []token) string {
	depth, first := 0, ""
	for _, t := range tokens {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case t.kind == word && first == "":
			if first = strings.ToUpper(t.text); first != "WITH" {
				return first
			}
			depth = 0
		case t.kind == word && depth <= 0:
			if v := strings.ToUpper(t.text); slices.Contains(queries, v) || slices.Contains(changes, v) {
				return v
			}
		}
	}
	return first
}

// action reads a statement that an action may execute.
func (g *grammar) action(text string) (*statement, error) {
	s, err := g.parse(text)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(g.verbs, s.verb), s.counts() && s.verb != "MERGE" && s.verb != "REPLACE" && s.verb != "TABLE":
		return s, nil
	case slices.Contains(g.commits, s.verb):
		return nil, fmt.Errorf("%s isn't allowed: it commits what is before it", s.verb)
	case slices.Contains(enders, s.verb):
		return nil, fmt.Errorf("%s isn't allowed: it ends the transaction, or reaches beyond it", s.verb)
	}
	return nil, fmt.Errorf("it can't begin with %q; it can be %s, INSERT, UPDATE, DELETE, SELECT or WITH", s.verb, strings.Join(g.verbs, ", "))
}

// query reads a statement that only looks.
func (g *grammar) query(text string) (*statement, error) {
	s, err := g.parse(text)
	if err == nil && !slices.Contains(queries, s.verb) {
		err = fmt.Errorf("it only looks, and can't be %q: give a SELECT", s.verb)
	}
	return s, err
}
