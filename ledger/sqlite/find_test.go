package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"runner/ledger"
)

// TestRisingInputsFindWhatOthersFind asks for the same records by a scan and,
// backwards, one by one.
func TestRisingInputsFindWhatOthersFind(t *testing.T) {
	s := openIn(t, t.TempDir())
	batches := 0
	key := rapid.OneOf(rapid.StringMatching("[a-d]{1,3}"), rapid.StringMatching("[^\n\r\x00]{1,3}"))
	rapid.Check(t, func(rt *rapid.T) {
		batches++
		b := ledger.Batch{TaskName: "t", ExecuteDate: fmt.Sprintf("%010d", batches)}
		update(t, s, func(tx ledger.Tx) error {
			if err := tx.PutBatch(&b); err != nil {
				return err
			}
			in := make([]ledger.Input, 0, 50)
			for i, k := range rapid.SliceOfN(key, 0, 50).Draw(rt, "stored") {
				in = append(in, ledger.Input{BizID: k})
				if i%5 == 4 {
					in[i].Payload = []byte("{}")
				}
			}
			_, err := tx.Insert(b.ID, in)
			return err
		})
		asked := rapid.SliceOfNDistinct(key, 1, 60, rapid.ID[string]).Draw(rt, "asked")
		slices.SortFunc(asked, strings.Compare)
		in := make([]ledger.Input, len(asked))
		for i, k := range asked {
			in[i].BizID = k
		}
		back := slices.Clone(in)
		slices.Reverse(back)
		err := s.View(t.Context(), func(r ledger.Reader) error {
			scanned, err := r.Find(b.ID, in)
			if err != nil {
				return err
			}
			found, err := r.Find(b.ID, back)
			slices.Reverse(found)
			if d := cmp.Diff(found, scanned); d != "" {
				rt.Errorf("%q (-one by one +by a scan):\n%s", asked, d)
			}
			return err
		})
		if err != nil {
			rt.Error(err)
		}
	})
}
