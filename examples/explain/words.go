package main

import (
	"strings"
)

// write writes a text of the library: as it is where it is aligned, and in lines
// of a terminal's width where it is prose. What has something below it is bold.
func (p *page) write(text string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		content := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(content)]
		head := i+1 < len(lines) && len(lines[i+1])-len(strings.TrimLeft(lines[i+1], " ")) > len(indent)
		s := plain
		switch {
		case head && (i == 0 || len(indent) <= 2):
			s = bold
		case head:
			s = faint
		}
		if aligned(content) {
			p.text.WriteString(indent)
			p.line(s, content)
			continue
		}
		p.prose(indent, indent+"    ", s, content)
	}
}

// aligned says whether a line is of a table: its cells are two spaces apart, and
// it is no sentence.
func aligned(line string) bool { return strings.Contains(line, "  ") && !strings.Contains(line, ": ") }
