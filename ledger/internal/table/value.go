package table

import "time"

// What is zero in Go is NULL in the table: it costs no byte, and reads as
// "never" or "none" in any tool.

// Micros is a time as the tables hold it: microseconds since 1970.
func Micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// Instant is the inverse of Micros.
func Instant(v any) time.Time {
	if v == nil {
		return time.Time{}
	}
	return time.UnixMicro(Integer(v)).UTC()
}

// OrNull gives nil for the empty string.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Str reads a text; empty for NULL.
func Str(v any) string {
	s, _ := v.(string)
	return s
}

// Integer reads a number of any width; 0 for NULL.
func Integer(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case int32:
		return int64(n)
	case int16:
		return int64(n)
	}
	return 0
}

// Blob keeps nil apart from empty.
func Blob(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}

// Bytes is the inverse of Blob.
func Bytes(v any) []byte {
	if s, ok := v.(string); ok {
		return []byte(s)
	}
	return nil
}

// ExitCode gives nil for none, which 0 isn't.
func ExitCode(p *int) any {
	if p == nil {
		return nil
	}
	return int64(*p)
}

// ExitCodeOf is the inverse of ExitCode.
func ExitCodeOf(v any) *int {
	if v == nil {
		return nil
	}
	i := int(Integer(v))
	return &i
}

// NullZero gives nil for 0.
func NullZero(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// NullFalse gives nil for false, else 1.
func NullFalse(b bool) any {
	if b {
		return int64(1)
	}
	return nil
}
