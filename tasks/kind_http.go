package tasks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"runner/ledger"
	"runner/runner"
	"runner/tasks/internal/decode"
	"runner/tasks/internal/httpaction"
	"runner/tasks/internal/output"
)

// httpKind sends a request.
var httpKind = kind{
	name:   "http",
	value:  func(f *taskFile) any { return &f.HTTP },
	check:  checkHTTP,
	stored: func(text json.RawMessage) (spec, error) { return storedHTTP(text) },
	probe: &probeKind{
		value: func(f *probeFile) any { return &f.HTTP },
		check: func(c *checker, t *taskFile, key string, f *probeFile) prober { return c.probeHTTP(t, key, &f.HTTP) },
	},
	// What the server has begun goes on without us.
	lingers: true,
}

// httpFile is a request and what its answers mean.
type httpFile struct {
	Method            choice             `yaml:"method" default:"POST; GET of a check" jsonschema:"enum=GET,enum=HEAD,enum=POST,enum=PUT,enum=PATCH,enum=DELETE" jsonschema_description:"The method. Redirects are followed for GET and HEAD only, 10 at most, and the headers go to no other host."`
	URL               string             `yaml:"url" jsonschema:"required" jsonschema_description:"Where to. Behind the host it may hold templates as arguments do, such as {{.biz_id}}; their values are escaped for the place where they stand. ${NAME} is replaced by that environment variable when the run begins, and is never stored."`
	Headers           decode.Map[string] `yaml:"headers" jsonschema_description:"Headers by name; values may hold templates and ${NAME}."`
	JSON              decode.Tree        `yaml:"json" jsonschema_description:"The body as a JSON value. Texts may hold templates and stay texts whatever their values are; numbers, true, false and null are sent as they are written. Text marked with !json, such as !json \"{{.fields.amount}}\", is JSON itself."`
	Body              string             `yaml:"body" jsonschema_description:"The body as text; templates in it are not escaped, but in a form (Content-Type: application/x-www-form-urlencoded), and are refused in JSON. Give the Content-Type under headers."`
	Expect            decode.OneOrMany   `yaml:"expect" default:"2xx" jsonschema_description:"Statuses such as 201 or 2xx that mean done. Any other 2xx is then in doubt."`
	Noop              decode.OneOrMany   `yaml:"noop" jsonschema_description:"Statuses that mean done, because there was nothing to do, such as 409."`
	Later             decode.OneOrMany   `yaml:"later" jsonschema_description:"Statuses that mean not now, besides 429, 425 and a 503 with Retry-After: the whole task pauses for the Retry-After of the answer, or 30s; not counted as an attempt."`
	Permanent         decode.OneOrMany   `yaml:"permanent" jsonschema_description:"Statuses that mean failed for good, with certainly no effect, besides 3xx and 4xx (but 408, 425 and 429)."`
	TLS               tlsFile            `yaml:"tls" jsonschema_description:"Whom to believe, see tls."`
	Proxy             string             `yaml:"proxy" default:"as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say" jsonschema_description:"A proxy such as http://host:3128 or socks5://host:1080, or none. It may hold ${NAME}."`
	IdempotencyHeader string             `yaml:"idempotency_header" default:"Idempotency-Key" jsonschema_description:"The header in which the idempotency key of the record is sent, the same for all attempts; empty: none is sent. Not for a check or a compensation."`
	Result            string             `yaml:"result" jsonschema_description:"A JSON pointer such as /order_no: what it names in the answer is kept as the result of the record, 4 KiB at most."`
}

type tlsFile struct {
	CA         string `yaml:"ca" default:"those of the system" jsonschema_description:"A PEM file with the authorities to believe."`
	Cert       string `yaml:"cert" jsonschema_description:"A PEM file with our own certificate."`
	Key        string `yaml:"key" jsonschema_description:"A PEM file with the key of that."`
	ServerName string `yaml:"server_name" default:"the host of the URL" jsonschema_description:"The name that the server's certificate must have."`
	SkipVerify bool   `yaml:"insecure_skip_verify" default:"false" jsonschema_description:"Believe any server. Anybody between can then read and change everything."`
}

const httpIntro = "A request, as a task, a check or a compensation. What an answer means, where the task says nothing else: 2xx is done; " +
	"429, 425, and 503 with Retry-After pause the whole task; 408 and other 5xx leave the record in doubt, and so does a request of which anything was sent and no whole answer came; " +
	"all other statuses are failed for good, and what was certainly not sent is a failed attempt. A status may be in one of the lists only, and counts for more than its class. " +
	"With `idempotent: true` the task declares that the server honours the idempotency key: what is in doubt is then sent again. Nothing else ever sends a request twice, and HTTP/2, which would, is not used. " +
	"Values of variables are masked in all that is kept; in a URL only those of 8 bytes and more that are no address by themselves."

// defaultKeyHeader is the header of the idempotency key.
const defaultKeyHeader = "Idempotency-Key"

// httpSpec is a request as an action, a check or a compensation.
type httpSpec struct{ *httpaction.Spec }

func checkHTTP(c *checker, f *taskFile) spec {
	c.commandsOnly(f, "an HTTP request")
	s := c.request(&f.HTTP, http.MethodPost)
	s.KeepOutput = string(f.KeepOutput)
	s.KeyHeader = c.keyHeader(&f.HTTP)
	return httpSpec{s}
}

// probeHTTP takes a check or a compensation, for which less can be said.
func (c *checker) probeHTTP(t *taskFile, key string, f *httpFile) prober {
	method := http.MethodPost
	no := map[string]any{"idempotency_header": &f.IdempotencyHeader, "later": &f.Later, "permanent": &f.Permanent}
	if key == ledger.Check.String() {
		method = http.MethodGet
		no["noop"] = &f.Noop
	}
	for name, ptr := range no {
		if c.doc.Has(ptr) {
			c.doc.Report(fmt.Sprintf("%q is not for a %s", name, strings.Replace(key, "compensate", "compensation", 1)), "", ptr)
		}
	}
	s := c.request(f, method)
	s.KeepOutput = string(t.KeepOutput)
	return httpSpec{s}
}

// request takes what all requests have.
func (c *checker) request(f *httpFile, method string) *httpaction.Spec {
	c.choices(f)
	s := &httpaction.Spec{
		Request: httpaction.Request{Method: cmp.Or(string(f.Method), method), URL: f.URL, Headers: c.headers(f.Headers), TLS: f.TLS.in(c.dir), Proxy: f.Proxy, Body: f.Body},
		Expect:  f.Expect, Noop: f.Noop, Later: f.Later, Permanent: f.Permanent, Result: f.Result,
	}
	c.url(f, &f.URL)
	c.statuses(f)
	c.tls(&f.TLS)
	c.proxy(&f.Proxy)
	if c.doc.Has(&f.Result) {
		c.complain("result", httpaction.CheckPointer(f.Result), &f.Result)
	}
	switch {
	case c.doc.Has(&f.JSON) && c.doc.Has(&f.Body):
		c.doc.Report(`"json" and "body" exclude each other`, "", &f.Body)
	case c.doc.Has(&f.JSON):
		s.JSON = &f.JSON
		c.templates(&f.JSON)
	case c.doc.Has(&f.Body):
		c.template(&f.Body)
		if err := s.CheckBody(); err != nil {
			c.doc.Report(err.Error(), "", &f.Body)
		}
	}
	return s
}

// complain reports an error that continues a sentence which begins with a key.
func (c *checker) complain(key string, err error, ptr any) {
	if err != nil {
		c.doc.Report(fmt.Sprintf("%q %v", key, err), "", ptr)
	}
}

func (c *checker) url(section any, url *string) {
	if !c.doc.Has(url) {
		c.doc.Report(`"url" is missing`, "", section)
		return
	}
	if err := language.CheckURL(*url); err != nil {
		c.doc.Report(err.Error(), "", url)
	}
}

func (c *checker) template(text *string) {
	if _, err := parseTemplate(*text); err != nil {
		c.doc.Report(err.Error(), "", text)
	}
}

func (c *checker) templates(t *decode.Tree) {
	if _, err := parseTemplate(t.Text); err != nil {
		c.doc.Report(err.Error(), "", t)
	}
	for i := range t.Items {
		c.templates(&t.Items[i])
	}
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// ownHeaders are those of the connection, which is not the task's.
var ownHeaders = []string{"Connection", "Content-Length", "Expect", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func (c *checker) headers(f decode.Map[string]) (all []httpaction.Header) {
	var names []string
	for i := range f {
		p := &f[i]
		name := textproto.CanonicalMIMEHeaderKey(p.Key)
		switch {
		case !headerName.MatchString(p.Key):
			c.doc.Report(fmt.Sprintf("%q can't name a header", p.Key), "", &p.Key)
		case slices.Contains(ownHeaders, name):
			c.doc.Report(fmt.Sprintf("the header %s is set by runner", name), "", &p.Key)
		case slices.Contains(names, name):
			c.doc.Report(fmt.Sprintf("the header %s is given twice", name), "", &p.Key)
		case strings.ContainsAny(p.Value, "\r\n"):
			c.doc.Report(fmt.Sprintf("the value of the header %s has a line end", name), "", &p.Value)
		}
		c.template(&p.Value)
		names = append(names, name)
		all = append(all, httpaction.Header{Name: p.Key, Value: p.Value})
	}
	return all
}

func (c *checker) keyHeader(f *httpFile) string {
	if !c.doc.Has(&f.IdempotencyHeader) {
		f.IdempotencyHeader = defaultKeyHeader
	}
	name := textproto.CanonicalMIMEHeaderKey(f.IdempotencyHeader)
	if name != "" && (!headerName.MatchString(name) || slices.Contains(ownHeaders, name)) {
		c.doc.Report(fmt.Sprintf("%q can't name the header of the key", f.IdempotencyHeader), "", &f.IdempotencyHeader)
	}
	for i := range f.Headers {
		if textproto.CanonicalMIMEHeaderKey(f.Headers[i].Key) == name {
			c.doc.Report(fmt.Sprintf("the header %s is that of the idempotency key", name), `for a value of your own give idempotency_header: ""`, &f.Headers[i].Key)
		}
	}
	return f.IdempotencyHeader
}

func (c *checker) tls(f *tlsFile) {
	if c.doc.Has(&f.Cert) != c.doc.Has(&f.Key) {
		c.doc.Report(`"cert" and "key" need each other`, "", &f.Cert, &f.Key, f)
	}
}

// in gives the settings with paths relative to a folder made absolute.
func (f *tlsFile) in(dir string) httpaction.TLS {
	return httpaction.TLS{
		CA: absolute(dir, f.CA), Cert: absolute(dir, f.Cert), Key: absolute(dir, f.Key),
		ServerName: f.ServerName, SkipVerify: f.SkipVerify,
	}
}

func (c *checker) proxy(p *string) {
	if c.doc.Has(p) && *p == "" {
		c.doc.Report(`"proxy" is empty`, "write none to use no proxy, whatever the environment says", p)
	}
}

// statuses reports what is wrong with the lists of statuses.
func (c *checker) statuses(f *httpFile) {
	said := map[string]bool{}
	for _, l := range []struct {
		key  string
		list decode.OneOrMany
	}{{"expect", f.Expect}, {"noop", f.Noop}, {"later", f.Later}, {"permanent", f.Permanent}} {
		for i := range l.list {
			status := &l.list[i]
			c.complain(l.key, httpaction.CheckStatus(*status), status)
			if said[*status] {
				c.doc.Report(fmt.Sprintf("status %s is listed twice", *status), "", status)
			}
			said[*status] = true
		}
	}
}

func storedHTTP(text json.RawMessage) (spec, error) {
	s, err := httpaction.Stored(text)
	return httpSpec{s}, err
}

func (s httpSpec) masked(m *output.Masker) (any, bool) { return s.Masked(m) }

func (s httpSpec) words() (action, dir string) { return s.Words(), "" }

func (s httpSpec) action(sur surroundings) runner.Action { return s.inPhase(ledger.Act, sur) }

func (s httpSpec) inPhase(ph ledger.Phase, sur surroundings) runner.Action {
	return httpaction.New(s.Spec, ph, httpaction.Surroundings{
		Mask: sur.mask, Conns: sur.jobs, Language: language, Explain: renderError, Data: templateData,
	})
}

// language is how texts of requests are read.
var language = httpaction.Language{Parse: parseTemplate, Expand: expandTelling}

// JSONSchemaExtend adds what package jsonschema doesn't know of the section.
func (httpFile) JSONSchemaExtend(s *jsonschema.Schema) {
	addDefaults(s, reflect.TypeFor[httpFile]())
	s.Not = &jsonschema.Schema{Required: []string{"json", "body"}}
}

// JSONSchemaExtend adds what package jsonschema doesn't know of the section.
func (tlsFile) JSONSchemaExtend(s *jsonschema.Schema) { addDefaults(s, reflect.TypeFor[tlsFile]()) }
