package cmd

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"runner/ledger"
)

const (
	maxKinds   = 1000 // kinds of errors that are told apart while they are read
	maxMessage = 400  // columns of an error on a page
	idTurns    = 3    // from letters to digits or back, in a word that is an id
	idLength   = 16   // of a word with letters and digits that is an id anyway
)

// errorGroups are failed records by what their errors have in common.
type errorGroups struct {
	total, seen int64
	kinds       map[string]*errorGroup
	others      int64 // of kinds that came when there were too many
}

// errorGroup is the records with one kind of error.
type errorGroup struct {
	message     string // with numbers and ids left out
	n           int64
	first, last string // execute dates
	example     ledger.Entry
}

func (g *errorGroups) add(e ledger.Entry) {
	g.seen++
	kind := errorKind(e.Error, e.BizID)
	k := g.kinds[kind]
	switch {
	case k == nil && len(g.kinds) == maxKinds:
		g.others++
		return
	case k == nil:
		if g.kinds == nil {
			g.kinds = map[string]*errorGroup{}
		}
		e.Payload = nil
		k = &errorGroup{message: kind, first: e.ExecuteDate, last: e.ExecuteDate, example: e}
		g.kinds[kind] = k
	}
	k.n++
	k.first, k.last = min(k.first, e.ExecuteDate), max(k.last, e.ExecuteDate)
}

// top gives the most frequent kinds, and how many records have others.
func (g *errorGroups) top(n int) (list []*errorGroup, others int64) {
	for _, k := range g.kinds {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *errorGroup) int {
		return cmp.Or(cmp.Compare(b.n, a.n), strings.Compare(a.message, b.message))
	})
	others = g.others
	for _, k := range list[min(n, len(list)):] {
		others += k.n
	}
	return list[:min(n, len(list))], others
}

// errorKind is an error without what differs from record to record: its id is
// <id>, as is what looks like one, and a number is N.
func errorKind(text, bizID string) string {
	text = clip(visible(oneLine(text)), maxMessage)
	if id := visible(bizID); len(id) > 3 {
		text = strings.ReplaceAll(text, id, "<id>")
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		n := strings.IndexFunc(rest, func(r rune) bool { return !wordRune(r) })
		switch n {
		case 0:
			if _, n = utf8.DecodeRuneInString(rest); strings.HasPrefix(rest, "<id>") {
				n = len("<id>")
			}
			b.WriteString(rest[:n])
		case -1:
			n = len(rest)
			fallthrough
		default:
			b.WriteString(wordKind(rest[:n]))
		}
		rest = rest[n:]
	}
	if b.Len() == 0 {
		return "no message"
	}
	return b.String()
}

func wordRune(r rune) bool {
	return r == '_' || r == '-' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// wordKind leaves numbers out of a word, or all of it if it is an id.
func wordKind(word string) string {
	var b strings.Builder
	turns, letters, digits := 0, 0, 0
	last := rune(-1)
	for _, r := range word {
		class := rune('-')
		switch {
		case unicode.IsDigit(r):
			class, digits = '0', digits+1
		case unicode.IsLetter(r):
			class, letters = 'a', letters+1
		}
		if class != '-' && last != '-' && last != -1 && class != last {
			turns++
		}
		if class != '0' {
			b.WriteRune(r)
		} else if last != '0' {
			b.WriteByte('N')
		}
		last = class
	}
	if letters > 0 && digits > 0 && (turns >= idTurns || len(word) >= idLength) {
		return "<id>"
	}
	return b.String()
}
