package tasks

import (
	"fmt"
	"strings"
)

const referenceIntro = `<!-- Made from the Go types by tasks.Reference. UPDATE=1 go test ./tasks makes it anew. -->

# Configuration

` + "`runner.yaml` says what is to be done. `runner init` writes one to begin with, `runner tasks validate` checks one, and `runner tasks schema` prints a JSON Schema for editors." + `

A duration is written as 30s, 5m or 1h30m, a rate as 50/s, 100/m or 1000/h. Text may be left without quotes where YAML allows it; it is taken as it stands, so 0010 stays 0010.
`

// Reference gives the documentation of runner.yaml, as Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceIntro)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		if s.intro != "" {
			fmt.Fprintf(&b, "%s\n\n", s.intro)
		}
		b.WriteString("| key | type | default | meaning |\n| --- | --- | --- | --- |\n")
		for _, k := range keysOf(s.value) {
			standard := k.standard
			if k.required() {
				standard = "(required)"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.name, cell(k.typeWords()), cell(standard), cell(k.meaning))
		}
	}
	fmt.Fprintf(&b, "\n## An example with every key\n\n```yaml\n%s```\n", example)
	return b.String()
}

var cellEscaper = strings.NewReplacer("|", `\|`, "*", `\*`, "{{", "`{{", "}}", "}}`", "<", "&lt;", "\n", " ")

func cell(s string) string { return cellEscaper.Replace(s) }
