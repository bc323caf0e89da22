package prose

import (
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// A Column is a column of a table whose rows tell of a T each.
type Column[T any] struct {
	// Head stands above the column. Cell is the text in the row of a T.
	Head string
	Cell func(*T) string
}

// Table is a line of heads and one for each row, aligned as [Align] does.
func Table[T any](lead string, columns []Column[T], rows []T) string {
	lines := make([][]string, 1+len(rows))
	for _, c := range columns {
		lines[0] = append(lines[0], c.Head)
		for i := range rows {
			lines[1+i] = append(lines[1+i], c.Cell(&rows[i]))
		}
	}
	return Align(lead, lines)
}

// Align is the lines of cells with columns as wide as their widest cell, to the
// left and two spaces apart. Each line begins with the lead, which makes a column
// of its own if it ends with a tab.
func Align(lead string, lines [][]string) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range lines {
		_, _ = table.Write([]byte(lead + strings.Join(cells, "\t") + "\n")) // a builder takes everything
	}
	_ = table.Flush()
	return b.String()
}

// AlignFigures is lines of equally many cells of which the first column is to the
// left and the others, which are numbers, to the right, two spaces apart. No line
// ends with a space.
func AlignFigures(lines [][]string) string {
	var widths []int
	for _, cells := range lines {
		widths = append(widths, make([]int, max(0, len(cells)-len(widths)))...)
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, cells := range lines {
		line := ""
		for i, cell := range cells {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line = cell + padding
			} else {
				line += "  " + padding + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Indent is the lines of a text with two spaces before each.
func Indent(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}
