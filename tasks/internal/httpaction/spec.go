package httpaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"runner/tasks/internal/decode"
	"runner/tasks/internal/output"
)

// Request is a request as it is written: its texts are templates, and hold
// ${NAME} for environment variables. It is stored so, never expanded.
type Request struct {
	Method  string       `json:"method"`
	URL     string       `json:"url"`
	Headers []Header     `json:"headers,omitempty"`
	JSON    *decode.Tree `json:"json,omitempty"`
	Body    string       `json:"body,omitempty"`
	TLS     TLS          `json:"tls,omitzero"`
	Proxy   string       `json:"proxy,omitempty"` // or none; empty: as the environment says
}

// Header is a header with its value.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TLS says whom to believe, and who we are. Paths are absolute.
type TLS struct {
	CA         string `json:"ca,omitempty"`
	Cert       string `json:"cert,omitempty"`
	Key        string `json:"key,omitempty"`
	ServerName string `json:"server_name,omitempty"`
	SkipVerify bool   `json:"insecure_skip_verify,omitempty"`
}

// Spec is what an action does. It is plain data.
type Spec struct {
	Request
	// What a status means, as 404 or 4xx. Where nothing is said of it, that of
	// judge.
	Expect    []string `json:"expect,omitempty"`
	Noop      []string `json:"noop,omitempty"`
	Later     []string `json:"later,omitempty"`
	Permanent []string `json:"permanent,omitempty"`
	// KeyHeader is the header of the idempotency key; empty: none is sent.
	KeyHeader  string `json:"idempotency_header,omitempty"`
	Result     string `json:"result,omitempty"` // a JSON pointer into the answer
	KeepOutput string `json:"keep_output,omitempty"`
}

// Stored is the inverse of Masked.
func Stored(text json.RawMessage) (*Spec, error) {
	s := &Spec{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	if s.Method == "" || s.URL == "" {
		return nil, errors.New("it has no request")
	}
	return s, nil
}

// Masked gives what may be stored, and whether a secret was taken out.
func (s *Spec) Masked(m *output.Masker) (stored Spec, incomplete bool) {
	stored = *s
	mask := func(text string) string {
		masked := m.String(text)
		incomplete = incomplete || masked != text
		return masked
	}
	stored.Method, stored.URL, stored.Body = mask(s.Method), mask(s.URL), mask(s.Body)
	stored.Headers = make([]Header, len(s.Headers))
	for i, h := range s.Headers {
		stored.Headers[i] = Header{h.Name, mask(h.Value)}
	}
	if s.JSON != nil {
		t := mapTree(*s.JSON, mask)
		stored.JSON = &t
	}
	stored.Proxy, stored.KeyHeader = mask(s.Proxy), mask(s.KeyHeader)
	return stored, incomplete
}

// mapTree changes the texts of a tree.
func mapTree(t decode.Tree, change func(string) string) decode.Tree {
	t.Text = change(t.Text)
	t.Names, t.Items = append([]string(nil), t.Names...), append([]decode.Tree(nil), t.Items...)
	for i := range t.Names {
		t.Names[i] = change(t.Names[i])
	}
	for i := range t.Items {
		t.Items[i] = mapTree(t.Items[i], change)
	}
	return t
}

// Words says it for people, not masked.
func (r *Request) Words() string { return r.Method + " " + r.URL }

// header gives the value of a header as it is written.
func (r *Request) header(name string) string {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// CheckStatus says what is wrong with a status such as 404 or 4xx.
func CheckStatus(s string) error {
	if len(s) == 3 && s[0] >= '2' && s[0] <= '5' && (s[1:] == "xx" || isDigit(s[1]) && isDigit(s[2])) {
		return nil
	}
	return fmt.Errorf("wants a status from 200 to 599, or 2xx, 3xx, 4xx or 5xx for all of a class, not %q", s)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// says tells how well a list fits a status: 2 if it names it, 1 if its class.
func says(list []string, status int) (fit int) {
	code := fmt.Sprint(status)
	for _, s := range list {
		switch {
		case s == code:
			return 2
		case s[1:] == "xx" && s[0] == code[0]:
			fit = 1
		}
	}
	return fit
}
