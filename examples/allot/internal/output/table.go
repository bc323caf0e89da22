package output

import (
	"strings"
	"unicode/utf8"
)

// A Cell is a piece of a table.
type Cell struct {
	Text  string
	Style Style
	// Right: it stands at the right of its column, as numbers do.
	Right bool
}

// Words is a cell of words, and Number one of a number.
func Words(text string) Cell { return Cell{Text: text} }

// Number is a cell whose text stands at the right.
func Number(text string) Cell { return Cell{Text: text, Right: true} }

// Table writes rows in aligned columns, two spaces apart, after an indent. The first
// row is the head.
func (p *Page) Table(indent string, rows [][]Cell) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	for at, row := range rows {
		var line strings.Builder
		gap := 0
		for i, c := range row {
			pad := widths[i] - utf8.RuneCountInString(c.Text)
			if c.Right {
				gap, pad = gap+pad, 0
			}
			if at == 0 {
				c.Style = Faint
			}
			if c.Text != "" {
				line.WriteString(strings.Repeat(" ", gap) + p.paint(c.Style, c.Text))
				gap = 0
			}
			gap += pad + 2
		}
		p.text.WriteString(indent + line.String() + "\n")
	}
}
