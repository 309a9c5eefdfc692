package tasks

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runner/ledger"
)

// authority makes certificates.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue makes a certificate and its key, and writes both as NAME.pem and
// NAME.key.
func (a *authority) issue(t *testing.T, name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := c, key
	if a.cert != nil {
		parent, by = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, a.dir, name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, a.dir, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// serve starts a TLS server with the certificate of a name.
func (a *authority) serve(t *testing.T, name string, conf *tls.Config, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	conf.Certificates = []tls.Certificate{pair}
	s.TLS = conf
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// A server of HTTP/2 is spoken to in HTTP/1.1.
func TestTLSBelievesWhomTheTaskSays(t *testing.T) {
	a := newAuthority(t)
	a.issue(t, "server", &x509.Certificate{DNSNames: []string{"grants.internal"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	client, _ := a.issue(t, "client", &x509.Certificate{DNSNames: []string{"runner"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	var proto string
	var peer *x509.Certificate
	s := a.serve(t, "server", &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: pool}, func(_ http.ResponseWriter, r *http.Request) {
		proto, peer = r.Proto, nil
		if len(r.TLS.PeerCertificates) > 0 {
			peer = r.TLS.PeerCertificates[0]
		}
	})
	t.Setenv("URL", s.URL)
	ours := "ca: " + a.dir + "/ca.pem"
	for text, want := range map[string]string{
		"server_name: grants.internal": "unknown authority", ours: "doesn't contain any IP SANs", ours + ", server_name: grants.internal": "",
		ours + ", server_name: grants.internal, cert: " + a.dir + "/client.pem, key: " + a.dir + "/client.key": "",
		"insecure_skip_verify: true": "",
	} {
		act := httpTask(t, `http: {url: "${URL}/x", tls: {`+text+"}}").Action
		for range 2 {
			proto = ""
			r := send(t, act)
			if want != "" && (r.Outcome != ledger.FailedAttempt || !strings.Contains(r.Error, want)) || want == "" && (r.Outcome != ledger.Succeeded || proto != "HTTP/1.1") {
				t.Errorf("%s: got %+v in %q", text, r, proto)
			}
			if want == "" && (peer != nil) != strings.Contains(text, "cert") || peer != nil && !peer.Equal(client) {
				t.Errorf("%s: peer %v", text, peer)
			}
		}
	}
	for _, text := range []string{"ca: " + a.dir + "/none.pem", "ca: " + a.dir + "/ca.key", "cert: " + a.dir + "/ca.pem, key: " + a.dir + "/client.key"} {
		task, err := mustLoad(t, `tasks: {a: {http: {url: "http://x/", tls: {`+text+"}}}}").Tasks[0].Build(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Action.Prepare(); err == nil || !strings.HasPrefix(err.Error(), "http: tls c") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// proxied is a proxy that passes everything on to one server.
func proxied(t *testing.T, to string) (address string, asked *[]string) {
	asked = new([]string)
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		if r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		c, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		w.WriteHeader(http.StatusOK)
		ours, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _, _ = io.Copy(c, ours); c.Close() }()
		_, _ = io.Copy(ours, c)
		ours.Close()
	}))
	t.Cleanup(p.Close)
	return strings.TrimPrefix(p.URL, "http://"), asked
}

func TestProxyIsUsedAsTheTaskSays(t *testing.T) {
	a := newAuthority(t)
	a.issue(t, "server", &x509.Certificate{DNSNames: []string{"grants.internal"}})
	n := 0
	s := a.serve(t, "server", &tls.Config{}, func(_ http.ResponseWriter, r *http.Request) {
		if n++; r.URL.Path == "/drop" || r.ProtoMajor != 1 {
			panic(http.ErrAbortHandler)
		}
	})
	address, asked := proxied(t, strings.TrimPrefix(s.URL, "https://"))
	t.Setenv("PROXY", address)
	t.Setenv("PASSWORD", "s3cr3t-of-the-house")
	act := httpTask(t, `http: {url: "https://grants.internal/{{.biz_id}}", proxy: "http://me:${PASSWORD}@${PROXY}", tls: {ca: `+a.dir+"/ca.pem}}").Action
	at := httpAttempt()
	at.BizID = "fine"
	for range 2 {
		if r := act.Act(t.Context(), at); r.Outcome != ledger.Succeeded {
			t.Errorf("got %+v", r)
		}
	}
	at.BizID = "drop"
	if r := act.Act(t.Context(), at); r.Outcome != ledger.Unknown {
		t.Errorf("got %+v", r)
	}
	want := "CONNECT grants.internal:443 Basic bWU6czNjcjN0LW9mLXRoZS1ob3VzZQ=="
	if len(*asked) != 1 || (*asked)[0] != want || n != 3 {
		t.Errorf("asked %q, %d requests", *asked, n)
	}
	*asked = nil
	plain := httpTask(t, `http: {url: "http://grants.internal/x", expect: 202, proxy: "http://${PROXY}"}`).Action
	if r := send(t, plain); r.Outcome != ledger.Succeeded || len(*asked) != 1 || (*asked)[0] != "POST http://grants.internal/x " {
		t.Errorf("got %+v, asked %q", r, *asked)
	}
	nobody := httpTask(t, `http: {url: "http://grants.internal/x", proxy: "http://127.0.0.1:1"}`).Action
	if r := send(t, nobody); r.Outcome != ledger.FailedAttempt || !strings.HasPrefix(r.Error, "proxyconnect tcp: dial tcp 127.0.0.1:1") {
		t.Errorf("got %+v", r)
	}
}
