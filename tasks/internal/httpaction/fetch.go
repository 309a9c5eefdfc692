package httpaction

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"runner/tasks/internal/output"
)

const (
	// maxSilence is how long a server may send nothing of an answer, once it
	// has begun, and maxThought how long it may take to begin.
	maxSilence = time.Minute
	maxThought = 10 * time.Minute
)

// Fetch is a GET of records. Its texts are filled in.
type Fetch struct {
	url      *url.URL
	header   http.Header
	tripper  *http.Transport
	mask     *output.Masker
	silence  time.Duration
	position int64 // records begun
}

// NewFetch makes a fetch; the texts of the request hold variables, and nothing
// else that is to be filled in.
func NewFetch(r *Request, mask *output.Masker, l Language) (*Fetch, error) {
	v := &values{}
	f, err := newFetch(r, &l, v)
	mask = mask.With(v.secret)
	if err != nil {
		return nil, maskedError(err, mask)
	}
	f.mask, f.silence = mask, maxSilence
	return f, nil
}

func newFetch(r *Request, l *Language, v *values) (*Fetch, error) {
	f := &Fetch{header: http.Header{
		"User-Agent": {"runner"}, "Accept": {"application/json, application/x-ndjson;q=0.9, */*;q=0.1"},
	}}
	t, err := l.compileURL(r.URL, v.ofURL)
	if err != nil {
		return nil, err
	}
	if user := t.user(v.add); user != "" {
		f.header["Authorization"] = []string{user}
	}
	if f.url, err = url.Parse(t.plain); err != nil {
		return nil, errors.New("the URL can't be read")
	}
	f.url.User = nil
	for _, h := range r.Headers {
		s, err := l.Expand(h.Value, v.add)
		if err != nil {
			return nil, err
		}
		if s = strings.Trim(s, " \t"); !validHeaderValue(s) {
			return nil, fmt.Errorf("the value of the header %s has a line end or a control character", h.Name)
		}
		f.header[textproto.CanonicalMIMEHeaderKey(h.Name)] = []string{s}
	}
	proxy, err := proxyOf(r.Proxy, l, v.add)
	if err != nil {
		return nil, err
	}
	if f.tripper, err = newTransport(r.TLS, proxy, 1); err != nil {
		return nil, err
	}
	f.tripper.DisableCompression = false
	f.tripper.ResponseHeaderTimeout = maxThought
	return f, nil
}

// Name is what people know the source by.
func (f *Fetch) Name() string { return f.mask.String(withoutQuery(f.url)) }

// Reached gives the number of the record at which Copy is.
func (f *Fetch) Reached() int64 { return f.position }

// Copy writes the records of the answer, one JSON text a line. It fails unless
// all of the answer came.
func (f *Fetch) Copy(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer f.tripper.CloseIdleConnections()
	err := f.copy(ctx, cancel, w)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	var foreign errWrite
	if err == nil || errors.As(err, &foreign) {
		return err
	}
	return errors.New(output.Valid(f.mask.String(err.Error())))
}

// errWrite is an error of the writer, which isn't ours to change.
type errWrite struct{ error }

func (e errWrite) Unwrap() error { return e.error }

func (f *Fetch) copy(ctx context.Context, cancel context.CancelCauseFunc, w io.Writer) error {
	res, err := f.get(ctx)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	silent := fmt.Errorf("nothing more came for %s", f.silence)
	timer := time.AfterFunc(f.silence, func() { cancel(silent) })
	defer timer.Stop()
	body := bufio.NewReaderSize(readerFunc(func(p []byte) (int, error) {
		n, err := res.Body.Read(p)
		timer.Reset(f.silence)
		return n, err
	}), 64<<10)
	array, err := isArray(body)
	switch {
	case err != nil:
		return fmt.Errorf("the answer broke off: %w", whole(err))
	case array:
		return splitArray(body, w, &f.position)
	case res.ContentLength < 0 && len(res.TransferEncoding) == 0 && !res.Uncompressed:
		return errors.New("the answer tells no length, so nobody can know whether all lines came; a JSON array has an end of its own")
	}
	_, err = io.Copy(&counter{w, &f.position}, body)
	var foreign errWrite
	if err != nil && !errors.As(err, &foreign) {
		return fmt.Errorf("the answer broke off: %w", whole(err))
	}
	return err
}

// whole names an end that came too early.
func whole(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("its end is missing")
	}
	return err
}

// get follows redirects and looks at the head of the answer.
func (f *Fetch) get(ctx context.Context) (*http.Response, error) {
	c := call{method: http.MethodGet, url: f.url, header: f.header}
	for hop := 0; ; hop++ {
		res, err := f.tripper.RoundTrip(c.request(ctx))
		if err != nil {
			return nil, err
		}
		if !redirects(res.StatusCode) || res.Header.Get("Location") == "" {
			return res, f.head(res)
		}
		res.Body.Close()
		to, err := c.url.Parse(res.Header.Get("Location"))
		if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" || hop == maxRedirects {
			return nil, fmt.Errorf("status %d, and its Location can't be followed", res.StatusCode)
		}
		c = c.redirected(to)
	}
}

func (f *Fetch) head(res *http.Response) (err error) {
	defer func() {
		if err != nil {
			res.Body.Close()
		}
	}()
	if res.StatusCode != http.StatusOK {
		a := answer{status: res.StatusCode}
		start, _ := io.ReadAll(io.LimitReader(res.Body, 4*maxExcerpt))
		text := statusText(&a)
		if s := strings.Join(strings.Fields(output.Valid(string(start))), " "); s != "" {
			text += ": " + output.Cut(f.mask.String(s), maxExcerpt)
		}
		return errors.New(text)
	}
	t, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case t == "", t == "text/plain", t == "application/octet-stream", strings.Contains(t, "json"):
		return nil
	}
	return fmt.Errorf("the answer is %s, not JSON", t)
}

// isArray tells whether the text is one JSON array, by its first byte that is
// no blank and no byte order mark.
func isArray(r *bufio.Reader) (bool, error) {
	if start, _ := r.Peek(3); bytes.Equal(start, []byte("\xef\xbb\xbf")) {
		_, _ = r.Discard(3) // is buffered
	}
	for {
		c, err := r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case isBlank(c):
			continue
		}
		return c == '[', r.UnreadByte()
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// counter counts lines.
type counter struct {
	to    io.Writer
	lines *int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	*c.lines += int64(bytes.Count(p[:n], []byte("\n")))
	if err != nil {
		err = errWrite{err}
	}
	return n, err
}
