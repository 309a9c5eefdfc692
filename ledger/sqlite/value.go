package sqlite

import (
	"database/sql/driver"
	"strconv"
	"time"

	"runner/ledger/internal/table"
)

// What is zero in Go is NULL in the file: it costs no byte, and reads as
// "never" or "none" in any tool.

func micros(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func instant(v driver.Value) time.Time {
	if n, ok := v.(int64); ok {
		return time.UnixMicro(n).UTC()
	}
	return time.Time{}
}

func orNull(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

func str(v driver.Value) string {
	s, _ := v.(string)
	return s
}

func integer(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

// blob keeps nil apart from empty.
func blob(b []byte) driver.Value {
	if b == nil {
		return nil
	}
	return string(b)
}

func bytesOf(v driver.Value) []byte {
	if s, ok := v.(string); ok {
		return []byte(s)
	}
	return nil
}

func exitCode(p *int) driver.Value {
	if p == nil {
		return nil
	}
	return int64(*p)
}

func exitCodeOf(v driver.Value) *int {
	if n, ok := v.(int64); ok {
		i := int(n)
		return &i
	}
	return nil
}

func nullZero(n int64) driver.Value {
	if n == 0 {
		return nil
	}
	return n
}

func nullFalse(b bool) driver.Value {
	if b {
		return int64(1)
	}
	return nil
}

// numbers is ids as a JSON array.
func numbers(ids []int64) string {
	b := make([]byte, 0, 2+8*len(ids))
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

// stringsJSON is s as a JSON array.
func stringsJSON(s []string) string {
	b := []byte{'['}
	for i, v := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = table.AppendJSON(b, v)
	}
	return string(append(b, ']'))
}

// driverValues makes what package table gives the driver's values.
func driverValues(all []any) []driver.Value {
	values := make([]driver.Value, len(all))
	for i, v := range all {
		values[i] = v
	}
	return values
}

// anyValues is the inverse of driverValues.
func anyValues(row []driver.Value) []any {
	all := make([]any, len(row))
	for i, v := range row {
		all[i] = v
	}
	return all
}
