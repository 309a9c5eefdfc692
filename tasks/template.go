package tasks

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"runner/runner"
)

// templateNames is what a template of an attempt can name.
var templateNames = []string{"biz_id", "execute_date", "task_name", "generation", "idempotency_key", "fields"}

// parseTemplate parses an argument. Plain text gives nil.
func parseTemplate(text string) (*template.Template, error) { return parseNamed(text, templateNames) }

func parseNamed(text string, names []string) (*template.Template, error) {
	if !strings.Contains(text, "{{") {
		return nil, nil
	}
	t, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{"index": indexField}).Parse(text)
	if err != nil {
		msg := strings.TrimPrefix(err.Error(), "template: :1: ")
		return nil, fmt.Errorf("template %q: %s", text, strings.TrimPrefix(msg, "template: :"))
	}
	if err := checkNames(t.Root, names); err != nil {
		return nil, fmt.Errorf("template %q: %w", text, err)
	}
	return t, nil
}

// indexField replaces the index of package template, which gives nothing for
// a name that isn't there. It is for names that can't follow a dot.
func indexField(fields map[string]string, name string) (string, error) {
	v, ok := fields[name]
	if !ok {
		return "", fmt.Errorf("no entry for key %q", name)
	}
	return v, nil
}

// checkNames finds names that no attempt has. Inside range and with the dot
// is another, so nothing is said there.
func checkNames(n parse.Node, names []string) error {
	var errs []error
	visit(n, func(idents []string) {
		if !slices.Contains(names, idents[0]) {
			errs = append(errs, fmt.Errorf("there is no .%s, only .%s", idents[0], strings.Join(names, ", .")))
		}
	})
	return errors.Join(errs...)
}

func visit(n parse.Node, field func(idents []string)) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, c := range n.Nodes {
				visit(c, field)
			}
		}
	case *parse.ActionNode:
		visit(n.Pipe, field)
	case *parse.IfNode:
		visit(n.Pipe, field)
		visit(n.List, field)
		visit(n.ElseList, field)
	case *parse.RangeNode:
		visit(n.Pipe, field)
	case *parse.WithNode:
		visit(n.Pipe, field)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			for _, a := range c.Args {
				visit(a, field)
			}
		}
	case *parse.FieldNode:
		field(n.Ident)
	}
}

// templateData is what an attempt gives to its templates.
func templateData(a *runner.Attempt) map[string]any {
	return map[string]any{
		"biz_id": a.BizID, "execute_date": a.ExecuteDate, "task_name": a.TaskName,
		"generation": a.Generation, "idempotency_key": a.IdempotencyKey, "fields": a.Fields,
	}
}

// renderPath fills in the path of a source.
func renderPath(path, date string) (string, error) {
	t, err := parseNamed(path, []string{"execute_date"})
	if t == nil || err != nil {
		return path, err
	}
	var b strings.Builder
	if err := t.Execute(&b, map[string]any{"execute_date": date}); err != nil {
		return "", fmt.Errorf("template %q: %w", path, err)
	}
	return b.String(), nil
}

// renderError says in our words why a template failed on a record.
func renderError(text string, err error, a *runner.Attempt) error {
	_, why, ok := strings.Cut(err.Error(), ">: ")
	if !ok {
		why = err.Error()
	}
	has := "it has no fields"
	if len(a.Fields) > 0 {
		has = "its fields are " + strings.Join(slices.Sorted(maps.Keys(a.Fields)), ", ")
	}
	return fmt.Errorf("argument %q doesn't fit the record: %s; %s", text, why, has)
}
