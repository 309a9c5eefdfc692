package ledger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// openPlan is what Batch.OpenPlanRun holds: the runs that are planning, and
// the shards of its input that nobody has planned. A batch that was begun by a
// shard isn't whole before all have planned, or one run has planned it whole.
type openPlan struct {
	runs   []string
	of     int   // shards; 0: none is missing
	shards []int // that are missing
}

const shardsWord = "shards/" // then how many there are, a colon, and those that are missing

func parsePlan(text string) (p openPlan) {
	for _, word := range strings.Fields(text) {
		rest, ok := strings.CutPrefix(word, shardsWord)
		if !ok {
			p.runs = append(p.runs, word)
			continue
		}
		of, list, _ := strings.Cut(rest, ":")
		p.of, _ = strconv.Atoi(of) // written below
		for _, s := range strings.Split(list, ",") {
			if n, err := strconv.Atoi(s); err == nil {
				p.shards = append(p.shards, n)
			}
		}
	}
	return p
}

func (p openPlan) String() string {
	words := slices.Clone(p.runs)
	if len(p.shards) > 0 {
		var list []string
		for _, n := range p.shards {
			list = append(list, strconv.Itoa(n))
		}
		words = append(words, shardsWord+strconv.Itoa(p.of)+":"+strings.Join(list, ","))
	}
	return strings.Join(words, " ")
}

// begin adds a run. In a batch that is new, or was begun in another number of
// shards, all shards are missing.
func (p *openPlan) begin(r *Run, shared, isNew bool) {
	p.runs = append(p.runs, r.ID)
	if of := r.Shard.Count; shared && of > 1 && (isNew || len(p.shards) > 0 && p.of != of) {
		p.of, p.shards = of, nil
		for i := range of {
			p.shards = append(p.shards, i+1)
		}
	}
}

// planned takes out what a run has planned.
func (p *openPlan) planned(s Shard) {
	switch {
	case s.Count <= 1:
		p.shards = nil
	case s.Count == p.of:
		p.shards = slices.DeleteFunc(p.shards, func(n int) bool { return n == s.Index })
	}
}

// Planning gives the runs that are planning, or died while they were.
func (b Batch) Planning() []string { return parsePlan(b.OpenPlanRun).runs }

// Unplanned says which shards of its input nobody has planned; empty if none.
func (b Batch) Unplanned() string {
	p := parsePlan(b.OpenPlanRun)
	if len(p.shards) == 0 {
		return ""
	}
	var list []string
	for _, n := range p.shards[:min(len(p.shards), 5)] {
		list = append(list, strconv.Itoa(n))
	}
	if more := len(p.shards) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s of %d", strings.Join(list, ", "), p.of)
}

// live leaves out a run, and those that have ended.
func (p *openPlan) live(r Reader, without string) error {
	var err error
	p.runs = slices.DeleteFunc(p.runs, func(id string) bool {
		if id == without || err != nil {
			return true
		}
		var runs []Run
		runs, err = r.Runs(RunQuery{ID: id})
		return len(runs) == 0 || !runs[0].EndedAt.IsZero()
	})
	return err
}

// beginPlan opens the plan of a run in its batch.
func beginPlan(tx Tx, b *Batch, r *Run, shared bool) error {
	p := parsePlan(b.OpenPlanRun)
	if err := p.live(tx, r.ID); err != nil {
		return err
	}
	p.begin(r, shared, b.ID == 0)
	b.OpenPlanRun = p.String()
	return nil
}

// endPlan closes it, with all of its shard in the ledger or not.
func endPlan(tx Tx, b *Batch, r *Run, planned bool) error {
	p := parsePlan(b.OpenPlanRun)
	if planned && slices.Contains(p.runs, r.ID) {
		p.planned(r.Shard)
	}
	err := p.live(tx, r.ID)
	b.OpenPlanRun = p.String()
	return err
}
