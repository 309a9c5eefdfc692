package ledgertest

import (
	"fmt"
	"slices"
	"strings"

	"runner/ledger"
)

// hostile keys differ by what a careless store folds, trims, parses or
// splices.
var hostile = []string{
	"a", "A", "a ", " a", "a\t", "01", "1", "1.0", "1e3", "-1", "0x1F", "null", "true", "-",
	"%", "_", "*", "?", "[a]", "a%", "a_", "a*", "100%_*", `\`, `\\`, `a\`, `\u0041`, `\n`, `\x00`,
	"'", "''", `"`, "`", `a"b`, `{"a":1}`, `["a"]`, "a,b", "a;b", "'; DROP TABLE record; --", "$1", "?1", ":a", "@a", "{}", "{{.biz_id}}",
	"é", "e\u0301", // NFC and NFD are two keys
	"Å", "\u212b", "ß", "SS", "İ", "i", "ı",
	"👩\u200d👩\u200d👧", "👩", "\u200d", "\ufeffa", "\u2028", "\u2029", "\u00a0", "\u202e", "\x01", "\x1f", "\x7f", "\u0080",
	"\uffff", "\U0010ffff", "\U0010ffff\U0010ffffz", "\ud7ff", "\ue000", "用户-001", "用户", strings.Repeat("x", ledger.MaxBizID),
	strings.Repeat("x", ledger.MaxBizID-1), strings.Repeat("👩", ledger.MaxBizID/4),
}

func hostileKeys(f *fixture) {
	for _, id := range hostile {
		f.check(ledger.CheckBizID(id))
	}
	b := f.batch(task, date)
	list := f.plan(b, hostile...)
	for i, e := range list {
		f.equal("key", e.BizID, hostile[i])
	}
	f.equal("pending", f.batch(task, date).Counts, ledger.Counts{ledger.Pending: int64(len(hostile))})
	for _, id := range hostile {
		f.equal("listed by key", f.list(ledger.Query{BizIDs: []string{id, "no such"}}), []string{id})
		f.equal("listed by prefix", f.list(ledger.Query{BizPrefix: id, Ascending: true}), withPrefix(id))
	}
	all := f.list(ledger.Query{TaskName: task, BizIDs: append([]string{"no such"}, hostile...), Ascending: true})
	f.equal("listed by all keys", all, hostile)
	for _, t := range []string{"a'b", `"`, "任务", "%", "e\u0301"} {
		other := f.batch(t, date)
		f.plan(other, "x")
		f.equal("listed by task", f.list(ledger.Query{TaskName: t}), []string{"x"})
	}
}

func withPrefix(p string) (ids []string) {
	for _, id := range hostile {
		if strings.HasPrefix(id, p) {
			ids = append(ids, id)
		}
	}
	return ids
}

func prefixes(f *fixture) {
	f.plan(f.batch(task, date), "a", "ab", "a%", "a%b", "a_b", "axb", "a*", "A", "b", "Ab")
	f.plan(f.batch(task, "2026-11-12"), "a%c", "c")
	for _, c := range []struct {
		prefix string
		want   []string
	}{
		{"a%", []string{"a%", "a%b", "a%c"}},
		{"a_", []string{"a_b"}},
		{"a*", []string{"a*"}},
		{"A", []string{"A", "Ab"}},
		{"ab", []string{"ab"}},
		{"zz", nil},
	} {
		f.equal(fmt.Sprintf("prefix %q", c.prefix), f.list(ledger.Query{BizPrefix: c.prefix, Ascending: true}), c.want)
	}
	f.equal("prefix and date", f.list(ledger.Query{BizPrefix: "a%", ExecuteDate: date}), []string{"a%b", "a%"})
	f.equal("prefix and limit", f.list(ledger.Query{BizPrefix: "a", Limit: 2}), []string{"a%c", "a*"})
	f.equal("prefix and keys", f.list(ledger.Query{BizPrefix: "a", BizIDs: []string{"a", "b", "ab"}}), []string{"ab", "a"})
}

func hostilePayloads(f *fixture) {
	b := f.batch(task, date)
	payloads := []string{
		`{}`, `{ }`, "{\n\t\"a\": 1\r\n}", `{"a":1.0,"a":1}`, `{"n":12345678901234567890.10}`, `{"s":"\u0000"}`, `{"s":"\u0041\/\\"}`,
		`{"s":"<&>"}`, "{\"s\":\"\u2028\"}", `{"s":"\ud83d\ude00"}`, `{"s":"\ud83d"}`, `{"k":"` + strings.Repeat(`\"`, 50_000) + `"}`,
		"{\"s\":\"\x7f👩é\"}", "{\"raw\":\"\xff\xfe\"}", `{"deep":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`, "",
	}
	var in []ledger.Input
	for i, p := range payloads {
		in = append(in, ledger.Input{BizID: fmt.Sprint(i), Payload: []byte(p)})
	}
	var ids []int64
	f.update(func(tx ledger.Tx) error {
		if _, err := tx.Insert(b.ID, in); err != nil {
			return err
		}
		known, err := tx.Find(b.ID, in)
		for i, k := range known {
			if !k.SamePayload {
				f.Errorf("payload %.60q is not the same as itself", payloads[i])
			}
			ids = append(ids, k.ID)
		}
		return err
	})
	for i, id := range ids {
		e := f.get(id)
		f.equal("payload as inserted", string(e.Payload), payloads[i])
		next := e
		next.Payload = []byte(payloads[(i+1)%len(payloads)])
		f.swap(ledger.Change{Old: e, New: next})
		f.equal("payload as changed", f.get(id), next)
	}
	slices.Reverse(in)
	f.view(func(r ledger.Reader) error {
		known, err := r.Find(b.ID, in)
		for i, k := range known {
			if k.SamePayload {
				f.Errorf("another payload is the same as %.60q", in[i].Payload)
			}
		}
		return err
	})
}
