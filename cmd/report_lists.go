package cmd

import (
	"fmt"
	"strings"

	"runner/ledger"
)

// addFacts makes of the facts of a task what the page lists.
func (p *page) addFacts(a *app, r *report, pt *pageTask, t reportTask, facts taskFacts) {
	flags, zone := a.sameFlags(), r.where.zone
	var total int64
	for _, d := range t.days {
		if d.mark != markSealed {
			total += d.batch.Counts.Total()
		}
	}
	if facts.looked < total {
		pt.Among = fmt.Sprintf("Of the newest %s of %s records.", number(facts.looked), number(total))
	}
	for _, e := range facts.slowest {
		pt.Slowest = append(pt.Slowest, pageSlow{
			Took: spanText(e.EndedAt.Sub(e.StartedAt)), BizID: e.BizID, Date: e.ExecuteDate, Status: strings.ReplaceAll(e.Status.String(), "_", " "),
			Started: stamp{e.StartedAt}.in(zone), Command: showCommand(e.Key, flags),
		})
	}
	groups, others := facts.failures.top(maxGroups)
	for _, g := range groups {
		dates := g.first
		if g.last != g.first {
			dates += " – " + g.last
		}
		pt.Errors = append(pt.Errors, pageError{number(g.n), g.message, dates, g.example.BizID, showCommand(g.example.Key, flags)})
	}
	var notes []string
	if others > 0 {
		notes = append(notes, number(others)+" with other messages.")
	}
	if f := facts.failures; f.seen < f.total {
		notes = append(notes, fmt.Sprintf("Of the newest %s of %s failed records.", number(f.seen), number(f.total)))
	}
	pt.Grouped = strings.Join(notes, " ")
	for _, e := range facts.doubts {
		p.Doubts = append(p.Doubts, pageDoubt{
			Task: e.TaskName, BizID: e.BizID, Date: e.ExecuteDate, Since: stamp{e.StartedAt}.in(zone), Error: oneLine(e.Error),
			Commands: doubtCommands(e.Key, flags),
		})
	}
}

// doubtCommands look at a record in doubt, and settle it: the effect is there,
// it is not and shall be, or it shall not be.
func doubtCommands(k ledger.Key, flags string) []string {
	at := commandWord(k.TaskName) + " --date " + k.ExecuteDate
	id := "--biz-id=" + commandWord(k.BizID)
	return []string{
		showCommand(k, flags),
		"runner ledger mark " + at + " " + id + " --as done --reason 'it took effect'" + flags,
		"runner rerun " + at + " --status in_doubt " + id + " --yes" + flags,
		"runner ledger mark " + at + " " + id + " --as skipped --reason 'not wanted'" + flags,
	}
}

func showCommand(k ledger.Key, flags string) string {
	words := commandWord(k.TaskName) + " " + commandWord(k.BizID)
	if strings.HasPrefix(k.BizID, "-") && k.BizID != "-" {
		return "runner ledger show --date " + k.ExecuteDate + flags + " -- " + words
	}
	return "runner ledger show " + words + " --date " + k.ExecuteDate + flags
}

// commandWords are the pieces of a command, none of which a line end is to cut.
func commandWords(s string) []string { return strings.Split(visible(s), " ") }

// commandWord is a word of a command line to copy. What can't be seen is
// written so that bash, zsh and ksh know it.
func commandWord(s string) string {
	if shown := visible(s); shown != s {
		return "$'" + visible(strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)) + "'"
	}
	return shellWord(s)
}
