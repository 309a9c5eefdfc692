//go:build linux

package crash

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"runner/cmd"
)

var (
	seedFlag  = flag.Uint64("crash.seed", 0, "seed of the random lives; 0: another one each time")
	killsFlag = flag.Int("crash.kills", 100, "kills in each mode, at least")
	forFlag   = flag.Duration("crash.for", 0, "go on in each mode for so long, whatever the kills")
)

// program is a link to this binary: by that name it is the real program.
var program string

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "runner" {
		if by := os.Getenv(clockVar); by != "" {
			if err := shiftClock(by); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(cmd.Main())
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	flag.Parse()
	if *seedFlag == 0 {
		*seedFlag = uint64(time.Now().UnixNano())
	}
	dir, err := os.MkdirTemp("", "crash")
	if err == nil {
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "runner")
		err = linkSelf(program)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func linkSelf(as string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return os.Symlink(self, as)
}
