package tasks

import (
	_ "embed"
	"reflect"
	"slices"
	"strings"

	"runner/tasks/internal/decode"
)

// example is a configuration that has every key.
//
//go:embed example.yaml
var example string

// section is one struct of runner.yaml, for its documentation.
type section struct {
	title, intro string
	value        reflect.Type
}

var sections = []section{
	{"The file", "Paths are relative to this file. An unknown key, a value of the wrong type and an impossible combination are errors with file, line and column, all of them, before anything runs.", reflect.TypeFor[configFile]()},
	{"A task", "A task has exactly one action: " + either(kindNames()) + ". Environment, folder, stdin, exit codes and kept output are for commands; all but the exit codes hold for commands that check and compensate too, beside any kind of action.", reflect.TypeFor[taskFile]()},
	{"check and compensate", "A list is a command. Else exactly one is given: " + either(probeNames()) + ".", reflect.TypeFor[probeFile]()},
	{"needs", "A name is a task, for the same execute date.", reflect.TypeFor[needFile]()},
	{"sql", "The database is changed only if all statements succeed. Of statement and statements one is given.", reflect.TypeFor[sqlFile]()},
	{"sql of check and compensate", "A check has a query, a compensation has statement or statements.", reflect.TypeFor[sqlProbeFile]()},
	{"sql of records", "", reflect.TypeFor[sqlSourceFile]()},
	{"records", "Exactly one source is given: " + either(sourceNames()) + ". A biz_id is an opaque text of 1 to 512 bytes.", reflect.TypeFor[recordsFile]()},
	{"http", httpIntro, reflect.TypeFor[httpFile]()},
	{"tls", "Of a request: whom to believe, and who we are. Paths are relative to this file.", reflect.TypeFor[tlsFile]()},
	{"records: http", httpSourceIntro, reflect.TypeFor[httpSourceFile]()},
	{"retry", "", reflect.TypeFor[retryFile]()},
	{"exit_codes", "Lists of codes from 1 to 255, each in one list at most.", reflect.TypeFor[exitCodesFile]()},
}

func either(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// key is one key of runner.yaml.
type key struct {
	name, meaning, standard string // standard: its value if it isn't given
	field                   reflect.StructField
}

// keysOf gives the keys of a section, in their order.
func keysOf(section reflect.Type) []key {
	var keys []key
	for i := range section.NumField() {
		f := section.Field(i)
		keys = append(keys, key{f.Tag.Get("yaml"), f.Tag.Get("jsonschema_description"), f.Tag.Get("default"), f})
	}
	return keys
}

// required tells whether the key can't be left out.
func (k key) required() bool {
	return slices.Contains(strings.Split(k.field.Tag.Get("jsonschema"), ","), "required")
}

// typeWords says what kind of value the key has.
func (k key) typeWords() string {
	if k.field.Type == reflect.TypeFor[choice]() {
		return either(choicesOf(k.field))
	}
	return typeWords(k.field.Type)
}

// typeNames are the words for types that aren't told by their kind.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[Duration]():             "duration",
	reflect.TypeFor[rate]():                 "rate",
	reflect.TypeFor[tolerance]():            "number or share",
	reflect.TypeFor[decode.OneOrMany]():     "text or list of text",
	reflect.TypeFor[decode.Map[string]]():   "texts by name",
	reflect.TypeFor[decode.Map[taskFile]](): "tasks by name",
	reflect.TypeFor[decode.Tree]():          "any value",
	reflect.TypeFor[probeFile]():            "list of text or section",
	reflect.TypeFor[needFile]():             "text or section",
	reflect.TypeFor[daysBack]():             "today, yesterday or -2d",
	reflect.TypeFor[calendarDate]():         "date",
	reflect.TypeFor[days]():                 "days",
}

func typeWords(t reflect.Type) string {
	if words, ok := typeNames[t]; ok {
		return words
	}
	switch t.Kind() {
	case reflect.Slice:
		return "list of " + typeWords(t.Elem())
	case reflect.Struct:
		return "section"
	case reflect.Int:
		return "number"
	case reflect.Bool:
		return "true or false"
	}
	return "text"
}
