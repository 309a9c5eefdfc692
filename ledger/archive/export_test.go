package archive

import "testing"

// SmallParts makes Match deal ids out to files.
func SmallParts(t *testing.T) {
	was := partSize
	partSize = 100
	t.Cleanup(func() { partSize = was })
}
