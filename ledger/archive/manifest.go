package archive

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"runner/ledger/internal/durable"
)

// entry is a line of the manifest. Later lines count.
type entry struct {
	File        string    `json:"file"`
	TaskName    string    `json:"task_name"`
	ExecuteDate string    `json:"execute_date"`
	Records     int64     `json:"records"`
	Lines       int64     `json:"story_lines"`
	Bytes       int64     `json:"bytes"`
	SHA256      string    `json:"sha256"`
	Ledger      string    `json:"ledger"`
	WrittenAt   time.Time `json:"written_at"`
}

func (d *Folder) rel(path string) string {
	rel, _ := filepath.Rel(d.Dir, path) // it was made of it
	return filepath.ToSlash(rel)
}

// note adds a line to the manifest. One that was cut off is ended first.
func (d *Folder) note(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(d.Dir, "manifest.jsonl"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return &FileError{d.Dir, err}
	}
	line = append(line, '\n')
	if st, serr := f.Stat(); serr == nil && st.Size() > 0 {
		last := []byte{0}
		if _, rerr := f.ReadAt(last, st.Size()-1); rerr == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = f.Write(line)
	err = errors.Join(err, f.Sync(), f.Close(), durable.SyncDir(d.Dir))
	if err != nil {
		return &FileError{d.Dir, err}
	}
	return nil
}
