package httpaction

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"
)

// Language is how texts are read, and what they can name.
type Language struct {
	// Parse reads a template; nil: it is plain text.
	Parse func(text string) (*template.Template, error)
	// Explain says why a template failed on a record.
	Explain func(text string, err error) error
	// Expand replaces ${NAME} by the value of that environment variable, and
	// tells each value.
	Expand func(text string, value func(string)) (string, error)
}

// text is a text of a request, ready to be filled in.
type text struct {
	source string
	plain  string // if there is no template
	filled *template.Template
}

// escape says how a value must be written after what stands before it.
type escape func(before string) (function string, err error)

func asItIs(string) (string, error) { return "", nil }

func inForm(string) (string, error) { return "inQuery", nil }

// inURL is for a path up to the question mark, and for a query behind it.
func inURL(before string) (string, error) {
	switch {
	case strings.Contains(before, "?"):
		return "inQuery", nil
	case !hasPath(before):
		return "", errors.New("a template can't stand before the path of the URL")
	}
	return "inPath", nil
}

var escapes = template.FuncMap{"inPath": inPath, "inQuery": inQuery}

// valueError says that a value can't stand where it would.
type valueError string

func (e valueError) Error() string { return string(e) }

// inPath writes a value as a part of a segment of a path. One that would name
// another path is refused.
func inPath(v any) (string, error) {
	s := fmt.Sprint(v)
	switch s {
	case "":
		return "", valueError("a value in the path is empty")
	case ".", "..":
		return "", valueError(fmt.Sprintf("a value in the path is %q, which names another path", s))
	}
	return url.PathEscape(s), nil
}

func inQuery(v any) string { return strings.ReplaceAll(url.QueryEscape(fmt.Sprint(v)), "+", "%20") }

// compile reads a text: the variables outside of its templates are replaced,
// and what its templates print is escaped.
func (l *Language) compile(source string, value func(string), how escape) (*text, error) {
	t := &text{source: source}
	tmpl, err := l.Parse(source)
	if err != nil {
		return nil, err
	}
	if tmpl == nil {
		t.plain, err = l.Expand(source, value)
		return t, err
	}
	if len(tmpl.Templates()) > 1 {
		return nil, fmt.Errorf("template %q: it can't define templates", source)
	}
	w := walk{how: how, expand: func(s string) (string, error) { return l.Expand(s, value) }}
	w.list(tmpl.Root)
	if w.err != nil {
		return nil, w.err
	}
	t.filled = tmpl.Funcs(escapes)
	return t, nil
}

// start is the text before the first template, of a URL without its query.
func (t *text) start() string {
	if t.filled == nil {
		return t.plain
	}
	first, ok := t.filled.Root.Nodes[0].(*parse.TextNode)
	if !ok {
		return ""
	}
	start, _, query := strings.Cut(string(first.Text), "?")
	if query {
		start += "?"
	}
	return start
}

// fill gives the text of a record.
func (t *text) fill(l *Language, data any) (string, error) {
	if t.filled == nil {
		return t.plain, nil
	}
	var b strings.Builder
	if err := t.filled.Execute(&b, data); err != nil {
		var bad valueError
		if errors.As(err, &bad) {
			return "", fmt.Errorf("%q doesn't fit the record: %w", t.source, bad)
		}
		return "", l.Explain(t.source, err)
	}
	return b.String(), nil
}

// walk goes through a template in the order of its text.
type walk struct {
	how    escape
	expand func(string) (string, error)
	before strings.Builder
	err    error // the first
}

func (w *walk) list(n *parse.ListNode) {
	if n == nil {
		return
	}
	for _, c := range n.Nodes {
		w.node(c)
	}
}

func (w *walk) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.TextNode:
		s, err := w.expand(string(n.Text))
		w.fail(err)
		n.Text = []byte(s)
		w.before.WriteString(s)
	case *parse.ActionNode:
		w.action(n)
	case *parse.IfNode:
		w.list(n.List)
		w.list(n.ElseList)
	case *parse.RangeNode:
		w.list(n.List)
		w.list(n.ElseList)
	case *parse.WithNode:
		w.list(n.List)
		w.list(n.ElseList)
	case *parse.TemplateNode:
		w.fail(errors.New("a text can't call templates"))
	}
}

// action adds the escaping function to what an action prints.
func (w *walk) action(n *parse.ActionNode) {
	if len(n.Pipe.Decl) > 0 {
		return // prints nothing
	}
	function, err := w.how(w.before.String())
	w.fail(err)
	if function != "" {
		ident := parse.NewIdentifier(function).SetPos(n.Pos)
		n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{ident}})
	}
}

func (w *walk) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// hasPath tells whether a URL that begins so is already behind its host.
func hasPath(start string) bool {
	_, rest, ok := strings.Cut(start, "://")
	return ok && strings.ContainsAny(rest, "/?")
}

// CheckURL says what is wrong with a URL as it is written, whatever its
// variables are.
func (l *Language) CheckURL(source string) error {
	known := Language{Parse: l.Parse, Expand: func(s string, _ func(string)) (string, error) { return guess(s), nil }}
	if password := literalPassword.FindStringSubmatch(source); password != nil && !strings.HasPrefix(password[1], "${") {
		return errors.New("the URL has a password, which would be stored; write ${NAME} and set that variable")
	}
	_, err := known.compileURL(source, nil)
	return err
}

var literalPassword = regexp.MustCompile(`^[a-z]+://[^/?@]*:([^/?@]+)@`)

// guess puts something likely in the place of variables.
func guess(s string) string {
	const open = "${"
	if strings.HasPrefix(s, open) {
		if _, rest, ok := strings.Cut(s, "}"); ok {
			s = "http://1" + rest
		}
	}
	for {
		before, rest, ok := strings.Cut(s, open)
		_, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return s
		}
		s = before + "1" + after
	}
}

// compileURL is compile with what can be seen of a URL before it is filled in.
func (l *Language) compileURL(source string, value func(string)) (*text, error) {
	t, err := l.compile(source, value, inURL)
	if err != nil {
		return nil, err
	}
	if t.filled != nil && !hasPath(t.start()) {
		return nil, errors.New("a template can't stand before the path of the URL")
	}
	u, err := url.Parse(t.start())
	var bad *url.Error
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("the URL can't be read: %w", bad.Err)
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("the URL must begin with http:// or https:// and a host")
	case strings.Contains(source, "#"):
		return nil, errors.New("the URL has a fragment (#…), which is never sent; write %23 if the character is meant")
	}
	return t, nil
}
