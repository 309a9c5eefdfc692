package tasks

import (
	"os"
	"strings"
	"time"
)

// ZoneName names a time zone. For the system's it is what $TZ or
// /etc/localtime says, as far as that agrees with loc, else its present
// offset such as +08:00.
func ZoneName(loc *time.Location) string { return zoneName(loc, time.Now(), os.Getenv) }

func zoneName(loc *time.Location, now time.Time, getenv func(string) string) string {
	if loc.String() != "Local" {
		return loc.String()
	}
	candidates := []string{strings.TrimPrefix(getenv("TZ"), ":")}
	if target, err := os.Readlink("/etc/localtime"); err == nil {
		candidates = append(candidates, target)
	}
	for _, c := range candidates {
		if _, name, ok := strings.Cut(c, "zoneinfo/"); ok {
			c = name
		}
		if l, err := time.LoadLocation(c); err == nil && c != "" && sameOffset(l, loc, now) {
			return c
		}
	}
	return now.In(loc).Format("-07:00")
}

func sameOffset(a, b *time.Location, at time.Time) bool {
	_, x := at.In(a).Zone()
	_, y := at.In(b).Zone()
	return x == y
}
