package cmd

// The rules of output
//
//   - stdout carries data only: the summary or listing that was asked for.
//     Everything else goes to stderr: logs, notes, errors, progress.
//   - An error is one line, lower case, that says what failed and where, then
//     a line "hint:" with the next step. Places come first, as editors and
//     compilers write them: file:line:column: message. All else begins with
//     "runner: ". With --log-format json an error is a JSON line too.
//   - Text for people has its control characters escaped (\n, \x1b), its
//     columns aligned by display width, and is cut to the terminal on grapheme
//     borders. Where it doesn't go to a terminal nothing is cut.
//   - JSON and CSV are exact: nothing is escaped, cut or altered beyond what
//     the format itself wants.
//   - Colour is decided for each stream by itself, and never carries meaning
//     alone. NO_COLOR, TERM=dumb and --no-color switch it off.
//   - A reader that went away (runner … | head) ends the printing, quietly;
//     any other write error is an error.
//   - Nothing depends on LANG, HOME or the working directory.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"runner/ledger"
	"runner/runner"
	"runner/tasks"
)

// form is what -o chooses.
type form string

const (
	formTable    form = "table"
	formJSON     form = "json"
	formJSONL    form = "jsonl"
	formCSV      form = "csv"
	formMarkdown form = "markdown"
)

var forms = []string{string(formTable), string(formJSON), string(formJSONL), string(formCSV), string(formMarkdown)}

// forPeople tells whether times are local and control characters escaped.
func (f form) forPeople() bool { return f == formTable || f == formMarkdown }

// printer is the one that prints.
type printer struct {
	out, err *stream
	form     form
	quiet    bool
	log      *slog.Logger // what happens inside: warnings, and with -v all
	lines    *slog.Logger // with --log-format json: notes and errors
}

func newPrinter(e env) *printer {
	return &printer{
		out: &stream{name: "standard output", w: e.stdout, tty: e.stdoutTTY, width: e.width},
		err: &stream{name: "standard error", w: e.stderr, tty: e.stderrTTY, width: e.width},
	}
}

// configure takes over what the shared flags and the environment say.
func (p *printer) configure(e env, f sharedFlags) {
	p.form = form(f.output.value)
	p.quiet = f.quiet
	color := !f.noColor && e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb"
	p.out.colors = newPalette(color && p.out.tty)
	p.err.colors = newPalette(color && p.err.tty)
	p.log = newLogger(p.err, f)
	p.lines = nil
	if f.logFormat.value == logJSON {
		p.lines = slog.New(slog.NewJSONHandler(p.err, nil))
	}
}

// note tells people something on stderr, in one line. -q silences it.
func (p *printer) note(format string, args ...any) {
	if !p.quiet {
		p.line(slog.LevelInfo, fmt.Sprintf(format, args...), "")
	}
}

// warn is a note that -q doesn't silence. hint may be empty.
func (p *printer) warn(msg, hint string) { p.line(slog.LevelWarn, msg, hint) }

// problem is an error in one line that the command goes on after.
func (p *printer) problem(msg, hint string) { p.line(slog.LevelError, msg, hint) }

// fail prints an error, or all of them where it holds several, each with its
// next step.
func (p *printer) fail(err error) {
	var (
		config *tasks.ConfigError
		place  *runner.PlaceError
		broken *ledger.UnusableError
		joined interface{ Unwrap() []error }
	)
	switch {
	case errors.As(err, &config):
		for _, pr := range config.Problems {
			p.placed(at(pr.File, pr.Line, pr.Column), pr.Msg, pr.Hint)
		}
	case !errors.As(err, &broken) && errors.As(err, &joined):
		for _, e := range joined.Unwrap() {
			p.fail(e)
		}
	case errors.As(err, &place):
		where := at(place.Name, int(place.Line), place.Column)
		if place.Line == 0 && p.lines == nil { // no place that an editor jumps to: as any other error
			where = "runner: " + where
		}
		p.placed(where, place.Msg, hintOf(err))
	default:
		p.line(slog.LevelError, err.Error(), hintOf(err))
	}
}

// say prints a line for people on stdout.
func (p *printer) say(format string, args ...any) error {
	_, err := io.WriteString(p.out, visible(fmt.Sprintf(format, args...))+"\n")
	return quietly(err)
}

// text prints on stdout what is laid out and escaped already.
func (p *printer) text(s string) error {
	_, err := io.WriteString(p.out, s)
	return quietly(err)
}

// ask prints a question on stderr, without a line end.
func (p *printer) ask(question string) {
	_, _ = io.WriteString(p.err, question) // without an answer nothing happens
}

// blank prints an empty line on stdout.
func (p *printer) blank() { _, _ = io.WriteString(p.out, "\n") } // the stream keeps the error

// block prints lines that a program wrote, under a title. Its line ends stay.
func (p *printer) block(title, text string) {
	var b strings.Builder
	b.WriteString("\n" + p.out.colors.dim.Sprint(visible(title)+":") + "\n")
	for line := range strings.Lines(text) {
		b.WriteString(visible(strings.TrimRight(line, "\r\n")) + "\n")
	}
	_, _ = io.WriteString(p.out, b.String()) // the stream keeps the error
}

// trace prints the stack of an internal error.
func (p *printer) trace(stack []byte) { _, _ = p.err.Write(stack) }

func (p *printer) placed(place, msg, hint string) {
	if p.lines != nil {
		p.lines.Error(msg, withoutEmpty("place", place, "hint", hint)...)
		return
	}
	p.emit(place+": "+msg, hint)
}

func (p *printer) line(level slog.Level, msg, hint string) {
	if p.lines != nil {
		p.lines.Log(context.Background(), level, msg, withoutEmpty("hint", hint)...)
		return
	}
	if level == slog.LevelWarn {
		msg = "warning: " + msg
	}
	p.emit("runner: "+msg, hint)
}

func (p *printer) emit(msg, hint string) {
	text := visible(msg) + "\n"
	if hint != "" {
		text += p.err.colors.dim.Sprint("hint:") + " " + visible(hint) + "\n"
	}
	_, _ = io.WriteString(p.err, text) // nobody is left to be told
}

func withoutEmpty(pairs ...string) (args []any) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			args = append(args, pairs[i], pairs[i+1])
		}
	}
	return args
}

// at writes a place as editors read it. A line of 0 is left out, and so is a
// column of 0.
func at(file string, line, column int) string {
	var b strings.Builder
	b.WriteString(file)
	if line > 0 {
		fmt.Fprintf(&b, ":%d", line)
		if column > 0 {
			fmt.Fprintf(&b, ":%d", column)
		}
	}
	return b.String()
}
