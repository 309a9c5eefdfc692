package sqlaction

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"runner/runner"
)

// keyNames are the parameters that every record has.
var keyNames = []string{"biz_id", "execute_date", "task_name", "generation", "idempotency_key"}

// values gives the parameters of one record: those of its key, the columns
// that were read for it, and its fields.
type values struct {
	rec  *runner.Record
	read map[string]any // of the read query; nil: none
}

func (v values) bind(s *statement) ([]any, error) {
	args := make([]any, len(s.params))
	for i, name := range s.params {
		value, err := v.value(name)
		if err != nil {
			return nil, err
		}
		args[i] = value
	}
	return args, nil
}

// value is text, or nil for NULL.
func (v values) value(name string) (any, error) {
	switch name {
	case "biz_id":
		return v.rec.BizID, nil
	case "execute_date":
		return v.rec.ExecuteDate, nil
	case "task_name":
		return v.rec.TaskName, nil
	case "generation":
		return strconv.Itoa(v.rec.Generation), nil
	case "idempotency_key":
		return v.rec.IdempotencyKey, nil
	}
	if value, ok := v.read[name]; ok {
		return value, nil
	}
	text, ok := v.rec.Fields[name]
	switch {
	case !ok:
		return nil, v.missing(name)
	case text == "null" && isNull(v.rec.Payload, name):
		return nil, nil
	}
	return text, nil
}

// isNull tells a null from the text "null".
func isNull(payload []byte, name string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(payload, &fields) == nil && string(fields[name]) == "null"
}

func (v values) missing(name string) error {
	has := append([]string{}, keyNames...)
	has = append(has, slices.Sorted(maps.Keys(v.read))...)
	has = append(has, slices.Sorted(maps.Keys(v.rec.Fields))...)
	return fmt.Errorf("the record has no :%s; it has :%s", name, strings.Join(has, ", :"))
}
