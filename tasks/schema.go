package tasks

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"runner/tasks/internal/decode"
)

// Patterns of the values that are more than text. They take what the decoder
// takes.
const (
	durationPattern  = `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	ratePattern      = `^([0-9]*[1-9][0-9]*(\.[0-9]+)?|[0-9]+\.[0-9]*[1-9][0-9]*)/[smh]$`
	cronPattern      = `^(@[a-z0-9]+|[^\s@]\S*( +\S+){4})$`
	daysBackPattern  = `^(today|yesterday|-[0-9]{1,4}d)$`
	datePattern      = `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
	tolerancePattern = `^([0-9]+|(100(\.0+)?|0*[0-9]{1,2}(\.[0-9]+)?)%)$`
)

// Schema gives the JSON Schema of runner.yaml, for editors. It is of the form
// of the file; what only makes sense together is checked by Load.
func Schema() ([]byte, error) {
	s := reflector().ReflectFromType(reflect.TypeFor[configFile]())
	s.Version = jsonschema.Version
	s.Title = "runner.yaml"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return append(text, '\n'), nil
}

func reflector() *jsonschema.Reflector {
	return &jsonschema.Reflector{
		FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true,
		Anonymous: true, DoNotReference: true, ExpandedStruct: true, Mapper: schemaOf,
	}
}

// sectionReflector is for a section whose own type has a schema by schemaOf.
func sectionReflector(section reflect.Type) *jsonschema.Reflector {
	r := reflector()
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		if t == section {
			return nil
		}
		return schemaOf(t)
	}
	return r
}

// schemaOf gives the schemas of types that package jsonschema can't know. Text
// may be written as anything that isn't a list: 012 and yes are texts as well.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[string]():
		return textSchema()
	case reflect.TypeFor[Duration]():
		return patternSchema(durationPattern, &jsonschema.Schema{Const: 0})
	case reflect.TypeFor[rate]():
		return patternSchema(ratePattern, nil)
	case reflect.TypeFor[tolerance]():
		return patternSchema(tolerancePattern, &jsonschema.Schema{Type: "integer", Minimum: "0"})
	case reflect.TypeFor[decode.OneOrMany]():
		one := uint64(1)
		return &jsonschema.Schema{AnyOf: append(textSchema().AnyOf, &jsonschema.Schema{Type: "array", Items: textSchema(), MinItems: &one})}
	case reflect.TypeFor[decode.Map[string]]():
		return &jsonschema.Schema{Type: "object", AdditionalProperties: textSchema()}
	case reflect.TypeFor[decode.Tree]():
		return &jsonschema.Schema{}
	case reflect.TypeFor[probeFile]():
		one := uint64(1)
		return orSection(&jsonschema.Schema{Type: "array", Items: textSchema(), MinItems: &one}, t)
	case reflect.TypeFor[needFile]():
		return orSection(textSchema(), t)
	case reflect.TypeFor[cron]():
		return patternSchema(cronPattern, nil)
	case reflect.TypeFor[daysBack]():
		return patternSchema(daysBackPattern, nil)
	case reflect.TypeFor[calendarDate]():
		return patternSchema(datePattern, nil)
	case reflect.TypeFor[days]():
		return patternSchema(daysPattern, nil)
	case reflect.TypeFor[decode.Map[taskFile]]():
		one := uint64(1)
		task := reflector().ReflectFromType(reflect.TypeFor[taskFile]())
		task.Version = ""
		return &jsonschema.Schema{Type: "object", AdditionalProperties: task, MinProperties: &one}
	}
	return nil
}

// orSection is a section, or what stands for one.
func orSection(other *jsonschema.Schema, t reflect.Type) *jsonschema.Schema {
	section := sectionReflector(t).ReflectFromType(t)
	section.Version = ""
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{other, section}}
}

func textSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
}

// patternSchema is text of a form, or something else.
func patternSchema(pattern string, other *jsonschema.Schema) *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string", Pattern: pattern}
	if other == nil {
		return text
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{text, other}}
}

// JSONSchemaExtend adds what package jsonschema doesn't know of the section.
func (configFile) JSONSchemaExtend(s *jsonschema.Schema) {
	addDefaults(s, reflect.TypeFor[configFile]())
}

// JSONSchemaExtend adds that a task has one action, and what needs a check.
func (taskFile) JSONSchemaExtend(s *jsonschema.Schema) {
	addDefaults(s, reflect.TypeFor[taskFile]())
	s.OneOf = oneOf(kindNames())
	s.DependentRequired = map[string][]string{
		"check_after": {"check"}, "check_first": {"check"}, "check_timeout": {"check"},
		"compensate": {"check"}, "compensate_timeout": {"compensate"},
		"schedule_date": {"schedule"}, "schedule_since": {"schedule"},
	}
}

// JSONSchemaExtend adds that a check is of one kind.
func (probeFile) JSONSchemaExtend(s *jsonschema.Schema) {
	addDefaults(s, reflect.TypeFor[probeFile]())
	s.OneOf = oneOf(probeNames())
}

// JSONSchemaExtend adds what package jsonschema doesn't know of the section.
func (needFile) JSONSchemaExtend(s *jsonschema.Schema) {
	addDefaults(s, reflect.TypeFor[needFile]())
}

// JSONSchemaExtend adds that records have one source.
func (recordsFile) JSONSchemaExtend(s *jsonschema.Schema) {
	addDefaults(s, reflect.TypeFor[recordsFile]())
	s.OneOf = oneOf(sourceNames())
}

// JSONSchemaExtend adds what package jsonschema doesn't know of the section.
func (retryFile) JSONSchemaExtend(s *jsonschema.Schema) {
	addDefaults(s, reflect.TypeFor[retryFile]())
}

// JSONSchemaExtend adds what package jsonschema doesn't know of the section.
func (exitCodesFile) JSONSchemaExtend(s *jsonschema.Schema) {
	addDefaults(s, reflect.TypeFor[exitCodesFile]())
}

// addDefaults says what holds where a key isn't given. It is prose more often
// than a value.
func addDefaults(s *jsonschema.Schema, section reflect.Type) {
	for _, k := range keysOf(section) {
		if p, ok := s.Properties.Get(k.name); ok && k.standard != "" {
			p.Description += " Default: " + k.standard + "."
		}
	}
}

// oneOf demands exactly one of some keys.
func oneOf(names []string) (all []*jsonschema.Schema) {
	for _, name := range names {
		all = append(all, &jsonschema.Schema{Required: []string{name}})
	}
	return all
}
