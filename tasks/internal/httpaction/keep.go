package httpaction

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"runner/tasks/internal/output"
)

const (
	maxExcerpt = 300 // bytes of an answer in an error
	// minInURL is the length from which the value of a variable in a URL is
	// taken for a secret: shorter ones are ports and regions.
	minInURL = 8
)

// values are those of variables that must not be shown.
type values struct{ secret []string }

func (v *values) add(s string) { v.secret = append(v.secret, s) }

// ofURL takes the value of a variable in a URL. That of a whole address is
// shown, unless somebody's password is in it.
func (v *values) ofURL(s string) {
	if address := strings.Contains(s, "://") && !strings.Contains(s, "@"); len(s) >= minInURL && !address {
		v.add(s)
	}
}

// user gives the header that stands for user and password in a URL, and tells
// both as secrets.
func (t *text) user(secret func(string)) string {
	u, err := url.Parse(t.start())
	if err != nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	both := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
	secret(password)
	secret(both)
	return "Basic " + both
}

// excerpt is the beginning of an answer, in one line.
func (a *Action) excerpt(ans *answer) string {
	s := strings.Join(strings.Fields(output.Valid(a.mask.String(string(ans.body)))), " ")
	return output.Cut(s, maxExcerpt)
}

// shown are the headers of an answer that are kept with it.
var shown = []string{"Content-Type", "Retry-After", "Location"}

// kept is an answer for people, masked and cut.
func (a *Action) kept(ans *answer) string {
	if ans.header == nil {
		return ""
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %d %s\n", ans.proto, ans.status, http.StatusText(ans.status))
	for _, name := range shown {
		if v := ans.header.Get(name); v != "" {
			fmt.Fprintf(&head, "%s: %s\n", name, v)
		}
	}
	rec := output.NewRecorder()
	rec.Reset(a.mask, true)
	rec.Write(output.Stdout, []byte(head.String()+"\n"))
	rec.Write(output.Stdout, ans.body)
	if ans.cut || ans.err != nil {
		rec.FinishCut()
	} else {
		rec.Finish()
	}
	return rec.Text()
}
