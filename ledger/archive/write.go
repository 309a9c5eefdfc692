package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"

	"runner/ledger"
	"runner/ledger/internal/durable"

	"github.com/klauspost/compress/zstd"
)

// page is how many records are read in one snapshot: a long one would hold up
// checkpoints.
const page = 2000

// writer writes a file under another name, and renames it when it is durable.
type writer struct {
	tmp   *os.File
	sum   hash.Hash
	bytes int64
	z     *zstd.Encoder
	w     *bufio.Writer
	line  []byte
	end   end
}

func create(path string) (*writer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, &FileError{path, err}
	}
	tmp, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, &FileError{path, err}
	}
	w := &writer{tmp: tmp, sum: sha256.New(), end: end{End: true}}
	w.z, err = zstd.NewWriter(io.MultiWriter(tmp, w.sum, (*counter)(&w.bytes)), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, errors.Join(&FileError{path, err}, tmp.Close())
	}
	w.w = bufio.NewWriterSize(w.z, 1<<16)
	return w, nil
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

func (w *writer) json(v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = w.w.Write(append(b, '\n'))
	}
	return err
}

func (w *writer) add(e *ledger.Entry, story []ledger.Attempt) error {
	w.line = appendRecord(w.line[:0], e, story)
	w.end.Records++
	w.end.Lines += int64(len(story))
	_, err := w.w.Write(w.line)
	return err
}

// finish makes the file durable under its name.
func (w *writer) finish(path string) (sum string, err error) {
	err = w.json(w.end)
	if err == nil {
		err = w.w.Flush()
	}
	if err == nil {
		err = w.z.Close()
	}
	if err == nil {
		err = w.tmp.Sync()
	}
	err = errors.Join(err, w.tmp.Close())
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err == nil {
		err = durable.SyncDir(filepath.Dir(path))
	}
	return hex.EncodeToString(w.sum.Sum(nil)), err
}

func (w *writer) abandon() {
	_ = w.z.Close()
	_ = w.tmp.Close()
	_ = os.Remove(w.tmp.Name()) // half a file is of no use; the next try truncates it
}

// write writes all records of a batch.
func write(ctx context.Context, led *ledger.Ledger, path string, h Head) (sum string, size int64, e end, err error) {
	w, err := create(path)
	if err != nil {
		return "", 0, e, err
	}
	if err = w.json(h); err == nil {
		err = eachPage(ctx, led, h.TaskName, h.ExecuteDate, func(records []ledger.Entry, stories []ledger.Attempt) error {
			for i := range records {
				n := 0
				for n < len(stories) && stories[n].RecordID == records[i].ID {
					n++
				}
				if err := w.add(&records[i], stories[:n]); err != nil {
					return err
				}
				stories = stories[n:]
			}
			return nil
		})
	}
	if err != nil {
		w.abandon()
		return "", 0, e, err
	}
	sum, err = w.finish(path)
	return sum, w.bytes, w.end, err
}

// eachPage reads a batch in the order of its numbers.
func eachPage(ctx context.Context, led *ledger.Ledger, task, date string, fn func([]ledger.Entry, []ledger.Attempt) error) error {
	q := ledger.Query{TaskName: task, ExecuteDate: date, Ascending: true, Limit: page}
	for {
		var records []ledger.Entry
		var stories []ledger.Attempt
		err := led.Store().View(ctx, func(r ledger.Reader) (err error) {
			if records, err = r.List(q); err != nil || len(records) == 0 {
				return err
			}
			ids := make([]int64, len(records))
			for i := range records {
				ids[i] = records[i].ID
			}
			stories, err = r.Stories(ids)
			return err
		})
		if err != nil || len(records) == 0 {
			return err
		}
		q.After = records[len(records)-1].ID
		if err := fn(records, stories); err != nil {
			return err
		}
	}
}
