package tasks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"runner/runner"
	"runner/tasks/internal/decode"
	"runner/tasks/internal/httpaction"
)

// httpSourceKind has the records in the answer to a GET.
var httpSourceKind = sourceKind{
	name:   "http",
	value:  func(f *recordsFile) any { return &f.HTTP },
	format: func(*recordsFile) string { return FormatJSONL },
	check:  checkHTTPSource,
	words:  func(f *recordsFile) string { return "http " + f.HTTP.URL },
	open:   openHTTPSource,
}

type httpSourceFile struct {
	URL     string             `yaml:"url" jsonschema:"required" jsonschema_description:"What to GET. It may hold {{.execute_date}} and ${NAME}."`
	Headers decode.Map[string] `yaml:"headers" jsonschema_description:"Headers by name; values may hold ${NAME}."`
	TLS     tlsFile            `yaml:"tls" jsonschema_description:"Whom to believe, see tls."`
	Proxy   string             `yaml:"proxy" default:"as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say" jsonschema_description:"A proxy, as for a request."`
}

const httpSourceIntro = "The answer is a JSON array of objects, or one JSON object a line; numbers keep their text, and biz_id names members as for a jsonl. " +
	"Anything but a whole answer with status 200 is an error, and nothing runs. It may be of any size."

func checkHTTPSource(c *checker, f *recordsFile) {
	h := &f.HTTP
	c.url(h, &h.URL)
	if _, err := renderPath(h.URL, "2006-01-02"); err != nil {
		c.doc.Report(err.Error(), "the URL of a source may hold {{.execute_date}}", &h.URL)
	}
	for i := range h.Headers {
		if v := &h.Headers[i].Value; strings.Contains(*v, "{{") {
			c.doc.Report("a header of a source can't hold a template", "there is no record yet; ${NAME} is allowed", v)
		}
	}
	c.headers(h.Headers)
	c.tls(&h.TLS)
	c.proxy(&h.Proxy)
}

func openHTTPSource(t *Task, q request) (runner.Source, error) {
	f := &t.records.HTTP
	url, err := renderPath(f.URL, q.date)
	if err != nil {
		return nil, err
	}
	r := httpaction.Request{Method: http.MethodGet, URL: url, TLS: f.TLS.in(t.dir), Proxy: f.Proxy}
	for _, h := range f.Headers {
		r.Headers = append(r.Headers, httpaction.Header{Name: h.Key, Value: h.Value})
	}
	fetch, err := httpaction.NewFetch(&r, t.plan.masker(), language)
	if err != nil {
		return nil, err
	}
	o := SourceOptions{Format: FormatJSONL, BizID: t.records.BizID, Fields: q.fields}
	if err := o.check(); err != nil {
		return nil, err
	}
	return o.text(fetched(fetch)), nil
}

// fetched gets the answer at the first read, once. Closing it breaks off what
// is still going on.
func fetched(f *httpaction.Fetch) *input {
	ctx, cancel := context.WithCancel(context.Background())
	in := newInput(f.Name())
	in.produce = func(w io.Writer) error {
		if err := f.Copy(ctx, w); err != nil {
			if w.(*spoolWriter).err != nil {
				return err
			}
			return in.fail(f.Reached(), fmt.Sprintf("can't be got: %v", err), "")
		}
		return nil
	}
	in.close = func() error { cancel(); return nil }
	return in
}

// JSONSchemaExtend adds what package jsonschema doesn't know of the section.
func (httpSourceFile) JSONSchemaExtend(s *jsonschema.Schema) {
	addDefaults(s, reflect.TypeFor[httpSourceFile]())
}
