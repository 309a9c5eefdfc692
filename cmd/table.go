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
	narrowest  = 8    // a column isn't cut below this to make room
)

// listTable prints a table without lines, as kubectl does. Up to a block of
// rows is aligned as a whole; a longer listing is printed block by block, and
// a column only ever grows, so that memory stays flat.
func listTable[T any](w io.Writer, s *stream, columns []column[T], rows iter.Seq2[T, error]) error {
	t := table{w: w, widths: make([]int, len(columns)), wide: make([]bool, len(columns))}
	for i, c := range columns {
		t.wide[i] = c.wide
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
		if perr := t.print(append(head, block...)); err == nil {
			err = perr
		}
	}
	return err
}

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
			cells[i].text = "-"
		}
		if c.tint != nil {
			cells[i].paint = c.tint(row, p).Sprint
		}
	}
	return cells
}

// table aligns blocks of rows.
type table struct {
	w      io.Writer
	limit  int // columns of the terminal; 0: none
	widths []int
	wide   []bool // columns that are cut
}

func (t *table) print(block [][]cell) error {
	t.grow(block)
	shown := t.widths
	if t.limit > 0 {
		shown = shrink(t.widths, t.wide, t.limit)
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

func (t *table) grow(block [][]cell) {
	for _, row := range block {
		for i, c := range row {
			t.widths[i] = max(t.widths[i], columnsOf(c.text))
		}
	}
}

// shrink takes from the widest of the wide columns until a row fits, or there
// is nothing left to take.
func shrink(full []int, wide []bool, limit int) []int {
	w := slices.Clone(full)
	over := tableGap*(len(w)-1) - limit
	for _, n := range w {
		over += n
	}
	for ; over > 0; over-- {
		widest := -1
		for i, n := range w {
			if wide[i] && n > narrowest && (widest < 0 || n > w[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		w[widest]--
	}
	return w
}
