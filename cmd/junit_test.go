package cmd

import (
	"bytes"
	"encoding/xml"
	"testing"
	"unicode/utf8"

	"github.com/jstemmer/go-junit-report/v2/junit"
	"pgregory.net/rapid"

	"runner/ledger"
)

// Whatever a record is called and whatever it printed, the file can be read,
// and says it.
func TestAJUnitFileIsXMLWhateverARecordSays(t *testing.T) {
	anything := rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "bytes")) + rapid.String().Draw(t, "text") + rapid.SampledFrom([]string{"", "]]>", "<![CDATA[", "\x00", "\ufffe", "\U0001F600", "&amp;", "\r\n"}).Draw(t, "end")
	})
	rapid.Check(t, func(t *rapid.T) {
		e := ledger.Entry{Status: rapid.SampledFrom(ledger.Statuses).Draw(t, "status"), Error: anything.Draw(t, "error")}
		e.BizID = anything.Draw(t, "biz_id")
		var s junit.Testsuite
		s.AddTestcase(recordCase(e, xmlText(anything.Draw(t, "task"))))
		all := junit.Testsuites{}
		all.AddSuite(s)
		var b bytes.Buffer
		if err := all.WriteXML(&b); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) {
			t.Fatalf("no UTF-8: %q", b.String())
		}
		var back junit.Testsuites
		if err := xml.Unmarshal(b.Bytes(), &back); err != nil {
			t.Fatalf("%v in %q", err, b.String())
		}
		if got := back.Suites[0].Testcases[0].Name; got != xmlText(e.BizID) {
			t.Fatalf("%q became %q", e.BizID, got)
		}
	})
}
