package output

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"
)

// A Page is an answer as text. The zero Page has no colours.
type Page struct {
	// Commands says that the reader gives the program commands, and so can be told of some.
	Commands bool
	// Colour says that styles show; Wide that there is room for more columns, and
	// Verbose that everything is to be told, however many lines it takes.
	Colour, Wide, Verbose bool
	// Width is how wide prose is, in letters; 0 is 96.
	Width int

	text bytes.Buffer
}

// A Style is how a piece of text looks on a terminal that has colours. It never says
// anything that the text does not.
type Style string

// The styles.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Blue   Style = "34"
)

// paint is the text in the style, where there are colours.
func (p *Page) paint(s Style, text string) string {
	if !p.Colour || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// lineWidth is how wide prose is where nothing is said of it, in letters.
const lineWidth = 96

// NotAll is what is said where something is left out.
func (p *Page) NotAll() string {
	if p.Commands {
		return "-v tells all"
	}
	return "not all is told"
}

// Bytes is what was written.
func (p *Page) Bytes() []byte { return p.text.Bytes() }

// Line writes a line of one style as it is.
func (p *Page) Line(s Style, text string) {
	p.text.WriteString(p.paint(s, text))
	p.text.WriteByte('\n')
}

// Heading writes a heading, apart from what stands before it.
func (p *Page) Heading(text string) {
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
	p.Line(Bold, text)
}

// Prose writes text of any length in lines; the first begins with first and all others
// with rest. Words are what one space parts.
func (p *Page) Prose(first, rest string, s Style, text string) {
	text = human(text)
	line, indent := "", first
	flush := func() {
		p.text.WriteString(indent)
		p.Line(s, strings.TrimRight(line, " "))
		line, indent = "", rest
	}
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
		case utf8.RuneCountInString(indent+line+" "+word) > cmp.Or(p.Width, lineWidth):
			flush()
		case line != "":
			line += " "
		}
		line += word
	}
	flush()
}

// Text writes a text of the library: as it is where it is aligned, and in lines of a
// terminal's width where it is prose. What has something below it is bold.
func (p *Page) Text(text string) {
	lines := strings.Split(strings.TrimSuffix(human(text), "\n"), "\n")
	for i, line := range lines {
		content := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(content)]
		head := i+1 < len(lines) && len(lines[i+1])-len(strings.TrimLeft(lines[i+1], " ")) > len(indent)
		s := Plain
		switch {
		case head && (i == 0 || len(indent) <= 2):
			s = Bold
		case head:
			s = Faint
		}
		if aligned(content) {
			p.text.WriteString(indent)
			p.Line(s, content)
			continue
		}
		p.Prose(indent, indent+"    ", s, content)
	}
}

// aligned says whether a line is of a table: its cells are two spaces apart, and it is
// no sentence.
func aligned(line string) bool { return strings.Contains(line, "  ") && !strings.Contains(line, ": ") }

// Verbatim writes a text as it is: what is canonical, or to be read by a program.
func (p *Page) Verbatim(text string) {
	p.text.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		p.text.WriteByte('\n')
	}
}
