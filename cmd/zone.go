package cmd

import (
	"os"
	"strings"
	"time"
)

// localZoneName names the system's zone: by $TZ, by /etc/localtime, else by
// its present offset.
func localZoneName(loc *time.Location, now time.Time, getenv func(string) string) string {
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
		if c == "" {
			continue
		}
		if l, err := time.LoadLocation(c); err == nil && sameOffset(l, loc, now) {
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
