package tasks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"runner/tasks/internal/decode"
)

// Need is another task that must be complete first.
type Need struct {
	Task  string
	back  int    // days
	since string // of that task's schedule; may be empty
}

// Holds tells whether the other task is needed for a date of this one: before
// the date since which it should run, it is not.
func (n Need) Holds(date string) bool { return n.Date(date) >= n.since }

// Date is the execute date on which the other task must be complete for one of
// this task.
func (n Need) Date(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil { // nobody runs on such a date
		return date
	}
	return t.AddDate(0, 0, -n.back).Format(time.DateOnly)
}

func (n Need) String() string {
	if n.back == 0 {
		return n.Task
	}
	return fmt.Sprintf("%s (-%dd)", n.Task, n.back)
}

// needs takes what each task needs: tasks that are there, and that don't wait
// for each other in a circle. What lies days back is no circle.
func (c *checker) needs(f *configFile, tasks []*Task) {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.Name
	}
	for i := range f.Tasks {
		for j := range f.Tasks[i].Value.Needs {
			n := &f.Tasks[i].Value.Needs[j]
			switch {
			case n.Task == "" && !c.doc.Has(&n.Task):
				c.doc.Report(`"task" is missing`, "a need is the name of a task, or {task: NAME, offset: -1d}", n)
			case !slices.Contains(names, n.Task):
				hint := ""
				if near := decode.Nearest(n.Task, names); near != "" {
					hint = fmt.Sprintf("did you mean %q?", near)
				}
				c.doc.Report(fmt.Sprintf("there is no task %q", n.Task), hint, &n.Task, n)
			}
			need := Need{Task: n.Task, back: int(n.Offset)}
			if other := slices.Index(names, n.Task); other >= 0 && tasks[other].Schedule != nil {
				need.since = tasks[other].Schedule.Since
			}
			tasks[i].Needs = append(tasks[i].Needs, need)
		}
	}
	w := needsWalk{checker: c, file: f, names: names, state: make([]walkState, len(names))}
	for i := range names {
		w.visit(i)
	}
}

type walkState int

const (
	unseen walkState = iota
	onPath
	finished
)

// needsWalk looks for circles.
type needsWalk struct {
	*checker
	file  *configFile
	names []string
	state []walkState
	path  []int
}

func (w *needsWalk) visit(i int) {
	if w.state[i] != unseen {
		return
	}
	w.state[i] = onPath
	w.path = append(w.path, i)
	needs := w.file.Tasks[i].Value.Needs
	for j := range needs {
		next := slices.Index(w.names, needs[j].Task)
		switch {
		case next < 0 || needs[j].Offset != 0:
		case w.state[next] == onPath:
			w.doc.Report("tasks that need each other can never run: "+w.circle(next), "", &needs[j].Task, &needs[j])
		default:
			w.visit(next)
		}
	}
	w.path = w.path[:len(w.path)-1]
	w.state[i] = finished
}

// circle names the tasks from one on the path back to itself.
func (w *needsWalk) circle(from int) string {
	var list []string
	for _, i := range w.path[slices.Index(w.path, from):] {
		list = append(list, w.names[i])
	}
	return strings.Join(append(list, w.names[from]), " needs ")
}
