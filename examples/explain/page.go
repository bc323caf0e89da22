package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A page is the answer as text for a terminal.
type page struct {
	text   bytes.Buffer
	colour bool
}

// A style is how a piece of text looks on a terminal that has colours. It never
// says anything that the text does not.
type style string

const (
	plain  style = ""
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	blue   style = "34"
)

// paint is the text in the style, where there are colours.
func (p *page) paint(s style, text string) string {
	if !p.colour || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// lineWidth is how wide prose is, in letters.
const lineWidth = 96

// line writes a line of one style as it is.
func (p *page) line(s style, text string) {
	p.text.WriteString(p.paint(s, text))
	p.text.WriteByte('\n')
}

// heading writes a heading, apart from what stands before it.
func (p *page) heading(text string) {
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
	p.line(bold, text)
}

// prose writes text of any length in lines; the first begins with first and all
// others with rest. Words are what one space parts.
func (p *page) prose(first, rest string, s style, text string) {
	line, indent := "", first
	flush := func() {
		p.text.WriteString(indent)
		p.line(s, strings.TrimRight(line, " "))
		line, indent = "", rest
	}
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
		case utf8.RuneCountInString(indent+line+" "+word) > lineWidth:
			flush()
		case line != "":
			line += " "
		}
		line += word
	}
	flush()
}

// printJSON writes a value as indented JSON.
func (p *page) printJSON(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := json.Indent(&p.text, text, "", "  "); err != nil {
		return err
	}
	p.text.WriteByte('\n')
	return nil
}

// A cell is a piece of a table.
type cell struct {
	text  string
	style style
	// right: it stands at the right of its column, as numbers do.
	right bool
}

func words(text string) cell  { return cell{text: text} }
func number(text string) cell { return cell{text: text, right: true} }

// table writes rows in aligned columns, two spaces apart, after an indent. The
// first row is the head.
func (p *page) table(indent string, rows [][]cell) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	for at, row := range rows {
		var line strings.Builder
		gap := 0
		for i, c := range row {
			pad := widths[i] - utf8.RuneCountInString(c.text)
			if c.right {
				gap, pad = gap+pad, 0
			}
			if at == 0 {
				c.style = faint
			}
			if c.text != "" {
				line.WriteString(strings.Repeat(" ", gap) + p.paint(c.style, c.text))
				gap = 0
			}
			gap += pad + 2
		}
		p.text.WriteString(indent + line.String() + "\n")
	}
}
