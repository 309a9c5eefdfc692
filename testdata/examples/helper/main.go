// Command helper plays the world around the examples: it looks into their
// SQLite databases, and is the third party that they call over HTTP.
package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite"
)

const usage = `helper exec DB FILE            run the statements of a file
helper query DB SQL            print rows, values separated by tabs
helper wait DB SQL N           wait until a query gives N or more
helper serve FILE              serve bills and take notifications; the address goes to FILE
helper sent URL                what was sent, by key: how often, and to whom
helper wait-sent URL N         wait until so many notifications were sent`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "helper:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "exec":
		return exec(args[1], args[2])
	case len(args) == 3 && args[0] == "query":
		rows, err := query(args[1], args[2])
		for _, row := range rows {
			fmt.Println(row)
		}
		return err
	case len(args) == 4 && args[0] == "wait":
		return wait(args[3], func() (string, error) {
			rows, err := query(args[1], args[2])
			if err != nil || len(rows) == 0 {
				return "0", err
			}
			return rows[0], nil
		})
	case len(args) == 2 && args[0] == "serve":
		return serve(args[1])
	case len(args) == 2 && args[0] == "sent":
		text, err := get(args[1] + "/sent")
		fmt.Print(text)
		return err
	case len(args) == 3 && args[0] == "wait-sent":
		return wait(args[2], func() (string, error) {
			text, err := get(args[1] + "/sent")
			return strconv.Itoa(strings.Count(text, "\n")), err
		})
	}
	return errors.New("usage:\n" + usage)
}

// wait polls until a number is reached, for half a minute.
func wait(want string, now func() (string, error)) error {
	n, err := strconv.Atoi(want)
	if err != nil {
		return err
	}
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, err := now()
		if err != nil {
			return err
		}
		if got, _ := strconv.Atoi(text); got >= n {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("it is %s after half a minute, not %d", text, n)
		}
	}
}

func open(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
}

func exec(path, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	db, err := open(path)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(string(text))
	return err
}

func query(path, text string) (rows []string, err error) {
	db, err := open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	r, err := db.Query(text)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		return nil, err
	}
	for r.Next() {
		values := make([]any, len(columns))
		texts := make([]sql.NullString, len(columns))
		for i := range values {
			values[i] = &texts[i]
		}
		if err := r.Scan(values...); err != nil {
			return nil, err
		}
		line := make([]string, len(columns))
		for i, t := range texts {
			line[i] = t.String
		}
		rows = append(rows, strings.Join(line, "\t"))
	}
	return rows, r.Err()
}

func get(url string) (string, error) {
	r, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := r.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String(), nil
		}
	}
}

// sender sends messages, each as often as it is asked to: it doesn't know
// keys that it has seen. Its answer is sometimes lost.
type sender struct {
	mu    sync.Mutex
	times map[string]int
	to    map[string]string
}

func serve(file string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &sender{times: map[string]int{}, to: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /bills", bills)
	mux.HandleFunc("POST /notify", s.notify)
	mux.HandleFunc("GET /sent", s.list)
	mux.HandleFunc("GET /sent/{key}", s.one)
	tmp := file + ".tmp"
	if err := os.WriteFile(tmp, []byte("http://"+l.Addr().String()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(tmp, file); err != nil {
		return err
	}
	return http.Serve(l, mux)
}

// bills gives twenty bills of a date, as a third party would.
func bills(w http.ResponseWriter, r *http.Request) {
	type bill struct {
		No     string          `json:"bill_no"`
		Amount json.RawMessage `json:"amount"`
		Payer  string          `json:"payer"`
	}
	date := r.URL.Query().Get("date")
	var all []bill
	for i := range 20 {
		all = append(all, bill{fmt.Sprintf("B%s-%02d", date, i+1), json.RawMessage(fmt.Sprintf("%d.50", 100+i)), fmt.Sprintf("付款人%d", i%3)})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
}

func (s *sender) notify(w http.ResponseWriter, r *http.Request) {
	var m struct{ To string }
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	s.times[key]++
	s.to[key] = m.To
	s.mu.Unlock()
	if strings.HasSuffix(m.To, "5") { // sent, and the answer is lost on its way
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusAccepted)
}

func (s *sender) list(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for key, n := range s.times {
		lines = append(lines, fmt.Sprintf("%s\t%d\n", s.to[key], n))
	}
	slices.Sort(lines)
	_, _ = w.Write([]byte(strings.Join(lines, "")))
}

func (s *sender) one(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times[r.PathValue("key")] == 0 {
		http.NotFound(w, r)
	}
}
