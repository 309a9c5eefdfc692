package cmd

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
)

const (
	logText = "text"
	logJSON = "json"
)

// newLogger logs to stderr: warnings and errors, with -v all.
func newLogger(w *stream, f sharedFlags) *slog.Logger {
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelDebug
	}
	if f.logFormat.value == logJSON {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(&lineHandler{w: w, level: level})
}

// lineHandler writes a record as a line for people:
//
//	runner: warning: message key=value
type lineHandler struct {
	w     io.Writer
	level slog.Level
	attrs string // of the logger, as written
	group string // prefix of keys
}

var levelWords = map[slog.Level]string{slog.LevelDebug: "debug: ", slog.LevelWarn: "warning: ", slog.LevelError: "error: "}

func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString("runner: " + levelWords[r.Level] + visible(r.Message) + h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&b, h.group, a)
		return true
	})
	b.WriteByte('\n')
	_, err := io.WriteString(h.w, b.String())
	return err
}

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		writeAttr(&b, h.group, a)
	}
	c := *h
	c.attrs = b.String()
	return &c
}

func (h *lineHandler) WithGroup(name string) slog.Handler {
	c := *h
	c.group += name + "."
	return &c
}

func writeAttr(b *strings.Builder, group string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, m := range v.Group() {
			writeAttr(b, group, m)
		}
		return
	}
	text := v.String()
	if text == "" || strings.ContainsAny(text, " \"=") || visible(text) != text {
		text = strconv.Quote(text)
	}
	b.WriteString(" " + group + a.Key + "=" + text)
}
