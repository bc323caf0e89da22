package main

import (
	"fmt"
	"slices"
	"strings"
)

// markdown is the tables as README.md has them: a line for every shape, its
// figures by size.
func (m *measurements) markdown(chosen []shape) string {
	var b strings.Builder
	b.WriteString(wrap(m.machine(), 88) + "\n")
	for _, s := range m.sections(chosen) {
		fmt.Fprintf(&b, "\n%s\n\n", wrap(s.title+": "+s.words+" n^ is the growth of the column before it.", 88))
		b.WriteString(s.markdown())
	}
	if lines, met := m.targets(chosen); len(lines) > 0 {
		fmt.Fprintf(&b, "\nOf %d targets %d are met:\n\n| shape | target | measured | |\n|---|---|---|---|\n", len(lines), met)
		for _, line := range lines {
			verdict := line[2]
			if verdict == "missed" {
				verdict = "**missed**"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", line[3], line[0], line[1], verdict)
		}
	}
	return b.String()
}

// markdown is the table of the section.
func (s section) markdown() string {
	lines := [][]string{{"shape", "n"}}
	for _, g := range s.groups {
		var ns []string
		for _, c := range g.cells {
			ns = append(ns, grouped(c.n))
		}
		lines = append(lines, []string{g.title, strings.Join(ns, ", ")})
	}
	for _, column := range s.columns {
		if column.page == nothing {
			continue
		}
		lines[0] = append(lines[0], column.head)
		for i, g := range s.groups {
			lines[i+1] = append(lines[i+1], column.printAll(g))
		}
		if column.page != figuresAndGrowth {
			continue
		}
		lines[0] = append(lines[0], "n^")
		for i, g := range s.groups {
			lines[i+1] = append(lines[i+1], column.printGrowth(g))
		}
	}
	lines = slices.Insert(lines, 1, slices.Repeat([]string{"---"}, len(lines[0])))
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
	}
	return b.String()
}

// printAll is the column's figures of a shape in one unit.
func (c column) printAll(g group) string {
	var figures []float64
	for _, at := range g.cells {
		v, ok := c.figure(at)
		if !ok {
			return "–"
		}
		figures = append(figures, v)
	}
	if c.scales == nil {
		var texts []string
		for _, f := range figures {
			texts = append(texts, significant(f))
		}
		return strings.Join(texts, ", ")
	}
	texts, unit := scaled(c.scales, figures...)
	return strings.Join(texts, ", ") + " " + unit
}

// machine tells where, when and how often it was measured, as far as the results
// say so.
func (m *measurements) machine() string {
	text := "Measured"
	for _, part := range []struct{ words, key, after string }{
		{" on ", "date", ""}, {" with ", "toolchain", ""}, {" for ", "goos", ""}, {"/", "goarch", ""},
		{" on ", "cores", " cores"}, {" of ", "cpu", ""}, {", at commit ", "commit", ""},
		{"; the machine's load average before was ", "load", ""},
	} {
		if v := m.config[part.key]; v != "" {
			text += part.words + v + part.after
		}
	}
	runs, usual, worst := m.spread()
	if runs == 1 {
		return text + ". One run of each."
	}
	return text + fmt.Sprintf(". Medians of %d runs; half of the benchmarks keep within %.0f%% of their median, all within %.0f%%.",
		runs, 100*usual, 100*worst)
}
