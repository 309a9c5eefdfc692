package output

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// maskedWhole is the plain meaning of masking: all bytes of all occurrences
// are covered, and each covered stretch that isn't interrupted by the start
// of an occurrence right at its end becomes one mask.
func maskedWhole(m *Masker, s string) string {
	end := make([]int, len(s)) // end of the longest occurrence that starts here
	for i := range s {
		for _, v := range m.values {
			if strings.HasPrefix(s[i:], string(v)) {
				end[i] = max(end[i], i+len(v))
			}
		}
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if end[i] == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(Mask)
		stop := end[i]
		for ; i < stop; i++ {
			stop = max(stop, end[i])
		}
	}
	return b.String()
}

func stream(m *Masker, pieces []string) string {
	var b bytes.Buffer
	s := Stream{masker: m, to: func(p []byte) { b.Write(p) }}
	for _, p := range pieces {
		s.Write([]byte(p))
	}
	s.Flush()
	return b.String()
}

func TestNoSplitOfTheStreamLeaksASecretAndTheRestIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.StringOfN(rapid.RuneFrom([]rune("ab\nc")), 0, 12, -1)
		secrets := rapid.SliceOfN(small, 0, 4).Draw(t, "secrets")
		m := NewMasker(secrets)
		pieces := rapid.SliceOfN(small, 0, 12).Draw(t, "pieces")
		for i := range pieces { // make secrets likely, whole and split
			if len(secrets) > 0 && rapid.Bool().Draw(t, "plant") {
				pieces[i] += rapid.SampledFrom(secrets).Draw(t, "secret")
			}
		}
		whole := strings.Join(pieces, "")
		got := stream(m, pieces)
		if want := maskedWhole(m, whole); got != want {
			t.Fatalf("secrets %q in %q: got %q, want %q", secrets, pieces, got, want)
		}
		for _, part := range strings.Split(got, Mask) {
			for _, v := range secrets {
				if v != "" && strings.Contains(part, v) {
					t.Fatalf("%q leaks through as %q", v, got)
				}
			}
		}
		if str := m.String(whole); str != got {
			t.Fatalf("String gives %q, the stream %q", str, got)
		}
	})
}

func TestMaskOfSecrets(t *testing.T) {
	for _, c := range []struct {
		name    string
		secrets []string
		in, out string
	}{
		{"none", nil, "text", "text"},
		{"empty value", []string{""}, "text", "text"},
		{"the longest first", []string{"tok", "token-1"}, "token-1 tok", "*** ***"},
		{"overlapping", []string{"abc", "bcd"}, "xabcdx", "x***x"},
		{"adjacent", []string{"ab"}, "abab", "******"},
		{"the line end of a file", []string{"pass\n"}, "pw=pass;", "pw=***;"},
		{"a line of many", []string{"{\nfirst-line\nsecond-line\n}"}, "> second-line {", "> *** {"},
		{"one byte", []string{"x"}, "axb", "a***b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := NewMasker(c.secrets).String(c.in); got != c.out {
				t.Errorf("got %q, want %q", got, c.out)
			}
		})
	}
}

func record(m *Masker, pieces ...string) *Recorder {
	r := NewRecorder()
	r.Reset(m, true)
	for _, p := range pieces {
		r.Write(Stdout, []byte(p))
	}
	r.Finish()
	return r
}

func TestShortOutputIsKeptExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.StringN(0, 200, 800), 0, 12).Draw(t, "pieces")
		whole := strings.Join(pieces, "")
		if got := record(NewMasker(nil), pieces...).Text(); got != whole {
			t.Fatalf("got %q, want %q", got, whole)
		}
	})
}

func TestLongOutputKeepsHeadAndTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.StringOfN(rapid.RuneFrom([]rune("aé优😀\n")), 1, 9, -1).Draw(t, "unit")
		whole := strings.Repeat(unit, (HeadSize+TailSize)/len(unit)+rapid.IntRange(2, 9000).Draw(t, "more"))
		size := rapid.IntRange(1, 70000).Draw(t, "piece")
		var pieces []string
		for rest := whole; rest != ""; {
			n := min(size, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got := record(NewMasker(nil), pieces...).Text()
		var lost int
		head, rest, ok := strings.Cut(got, "\n… ")
		if _, err := fmt.Sscanf(rest, "%d bytes left out", &lost); !ok || err != nil {
			t.Fatalf("no line says what was left out: %q", got)
		}
		_, tail, _ := strings.Cut(rest, "…\n")
		if !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) || !utf8.ValidString(got) {
			t.Fatalf("head or tail is not that of the output")
		}
		if len(head)+lost+len(tail) != len(whole) || len(head) < HeadSize-3 || len(tail) < TailSize-3 {
			t.Fatalf("%d + %d + %d bytes of %d", len(head), lost, len(tail), len(whole))
		}
	})
}

func TestCutNeverShowsAPartOfASecret(t *testing.T) {
	secret := strings.Repeat("s3cr3t", 20)
	for shift := range len(secret) + 5 {
		in := strings.Repeat(".", HeadSize-shift) + secret + strings.Repeat(".", 9000) + secret + strings.Repeat(".", TailSize-shift)
		if got := record(NewMasker([]string{secret}), in).Text(); strings.ContainsAny(got, "s3cr3") && strings.Contains(got, "3c") {
			t.Fatalf("shift %d: a part of the secret is left", shift)
		}
	}
}

// Case 19: torn and mixed lines.
func TestLinesOfBothChannelsAreWhole(t *testing.T) {
	r := NewRecorder()
	r.Reset(NewMasker(nil), true)
	for _, w := range []struct {
		ch   Channel
		text string
	}{{Stdout, "out 1 "}, {Stderr, "err 1 "}, {Stdout, "end\nout 2"}, {Stderr, "end\n"}} {
		r.Write(w.ch, []byte(w.text))
	}
	r.Write(Stderr, []byte("err 2"))
	r.Finish()
	if got, want := r.Text(), "out 1 end\nerr 1 end\nout 2\nerr 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := r.LastLines(), "err 1 end\nerr 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLastLinesAreThreeAndShort(t *testing.T) {
	r := NewRecorder()
	r.Reset(NewMasker(nil), false)
	r.Write(Stderr, []byte("one\ntwo\n\nthree\r\n  \nfour\n"))
	if got, want := r.LastLines(), "two\nthree\nfour"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Write(Stderr, []byte(strings.Repeat("优", 5000)+"\xff"))
	got := r.LastLines()
	if len(got) > maxLastLines || !utf8.ValidString(got) || !strings.HasPrefix(got, "…优") {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
	if r.Text() != "" {
		t.Error("text is kept though it wasn't to be")
	}
}

// Case 18: the output of one job took all memory.
func TestRecorderNeedsConstantMemory(t *testing.T) {
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	r := NewRecorder()
	r.Reset(NewMasker([]string{"secret"}), true)
	r.Write(Stdout, chunk)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 4096 { // 256 MiB
		r.Write(Stdout, chunk)
	}
	runtime.ReadMemStats(&after)
	if d := after.TotalAlloc - before.TotalAlloc; d > 1<<20 {
		t.Errorf("256 MiB of output allocated %d bytes", d)
	}
}

func BenchmarkMaskedOutput(b *testing.B) {
	chunk := bytes.Repeat([]byte("some line of output with a token in it\n"), 1600)
	r := NewRecorder()
	r.Reset(NewMasker([]string{"tok-en", "pass"}), true)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		r.Write(Stdout, chunk)
	}
}
