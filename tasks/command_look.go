package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// defaultPath is searched where PATH is not set, as under cron and env -i.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// lookup finds a program the way a configuration means it.
type lookup struct {
	base    string // folder of relative paths
	beside  bool   // bare names are looked up there too, before PATH
	environ []string
}

// find gives the absolute path of a program that can be started.
func (l lookup) find(name string) (string, error) {
	if filepath.Base(name) != name { // it has a slash
		path := absolute(l.base, name)
		if err := checkProgram(path); err != nil {
			return "", fmt.Errorf("%s: %w (looked up in %s)", name, err, l.base)
		}
		return resolve(path)
	}
	var unfit error // a file of that name that can't be started
	path, set := l.path()
	dirs := filepath.SplitList(path)
	if l.beside {
		dirs = append([]string{l.base}, dirs...)
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue // depends on where runner was started
		}
		file := filepath.Join(dir, name)
		err := checkProgram(file)
		if err == nil {
			return resolve(file)
		}
		if unfit == nil && !errors.Is(err, errNotFound) && !errors.Is(err, errFolder) {
			unfit = fmt.Errorf("%s: %w", file, err)
		}
	}
	if unfit != nil {
		return "", unfit
	}
	return "", l.notFound(name, path, set)
}

func (l lookup) notFound(name, path string, set bool) error {
	where := "PATH=" + path
	if !set {
		where = path + " (PATH is not set)"
	}
	if l.beside {
		where = l.base + " and in " + where
	}
	return &HintError{
		Msg:  fmt.Sprintf("%s: %v in %s", name, errNotFound, where),
		Hint: "write its path, or set PATH under env:",
	}
}

// path is the PATH that the command itself will have.
func (l lookup) path() (path string, set bool) {
	for _, kv := range l.environ {
		name, value, _ := strings.Cut(kv, "=")
		if sameVariable(name, "PATH") {
			path, set = value, true
		}
	}
	if !set {
		path = defaultPath
	}
	return path, set
}

var (
	errNotFound = errors.New("not found")
	errFolder   = errors.New("is a folder")
)

// checkProgram says why a file can't be started.
func checkProgram(path string) error {
	found, err := resolve(path)
	if err == nil {
		return checkInterpreter(found)
	}
	st, serr := os.Stat(path)
	switch {
	case errors.Is(serr, os.ErrNotExist):
		return errNotFound
	case serr != nil:
		return errors.Unwrap(serr)
	case st.IsDir():
		return errFolder
	}
	return errors.New("is not executable; chmod +x makes it so")
}

// resolve adds what systems leave out of program names, like .exe.
func resolve(path string) (string, error) { return exec.LookPath(path) }

// checkInterpreter looks for the program that a script names in its #! line.
func checkInterpreter(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // may be executable and not readable
	}
	defer f.Close()
	start := make([]byte, 256)
	n, _ := io.ReadFull(f, start)
	line, isScript := bytes.CutPrefix(start[:n], []byte("#!"))
	line, _, whole := bytes.Cut(line, []byte("\n"))
	words := bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if !isScript || !whole || len(words) == 0 {
		return nil
	}
	interpreter := string(words[0])
	if name, cr := strings.CutSuffix(interpreter, "\r"); cr {
		return fmt.Errorf("its first line ends in CR LF, so its interpreter %s is not found; convert its line ends", name)
	}
	if _, err := os.Stat(interpreter); filepath.IsAbs(interpreter) && errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("its interpreter %s does not exist", interpreter)
	}
	return nil
}
