package cmd

import (
	"bytes"
	"strings"
	"sync"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// layOut lays out rows of cells as lines, each column as wide as given.
//
// Cells are cut and padded before tablewriter sees them, for two reasons:
// the columns of one listing keep their width from block to block, and
// tablewriter v1.1.5 measures rune by rune, so that it would shift columns
// after 👨‍👩‍👧 or a flag and cut within them. Such a character goes through it
// in the shape of a stand-in that it measures right.
func layOut(rows [][]cell, width []int) (string, error) {
	var out bytes.Buffer
	var subst standIns
	t := plainTable(&out)
	for _, row := range rows {
		line := make([]string, len(row))
		for i, c := range row {
			text := clip(c.text, width[i])
			pad := strings.Repeat(" ", max(width[i]-columnsOf(text), 0))
			text = subst.put(text)
			if c.paint != nil {
				text = c.paint(text)
			}
			line[i] = text + pad
		}
		if err := t.Append(line); err != nil {
			return "", err
		}
	}
	if err := t.Render(); err != nil {
		return "", err
	}
	return subst.restore(out.String()), nil
}

// sameEverywhere keeps tablewriter from asking the environment how wide
// East Asian characters of unclear width are.
var sameEverywhere = sync.OnceFunc(func() { twwidth.SetEastAsian(false) })

// plainTable has no lines and no borders, and alters no cell.
func plainTable(out *bytes.Buffer) *tablewriter.Table {
	sameEverywhere()
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Padding:    tw.CellPadding{Global: tw.Padding{Right: strings.Repeat(" ", tableGap), Overwrite: true}},
	}
	return tablewriter.NewTable(out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Symbols:  tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
		tablewriter.WithConfig(tablewriter.Config{
			Row:      cells,
			Behavior: tw.Behavior{TrimSpace: tw.Off, TrimLine: tw.Off, TrimTab: tw.Off},
		}))
}

// standIns stand for the characters that tablewriter measures wrong: runes of
// a private area that nobody prints, as many as the character has columns.
type standIns struct {
	to   map[string]string
	back []string
}

const firstStandIn = '\U000F0000'

func (s *standIns) put(text string) string {
	if ascii(text) {
		return text
	}
	var b strings.Builder
	for g := widths.StringGraphemes(text); g.Next(); {
		c := g.Value()
		if twwidth.WidthNoCache(c) == g.Width() {
			b.WriteString(c)
			continue
		}
		if s.to == nil {
			s.to = map[string]string{}
		}
		in, ok := s.to[c]
		if !ok && len(s.back) < 2*(0xFFFD-g.Width()) {
			r := firstStandIn + rune(len(s.back)/2)
			in = string(r) + strings.Repeat(".", max(g.Width()-1, 0))
			s.to[c] = in
			s.back = append(s.back, in, c)
		}
		b.WriteString(in)
	}
	return b.String()
}

func (s *standIns) restore(text string) string {
	if len(s.back) == 0 {
		return text
	}
	return strings.NewReplacer(s.back...).Replace(text)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
