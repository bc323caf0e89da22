package prose

import (
	"bytes"
	"io"
	"strings"
	"text/tabwriter"
)

// A Column is a column of a table whose rows tell of a T each.
type Column[T any] struct {
	// Head stands above the column. Cell is the text in the row of a T.
	Head string
	Cell func(*T) string
}

// WriteTable writes a line of heads and one for each row, the columns as wide as
// their widest cell and two spaces apart. Each line begins with the lead, which
// makes a column of its own if it ends with a tab.
func WriteTable[T any](b *bytes.Buffer, lead string, columns []Column[T], rows []T) {
	lines := make([][]string, 0, 1+len(rows))
	line := func(cell func(Column[T]) string) {
		cells := make([]string, len(columns))
		for i := range columns {
			cells[i] = cell(columns[i])
		}
		lines = append(lines, cells)
	}
	line(func(c Column[T]) string { return c.Head })
	for i := range rows {
		line(func(c Column[T]) string { return c.Cell(&rows[i]) })
	}
	WriteCells(b, lead, lines)
}

// WriteCells writes lines of cells as [WriteTable] does.
func WriteCells(b *bytes.Buffer, lead string, lines [][]string) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, cells := range lines {
		_, _ = io.WriteString(table, lead+strings.Join(cells, "\t")+"\n") // a buffer takes everything
	}
	_ = table.Flush()
}

// Indent writes the lines of a text with two spaces before each.
func Indent(b *bytes.Buffer, text string) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString("  " + line + "\n")
	}
}
