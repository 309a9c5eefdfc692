package tasks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMistakesInRequestsAreToldWithTheirPlaces(t *testing.T) {
	for text, want := range map[string][]string{
		`http: {method: post}`: {
			`3:12: "url" is missing`,
			`3:21: "method" can be GET, HEAD, POST, PUT, PATCH, DELETE, not "post"`,
		},
		`http: {url: x}`: {
			`3:18: the URL must begin with http:// or https:// and a host`,
		},
		`http: {url: "ftp://x/"}`: {
			`3:18: the URL must begin with http:// or https:// and a host`,
		},
		`http: {url: "${A}/x/{{.biz_id}}?a=${B}"}`:      nil,
		`http: {url: "${A}://${B}:${C}/x/{{.biz_id}}"}`: nil,
		`http: {url: "https://${A}:${B}@${C}:${D}{{.biz_id}}"}`: {
			`3:18: a template can't stand before the path of the URL`,
		},
		`http: {url: "http://{{.biz_id}}.x/"}`: {
			`3:18: a template can't stand before the path of the URL`,
		},
		`http: {url: "${A}{{.biz_id}}"}`: {
			`3:18: a template can't stand before the path of the URL`,
		},
		`http: {url: "{{if .biz_id}}http://a/{{end}}"}`: {
			`3:18: a template can't stand before the path of the URL`,
		},
		`http: {url: "http://x:pw@y/"}`: {
			`3:18: the URL has a password, which would be stored; write ${NAME} and set that variable`,
		},
		`http: {url: "http://x/#{{.biz_id}}"}`: {
			`3:18: the URL has a fragment (#…), which is never sent; write %23 if the character is meant`,
		},
		`http: {url: "http://x:a/"}`: {
			`3:18: the URL can't be read: invalid port ":a" after host`,
		},
		`http: {url: "http://x/{{.id}}"}`: {
			`3:18: template "http://x/{{.id}}": there is no .id, only .biz_id, .execute_date, .task_name, .generation, .idempotency_key, .fields`,
		},
		`http: {url: "http://x/{{define \"a\"}}{{.biz_id}}{{end}}{{template \"a\" .}}"}`: {
			`3:18: template "http://x/{{define \"a\"}}{{.biz_id}}{{end}}{{template \"a\" .}}": it can't define templates`,
		},
		`http: {url: "http://x/", json: {a: ["{{.x}}"], b: 0x1}, body: a}`: {
			`3:56: "b" 0x1 is no number in JSON`,
			`3:68: "json" and "body" exclude each other`,
		},
		`http: {url: "http://x/", body: '{"a": "{{.biz_id}}"}', headers: {content-type: application/json}}`: {
			`3:37: a template in the text of a JSON body is not escaped; write the body under json`,
		},
		`http: {url: "http://x/", body: '{"a": 1}', headers: {content-type: application/json}}`: nil,
		`http: {url: "http://x/", headers: {A: 1, a: 2, "x y": 3, Content-Length: 4, B: "{{", C: "a\nb"}}`: {
			`3:47: the header A is given twice`,
			`3:53: "x y" can't name a header`,
			`3:63: the header Content-Length is set by runner`,
			`3:85: template "{{": unclosed action`,
			`3:94: the value of the header C has a line end`,
		},
		`http: {url: "http://x/", headers: {idempotency-key: 1}}`: {
			`3:41: the header Idempotency-Key is that of the idempotency key`,
		},
		`http: {url: "http://x/", headers: {idempotency-key: 1}, idempotency_header: ""}`: nil,
		`http: {url: "http://x/", idempotency_header: "a b"}`: {
			`3:51: "a b" can't name the header of the key`,
		},
		`http: {url: "http://x/", expect: [200, 600, x], noop: 200, later: 2xx}`: {
			`3:45: "expect" wants a status from 200 to 599, or 2xx, 3xx, 4xx or 5xx for all of a class, not "600"`,
			`3:50: "expect" wants a status from 200 to 599, or 2xx, 3xx, 4xx or 5xx for all of a class, not "x"`,
			`3:60: status 200 is listed twice`,
		},
		`http: {url: "http://x/", tls: {cert: a}, proxy: "", result: a}`: {
			`3:43: "cert" and "key" need each other`,
			`3:54: "proxy" is empty`,
			`3:66: "result" wants a JSON pointer such as /order_no or /orders/0/id, not "a"`,
		},
		`http: {url: "http://x/", result: /a~2}`: {
			`3:39: "result" is no JSON pointer: in one, ~ is written ~0 and / is written ~1`,
		},
		`{http: {url: "http://x/"}, env: {A: 1}, dir: x, keep_output: all}`: {
			`3:37: "env" is for commands, not for an HTTP request`,
			`3:50: "dir" is for commands, not for an HTTP request`,
		},
		`{http: {url: "http://x/"}, env: {A: 1}, check: [x]}`: nil,
		`{http: {url: "http://x/"}, run: [x]}`: {
			`3:12: "run" and "http" exclude each other`,
		},
		`{run: [x], check: {http: {url: "http://x/", noop: [1], later: [423], idempotency_header: A}}}`: {
			`3:55: "noop" is not for a check`,
			`3:56: "noop" wants a status from 200 to 599, or 2xx, 3xx, 4xx or 5xx for all of a class, not "1"`,
			`3:67: "later" is not for a check`,
			`3:94: "idempotency_header" is not for a check`,
		},
		`{run: [x], check: [x], compensate: {http: {url: "http://x/", permanent: [500]}}}`: {
			`3:77: "permanent" is not for a compensation`,
		},
		`{run: [x], check: {run: [x], http: {url: "http://x/"}}}`: {
			`3:40: "run" and "http" exclude each other`,
		},
		`{go: noop, records: {http: {headers: {A: "{{.biz_id}}"}}}}`: {
			`3:32: "url" is missing`,
			`3:46: a header of a source can't hold a template`,
		},
		`{go: noop, records: {http: {url: "http://x/{{.biz_id}}"}, format: jsonl}}`: {
			`3:38: template "http://x/{{.biz_id}}": there is no .biz_id, only .execute_date`,
			`3:71: "format" is for the output of a "command"`,
		},
		`{go: noop, timeout: 0, check: {http: {url: "http://x/"}}}`: {
			`3:25: with "timeout" 0 a task with a check must give "check_after"`,
		},
	} {
		if text[0] != '{' {
			text = "{" + text + "}"
		}
		text = "tasks:\n  a:\n    " + text + "\n"
		if want == nil {
			mustLoad(t, text)
			continue
		}
		if d := cmp.Diff(want, problems(t, text)); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}
