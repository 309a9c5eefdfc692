package cmd

import (
	"iter"
	"strings"

	"runner/runner"
)

// picked is those records of a source that have one of some biz_ids. That one
// of them isn't there is an error.
type picked struct {
	runner.Source
	ids []string
}

func (p *picked) Records() iter.Seq2[runner.Item, error] {
	return func(yield func(runner.Item, error) bool) {
		missing := make(map[string]bool, len(p.ids))
		wanted := make(map[string]bool, len(p.ids))
		for _, id := range p.ids {
			missing[id], wanted[id] = true, true
		}
		for item, err := range p.Source.Records() {
			if err == nil && !wanted[item.BizID] {
				continue
			}
			delete(missing, item.BizID)
			if !yield(item, err) || err != nil {
				return
			}
		}
		var names []string
		for _, id := range p.ids {
			if missing[id] {
				names = append(names, id)
				delete(missing, id)
			}
		}
		if len(names) > 0 {
			yield(runner.Item{}, &runner.PlaceError{
				Name: p.Name(), Msg: "it holds no record with biz_id " + strings.Join(names, ", "),
				Hint: "--biz-id picks from the task's records; --from FILE gives other ones",
			})
		}
	}
}
