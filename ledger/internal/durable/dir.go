// Package durable makes what was done to files outlive a power cut. It imports
// nothing but the standard library.
package durable

import "os"

// SyncDir makes names in a folder durable. Not every system can.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // Windows refuses
	return d.Close()
}
