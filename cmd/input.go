package cmd

import (
	"context"
	"fmt"

	"runner/runner"
	"runner/tasks"
)

// read reads the input of each date through, before anything is done on any.
// In a catch-up a date whose input can't be used doesn't keep the others from
// running.
func (o *runOptions) read(ctx context.Context, a *app, t *tasks.Task, built runner.Task, dates []string, blocked map[string][]blockJSON) ([]job, error) {
	shard, err := parseShard(o.shard, a.getenv)
	if err != nil {
		return nil, err
	}
	var ready []job
	var shared *job // with the input that is the same on each date, for stdin can be read once
	for _, date := range dates {
		j := job{task: built, date: date, needs: t.Needs, blocked: blocked[date]}
		switch {
		case len(j.blocked) > 0: // its input may not be there yet
		case shared != nil:
			j.source, j.survey = shared.source, shared.survey
		default:
			err := o.open(ctx, a, t, shard, &j)
			switch {
			case err == nil && (o.from != "" || t.ReadsStdin()):
				shared = &j
			case err != nil && o.leaves(t, err):
				closeSources([]job{j})
				j.source, j.unfit = nil, err
			case err != nil:
				return append(ready, j), nothingDone(err, len(dates))
			}
		}
		ready = append(ready, j)
	}
	return ready, nil
}

// open opens the input of a job and reads it through.
func (o *runOptions) open(ctx context.Context, a *app, t *tasks.Task, shard runner.Shard, j *job) error {
	src, err := o.source(a, t, j.date)
	if err != nil {
		return asUsage(err)
	}
	j.source = src
	return j.readThrough(ctx, shard)
}

// nothingDone says of a range that none of its dates was run, as one of them
// can't be.
func nothingDone(err error, dates int) error {
	if dates < 2 || !isUsage(err) {
		return err
	}
	hint := fmt.Sprintf("nothing was executed on any of the %d dates", dates)
	if h := hintOf(err); h != "" {
		hint += "; " + h
	}
	return withHint(err, "%s", hint)
}

// source is where the records of a date come from: --from, the task's own
// records, or --biz-id in a task without records; otherwise --biz-id picks.
func (o *runOptions) source(a *app, t *tasks.Task, date string) (runner.Source, error) {
	fields, err := parseFields(o.set)
	if err != nil {
		return nil, err
	}
	var src runner.Source
	switch {
	case o.from != "":
		src, err = t.SourceFrom(tasks.SourceOptions{Path: o.from, Format: o.format, Stdin: a.stdin, Fields: fields})
	case len(o.bizIDs) > 0 && !t.HasRecords:
		return tasks.OpenSource(tasks.SourceOptions{IDs: o.bizIDs, Fields: fields})
	default:
		src, err = t.Source(date, a.stdin, fields...)
	}
	if err != nil || len(o.bizIDs) == 0 {
		return src, err
	}
	return &picked{Source: src, ids: o.bizIDs}, nil
}

// readThrough reads the whole input of a job before anything is done. When
// ctx ends it leaves a source alone that may never say anything more.
func (j *job) readThrough(ctx context.Context, s runner.Shard) error {
	done := make(chan error, 1)
	go func() {
		survey, err := runner.ReadThrough(j.source, s, j.task.AllowEmpty)
		if err == nil {
			j.survey = survey
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
