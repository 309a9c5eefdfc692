package httpaction

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CheckPointer says what is wrong with a JSON pointer (RFC 6901).
func CheckPointer(p string) error {
	if !strings.HasPrefix(p, "/") {
		return fmt.Errorf("wants a JSON pointer such as /order_no or /orders/0/id, not %q", p)
	}
	for step := range strings.SplitSeq(p[1:], "/") {
		rest := strings.NewReplacer("~0", "", "~1", "").Replace(step)
		if strings.Contains(rest, "~") {
			return errors.New("is no JSON pointer: in one, ~ is written ~0 and / is written ~1")
		}
	}
	return nil
}

// pick gives what a pointer names in a JSON text: text as it is, anything else
// as JSON in the spelling of the text. If there is no such thing it is empty.
func pick(text []byte, pointer string) string {
	value := json.RawMessage(text)
	for step := range strings.SplitSeq(pointer[1:], "/") {
		var ok bool
		if value, ok = into(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(step)); !ok {
			return ""
		}
	}
	var s string
	if json.Unmarshal(value, &s) == nil && !bytes.Equal(value, []byte("null")) {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil || b.String() == "null" {
		return ""
	}
	return b.String()
}

func into(value json.RawMessage, step string) (json.RawMessage, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil && object != nil {
		v, ok := object[step]
		return v, ok
	}
	var list []json.RawMessage
	i, err := strconv.Atoi(step)
	if err != nil || json.Unmarshal(value, &list) != nil || i < 0 || i >= len(list) || strconv.Itoa(i) != step {
		return nil, false
	}
	return list[i], true
}
