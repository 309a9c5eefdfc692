package tasks

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTasksAreShownWithoutSecrets(t *testing.T) {
	c := mustLoad(t, strings.ReplaceAll(example, "--name=", "--token=s3cr3t-token --name="))
	c.Tasks[0].plan.env = append(c.Tasks[0].plan.env, variablePair{"API_TOKEN", "s3cr3t-token"})
	want := Info{
		Name: "grant-coupon", Description: "Grant the double-eleven coupon", Kind: "run",
		Action: "./grant.sh {{.biz_id}} --token=*** --name={{.fields.name}}",
		Source: "csv users-{{.execute_date}}.csv", BizID: []string{"user_id", "coupon_id"},
		TimeZone: "Asia/Shanghai", Dir: c.Dir + "/work", Jobs: 8, Timeout: "30s",
		Retry: RetryInfo{Attempts: 3, Backoff: "1s", MaxBackoff: "1m", MaxLater: "24h"},
		Check: DoubtInfo{"./was-granted.sh {{.biz_id}}", "1m"}, Compensate: DoubtInfo{"./revoke.sh {{.biz_id}}", "1m"}, CheckAfter: "0s",
		Rate: "50/s", MaxFailures: "5%", Overlap: "join", MaxWait: "10m",
		Secrets: []string{"API_TOKEN"}, Env: []string{"ACTIVITY", "API_TOKEN"},
		Needs: []string{"import", "settle (-1d)"}, Schedule: "5 2 * * * for yesterday since 2026-11-01",
		OnFailure: "./page.sh coupons", OnSuccess: "./note.sh", HookTimeout: "1m", Keep: "400d",
	}
	got := c.Tasks[0].Info()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if text, err := json.Marshal(got); err != nil || strings.Contains(string(text), "s3cr3t") || strings.Contains(string(text), "1111") {
		t.Errorf("got %s, %v", text, err)
	}
	for i, want := range []string{
		"csv users-{{.execute_date}}.csv", "lines orders.txt", "jsonl refunds.jsonl",
		"jsonl of command ./list-shops.sh {{.execute_date}}", "files in/{{.execute_date}}/*.xml", "one record a date",
	} {
		if got := c.Tasks[i].Info(); got.Source != want || got.Jobs < 1 {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
	if got := c.Tasks[2].Info().BizID; cmp.Diff([]string{"refund_no"}, got) != "" {
		t.Errorf("got %v", got)
	}
	if i := mustLoad(t, "tasks: {a: {go: noop, timeout: 0, max_wait: 0, records: {csv: x}}}").Tasks[0].Info(); i.Timeout != "0s" || i.MaxWait != "0s" || i.BizID[0] != "biz_id" || i.Dir != "" {
		t.Errorf("got %+v", i)
	}
}

func TestDefaultsAreThoseOfTheDocumentation(t *testing.T) {
	i := mustLoad(t, "tasks: {a: {go: noop}}").Tasks[0].Info()
	got := map[string]string{
		"timeout": i.Timeout, "overlap": i.Overlap, "max_wait": i.MaxWait, "attempts": strconv.Itoa(i.Retry.Attempts),
		"backoff": i.Retry.Backoff, "max_later": i.Retry.MaxLater, "later": fmt.Sprint([]int{exitLater}),
		"format": commandFormat(&recordsFile{}), "biz_id": defaultBizID, "keep_output": keepFailed, "idempotent": "false",
	}
	for _, s := range sections {
		for _, k := range keysOf(s.value) {
			if v, ok := got[k.name]; ok && v != k.standard && s.title != "http" { // there later is of statuses
				t.Errorf("%s is %q, documented is %q", k.name, v, k.standard)
			}
		}
	}
}
