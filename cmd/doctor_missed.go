package cmd

import (
	"slices"

	"runner/ledger"
)

// checkMissed tells of dates that should have run by the schedules and never
// did: a scheduler that doesn't start anything is told by nobody else.
func (d *doctor) checkMissed(batches []ledger.Batch) error {
	for _, name := range d.where.scheduled(d.names) {
		of := slices.DeleteFunc(slices.Clone(batches), func(b ledger.Batch) bool { return b.TaskName != name })
		due, err := d.where.expecting(name, d.a.now()).missed(of, "", "")
		if err != nil {
			return err
		}
		check := "schedule " + name
		hint := "runner run " + shellWord(name) + " --catch-up runs them; runner gaps " + shellWord(name) + " lists them"
		switch {
		case len(due) == 0:
			d.ok(check, "no date was missed")
		case len(of) == 0 && len(due) == 1:
			d.warn(check, hint, "it never ran; it should have for %s", due[0].Date)
		default:
			d.bad(check, otherwise, hint, "never ran: %s", spanOfDue(due))
		}
	}
	return nil
}
