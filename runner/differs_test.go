package runner

import (
	"slices"
	"testing"
)

func TestWhatDiffersBetweenDefinitionsIsNamed(t *testing.T) {
	const base = `{"kind":"run","action":{"argv":["./a.sh","s3cret"],"base":"/a","dir":"/a"},"policy":{"timeout":3600000000000,"attempts":3},"env":["A"]}`
	for name, c := range map[string]struct {
		theirs string
		want   []string
		places bool
	}{
		"the folder": {`{"kind":"run","action":{"argv":["./a.sh","s3cret"],"base":"/b","dir":"/b"},"policy":{"timeout":3600000000000,"attempts":3},"env":["A"]}`,
			[]string{"dir: /a against /b"}, true},
		"the command and more": {`{"kind":"run","action":{"argv":["./a.sh","other"],"base":"/a","dir":"/a/b"},"check":{"argv":["x"]},"policy":{"timeout":60000000000,"attempts":5},"time_zone":"UTC","env":["A","B"]}`,
			[]string{"action.argv", "dir: /a against /a/b", "check", "env", "attempts: 3 against 5", "timeout", "time_zone: none against UTC"}, false},
		"what can't be read": {`[]`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := compareDefinitions([]byte(base), []byte(c.theirs))
			if !slices.Equal(got.keys, c.want) || got.places != c.places {
				t.Errorf("%q, %t; want %q, %t", got.keys, got.places, c.want, c.places)
			}
		})
	}
}
