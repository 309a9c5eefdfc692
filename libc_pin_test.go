package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// modernc.org/sqlite works only with the modernc.org/libc that its own go.mod
// names. Other modules can lift it silently, and nothing lowers it again.
func TestSQLiteHasTheLibcItWasMadeFor(t *testing.T) {
	goList := func(format, module string) string {
		t.Helper()
		b, err := exec.Command("go", "list", "-m", "-f", format, module).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", module, err)
		}
		return strings.TrimSpace(string(b))
	}
	mod, err := os.ReadFile(goList("{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(mod)
	if want == nil {
		t.Fatal("modernc.org/sqlite names no modernc.org/libc")
	}
	if got := goList("{{.Version}}", "modernc.org/libc"); got != string(want[1]) {
		t.Errorf("modernc.org/libc is %s; mend it with: go get modernc.org/libc@%s", got, want[1])
	}
}
