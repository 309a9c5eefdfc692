package postgres

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAnyTextIsKeptAsValidText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x00", "\x1a", "\x1a1a", "\xff", "\xed\xa0\x80", "é"}))).Draw(t, "parts")
		s := strings.Join(parts, "")
		e := encode(s)
		if !utf8.ValidString(e) || strings.ContainsRune(e, 0) {
			t.Fatalf("%q is written as %q", s, e)
		}
		if got := decode(e); got != s {
			t.Fatalf("%q is read as %q", s, got)
		}
	})
}

func TestTheClockIsTheServers(t *testing.T) {
	var c clock
	here := time.Now()
	ahead := func(d time.Duration) time.Duration { return d.Round(time.Second) }
	c.sample(here, here.Add(2*time.Second), here.Add(time.Hour).UnixMicro()) // within a second
	if d := ahead(time.Until(c.now())); d < time.Hour-2*time.Second || d > time.Hour {
		t.Errorf("the server is %s ahead, want about an hour", d)
	}
	c.sample(here, here.Add(2*time.Millisecond), here.Add(2*time.Hour).UnixMicro())
	if d := ahead(time.Until(c.now())); d != 2*time.Hour {
		t.Errorf("after a better look the server is %s ahead, want 2h", d)
	}
	c.sample(here, here.Add(time.Second), here.Add(3*time.Hour).UnixMicro())
	if d := ahead(time.Until(c.now())); d != 2*time.Hour {
		t.Errorf("after a worse look the server is %s ahead, want 2h still", d)
	}
	late := here.Add(2 * keepSample)
	c.sample(late, late.Add(time.Second), late.Add(3*time.Hour).UnixMicro())
	if got, _ := c.measured(); got.Round(time.Minute) != 3*time.Hour {
		t.Errorf("long after it the server is %s ahead, want 3h", got)
	}
}
