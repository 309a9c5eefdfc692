package cmd

import (
	"io"
	"iter"
	"slices"
	"strings"
)

const (
	tableBlock = 1000 // rows that are aligned together
	tableGap   = 2    // columns between columns
	narrowest  = 8    // a column isn't cut below this
)

// listTable prints a table without lines, as kubectl does. Up to a block of
// rows is aligned as a whole; a longer listing is printed block by block, and
// a column only ever grows, so that memory stays flat.
func listTable[T any](w io.Writer, s *stream, columns []column[T], rows iter.Seq2[T, error]) error {
	t := table{w: w, widths: make([]int, len(columns))}
	for _, c := range columns {
		t.columns = append(t.columns, c.fitting())
	}
	var head, block [][]cell
	if names := headings(columns); names != nil {
		head, t.limit = [][]cell{names}, s.columns()
	}
	err := eachRow(rows, func(row T) error {
		block = append(block, cellsOf(columns, row, s.colors))
		if len(block) < tableBlock {
			return nil
		}
		err := t.print(append(head, block...))
		head, block = nil, block[:0]
		return err
	})
	if len(block) > 0 {
		if head != nil && t.limit > 0 {
			t.blank = blank(block)
		}
		if perr := t.print(append(head, block...)); err == nil {
			err = perr
		}
	}
	return err
}

// blank tells which columns say nothing in any row: on a terminal their room
// is for the others.
func blank(rows [][]cell) []bool {
	b := make([]bool, len(rows[0]))
	for i := range b {
		b[i] = !slices.ContainsFunc(rows, func(r []cell) bool { return r[i].text != noText })
	}
	return b
}

// noText stands in a cell that says nothing.
const noText = "-"

// headings are the names of the columns; nil if they have none.
func headings[T any](columns []column[T]) (names []cell) {
	for _, c := range columns {
		if c.name != "" {
			names = append(names, cell{text: c.name})
		}
	}
	return names
}

// cell is a piece of text with the function that colours it.
type cell struct {
	text  string
	paint func(...any) string // nil: as it is
}

func cellsOf[T any](columns []column[T], row T, p palette) []cell {
	cells := make([]cell, len(columns))
	for i, c := range columns {
		cells[i].text = visible(c.cell(row))
		if cells[i].text == "" {
			cells[i].text = noText
		}
		if c.tint != nil {
			cells[i].paint = c.tint(row, p).Sprint
		}
	}
	return cells
}

// table aligns blocks of rows.
type table struct {
	w       io.Writer
	limit   int // columns of the terminal; 0: none
	widths  []int
	columns []fitting
	blank   []bool // columns that say nothing; nil: not known
	hidden  []bool // columns that are left out, chosen by the first block
}

func (t *table) print(block [][]cell) error {
	t.grow(block)
	shown := t.widths
	if t.limit > 0 {
		if t.hidden == nil {
			t.hidden = leaveOut(t.widths, t.columns, t.blank, t.limit)
		}
		columns := shownOf(t.columns, t.hidden)
		shown = shrink(shownOf(t.widths, t.hidden), columns, t.limit)
		for i := range block {
			block[i] = shownOf(block[i], t.hidden)
			for j, c := range columns {
				if c.id {
					block[i][j].text = clipMiddle(block[i][j].text, shown[j])
				}
			}
		}
	}
	text, err := layOut(block, shown)
	if err != nil {
		return err
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if t.limit > 0 {
			line = clip(line, t.limit)
		}
		out.WriteString(line + "\n")
	}
	_, err = io.WriteString(t.w, out.String())
	return err
}

// shownOf leaves out what is hidden.
func shownOf[T any](all []T, hidden []bool) (shown []T) {
	for i, v := range all {
		if !hidden[i] {
			shown = append(shown, v)
		}
	}
	return shown
}

func (t *table) grow(block [][]cell) {
	for _, row := range block {
		for i, c := range row {
			t.widths[i] = max(t.widths[i], columnsOf(c.text))
		}
	}
}
