//go:build linux

package crash

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// clockVar says by how much the wall clock of a program is off. Its watchdog
// has the same clock, its actions have the machine's.
const clockVar = "CRASH_CLOCK"

// needClocks tells the environment of a program whose clock is off.
func needClocks(t testing.TB, by time.Duration) string {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("clocks are shifted with machine code of amd64")
	}
	return clockVar + "=" + by.String()
}

// shiftClock sets the wall clock of this process alone. The kernel has no such
// thing, and Go asks for the time without a system call: by a function of the
// vDSO, a page that the kernel maps into each process. That function is made
// to jump to one that makes the system call, and adds to the seconds.
func shiftClock(text string) error {
	by, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	from, to, err := vdso()
	if err != nil {
		return err
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	at, err := clockGettime(io.NewSectionReader(mem, from, to-from))
	if err != nil {
		return err
	}
	at += from
	free := to - 32 // the page is filled up with zeros
	code := []byte{
		0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, 0x75, 7, // test edi, edi; jne to the end: not CLOCK_REALTIME
		0x48, 0x81, 0x06, // add qword [rsi], seconds
	}
	code = binary.LittleEndian.AppendUint32(code, uint32(int32(by/time.Second)))
	code = append(code, 0xc3) // ret
	if _, err := mem.WriteAt(code, free); err != nil {
		return err
	}
	jump := make([]byte, 8) // written as one word, as others may be about to call it
	if _, err := mem.ReadAt(jump, at); err != nil {
		return err
	}
	jump[0] = 0xe9
	binary.LittleEndian.PutUint32(jump[1:], uint32(int32(free-at-5)))
	_, err = mem.WriteAt(jump, at)
	return err
}

// vdso tells where it is mapped.
func vdso() (from, to int64, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, 0, err
	}
	for l := range strings.Lines(string(maps)) {
		if strings.Contains(l, "[vdso]") {
			_, err = fmt.Sscanf(l, "%x-%x", &from, &to)
			return from, to, err
		}
	}
	return 0, 0, errors.New("this process has no vDSO")
}

func clockGettime(image io.ReaderAt) (at int64, err error) {
	f, err := elf.NewFile(image)
	if err != nil {
		return 0, err
	}
	symbols, err := f.DynamicSymbols()
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return int64(s.Value), nil
		}
	}
	return 0, errors.Join(err, errors.New("the vDSO has no clock"))
}
