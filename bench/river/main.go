// Command river does with River (https://riverqueue.com) what part k measures:
// jobs that do nothing, each unique by its id. It is a module of its own, so
// that River is no dependency of runner.
//
//	river insert ADDRESS FILE   makes the tables, and a job of each line
//	river work ADDRESS          does jobs until there is none left, and prints how many
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type noop struct {
	ID string `json:"id" river:"unique"`
}

func (noop) Kind() string { return "noop" }

func (noop) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

type worker struct {
	river.WorkerDefaults[noop]
	done *atomic.Int64
}

func (w *worker) Work(context.Context, *river.Job[noop]) error {
	w.done.Add(1)
	return nil
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: river insert ADDRESS FILE, or river work ADDRESS")
		os.Exit(2)
	}
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Args[2])
	if err == nil {
		defer pool.Close()
		if os.Args[1] == "insert" {
			err = insert(ctx, pool, os.Args[3])
		} else {
			err = work(ctx, pool)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}

func insert(ctx context.Context, pool *pgxpool.Pool, file string) error {
	m, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for more := true; more; {
		var jobs []river.InsertManyParams
		for len(jobs) < 5000 {
			if more = lines.Scan(); !more {
				break
			}
			jobs = append(jobs, river.InsertManyParams{Args: noop{lines.Text()}})
		}
		if len(jobs) == 0 {
			break
		}
		if _, err := client.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
	}
	return lines.Err()
}

// work is tuned as far as its settings go: it fetches as soon as it can, as
// much as it may.
func work(ctx context.Context, pool *pgxpool.Pool) error {
	var done atomic.Int64
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{done: &done})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}},
		Workers:           workers,
		FetchCooldown:     time.Millisecond,
		FetchPollInterval: 10 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	for left := true; left; time.Sleep(100 * time.Millisecond) {
		err := pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM river_job WHERE state = 'available' AND queue = 'default') OR EXISTS (SELECT 1 FROM river_job WHERE state = 'running')").Scan(&left)
		if err != nil {
			return err
		}
	}
	if err := client.Stop(ctx); err != nil {
		return err
	}
	fmt.Println(done.Load())
	return nil
}
