package tasks

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"runner/ledger"
)

// Case 50, of requests: what a variable holds is seen by the server only.
func TestValuesOfVariablesAreMaskedAndNeverStored(t *testing.T) {
	const secret = "s3cr3t-of-the-house"
	t.Setenv("TOKEN", secret)
	var got string
	s := served(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization") + r.RequestURI
		w.WriteHeader(400)
		fmt.Fprintf(w, "refused %s", got)
	})
	t.Setenv("URL", strings.Replace(s.URL, "http://", "http://me:"+secret+"@", 1))
	for _, c := range []struct{ task, got string }{
		{`url: "` + s.URL + `/${TOKEN}?k=${TOKEN}"`, "/" + secret + "?k=" + secret},
		{`url: "` + s.URL + `", headers: {Authorization: "Bearer ${TOKEN}"}`, "Bearer " + secret + "/"},
		{`url: "${URL}/x"`, "Basic bWU6czNjcjN0LW9mLXRoZS1ob3VzZQ==/x"},
	} {
		task := httpTask(t, "http: {"+c.task+"}")
		r := send(t, task.Action)
		text, err := json.Marshal([]any{r, task.Definition})
		if err != nil || got != c.got || r.Outcome != ledger.FailedForGood || !strings.Contains(r.Error, "refused") {
			t.Errorf("%s: got %q, %+v, %v", c.task, got, r, err)
		}
		for _, hidden := range []string{secret, "bWU6czN"} {
			if strings.Contains(string(text), hidden) {
				t.Errorf("%s: %s", c.task, text)
			}
		}
		again, err := FromDefinition("grant", task.Definition, 1)
		if err != nil {
			t.Fatal(err)
		}
		if r := send(t, again.Action); r.Outcome != ledger.FailedForGood || got != c.got {
			t.Errorf("from the ledger: got %q, %+v", got, r)
		}
		if err := again.Action.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSecretWrittenIntoARequestIsNotStored(t *testing.T) {
	t.Setenv("TOKEN", "s3cr3t-of-the-house")
	for _, text := range []string{
		`url: "http://x/s3cr3t-of-the-house"`, `url: "http://x/", headers: {A: s3cr3t-of-the-house}`, `url: "http://x/", body: s3cr3t-of-the-house`,
		`url: "http://x/", json: {a: [s3cr3t-of-the-house]}`, `url: "http://x/", json: {s3cr3t-of-the-house: 1}`, `url: "http://x/", proxy: "http://s3cr3t-of-the-house/"`,
	} {
		c := mustLoad(t, "tasks: {a: {secrets: [TOKEN], http: {"+text+"}}}")
		task, err := c.Tasks[0].Build(1)
		if err != nil {
			t.Fatal(err)
		}
		stored, _ := task.Definition.Encode()
		if _, err := FromDefinition("a", task.Definition, 1); err == nil || strings.Contains(string(stored), "s3cr3t") || strings.Contains(c.Tasks[0].Info().Action, "s3cr3t") {
			t.Errorf("%s: stored %s, %v", text, stored, err)
		}
	}
}

func TestVariableThatIsNotSetIsToldBeforeAnythingRuns(t *testing.T) {
	for _, text := range []string{`url: "${TASKS_TEST_NOT}/x"`, `url: "http://x/", headers: {A: "${TASKS_TEST_NOT}"}`, `url: "http://x/", proxy: "${TASKS_TEST_NOT}"`} {
		task, err := mustLoad(t, "tasks: {a: {http: {"+text+"}}}").Tasks[0].Build(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Action.Prepare(); err == nil || err.Error() != `http: environment variable "TASKS_TEST_NOT" is not set` {
			t.Errorf("%s: got %v", text, err)
		}
	}
	t.Setenv("BAD", "s3cr3t://bad host")
	task, err := mustLoad(t, `tasks: {a: {http: {url: "${BAD}/x"}}}`).Tasks[0].Build(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Action.Prepare(); err == nil || !strings.HasPrefix(err.Error(), "http: the URL") {
		t.Errorf("got %v", err)
	}
}
