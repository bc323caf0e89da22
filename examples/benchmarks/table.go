package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A column is a figure of every shape and size.
type column struct {
	head   string
	figure func(c cell) (float64, bool)
	scales []scale // none: a plain number
	grows  bool    // its growth is of interest
	page   page    // what README.md has of it
}

// A page is how much of a column stands in README.md.
type page int

const (
	nothing page = iota
	figures
	figuresAndGrowth
)

// with is the column with another page.
func (c column) with(p page) column {
	c.page = p
	return c
}

// of is a column of one unit of a measure.
func of(head, measure, unit string, scales []scale) column {
	return column{head, func(c cell) (float64, bool) { return c.median(measure, unit) }, scales, true, figures}
}

// decided is a column of one unit of decide, or of a benchmark without measures.
func decided(head, unit string, scales []scale) column {
	return column{head, func(c cell) (float64, bool) {
		if v, ok := c.median("decide", unit); ok {
			return v, ok
		}
		return c.median("", unit)
	}, scales, true, figures}
}

func timesFloorOf(measure string) column {
	return column{"× floor", func(c cell) (float64, bool) { return c.ratio(measure) }, nil, false, figures}
}

var peak = of("peak RSS", "peak", "peak-RSS-B", sizeScales)

// coldColumns are those of decisions from scratch.
var coldColumns = []column{
	of("floor", "floor", "sec/op", timeScales),
	of("room", "room", "sec/op", timeScales),
	decided("decide", "sec/op", timeScales).with(figuresAndGrowth), timesFloorOf("decide"),
	of("solve", "solve", "sec/op", timeScales).with(figuresAndGrowth), timesFloorOf("solve"),
	decided("allocs", "allocs/op", nil),
	decided("live heap", "live-B", sizeScales),
	peak,
}

// coldOf is a column of one unit of a measure from scratch, beside an event.
func coldOf(head, measure, unit string, scales []scale) column {
	return column{head, func(c cell) (float64, bool) { return median(c.cold(measure)[unit]) }, scales, true, figures}
}

// eventColumns are those of what happens to a snapshot.
var eventColumns = []column{
	coldOf("floor", "floor", "sec/op", timeScales),
	coldOf("cold", "snapshot", "sec/op", timeScales),
	of("median", "event", "p50-sec/op", timeScales).with(figuresAndGrowth),
	of("mean", "event", "sec/op", timeScales),
	of("p99", "event", "p99-sec/op", timeScales).with(nothing),
	{"cold ÷ median", func(c cell) (float64, bool) {
		cold, ok1 := median(c.cold("snapshot")["sec/op"])
		v, ok2 := c.median("event", "p50-sec/op")
		return cold / v, ok1 && ok2
	}, nil, false, figures},
	of("allocs", "event", "allocs/op", nil),
	of("a version", "event", "B/version", sizeScales),
	coldOf("live heap", "snapshot", "live-B", sizeScales),
	peak,
}

// A section is a table of shapes that have the same columns.
type section struct {
	title   string
	words   string // what the columns mean
	columns []column
	groups  []group
}

const coldWords = "floor sorts and writes one place a task, without a decision; decide is the decision " +
	"on compiled state, room the part of it that makes room, solve the whole way from State to Plan; " +
	"× floor is the ratio in the same run. allocs and live heap are those of decide, live heap what it " +
	"holds beyond State and Plan; peak RSS is the whole process's, with the State."

const eventWords = "median, mean and p99 are of With and Decide together, after one event; floor and cold are of " +
	"the same state, cold being NewSnapshot and Decide. a version is the live heap of each version that is kept, " +
	"live heap that of the first snapshot and its decision; peak RSS is the whole process's, with the State."

// sections are the tables of the chosen shapes, without those of which nothing
// was measured.
func (m *measurements) sections(chosen []shape) (all []section) {
	cold := section{"From scratch", coldWords, coldColumns, nil}
	events := section{"One event on a snapshot", eventWords, eventColumns, nil}
	for _, s := range chosen {
		g := m.group(s)
		into := &cold
		if s.event {
			into = &events
		}
		if into.measured(g) {
			into.groups = append(into.groups, g)
		}
	}
	for _, s := range []section{cold, events} {
		if len(s.groups) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func (s section) measured(g group) bool {
	for _, c := range g.cells {
		for _, column := range s.columns {
			if _, ok := column.figure(c); ok {
				return true
			}
		}
	}
	return false
}

// print is the figure of a cell with its unit; a dash where there is none.
func (c column) print(of cell) string {
	v, ok := c.figure(of)
	switch {
	case !ok:
		return "–"
	case c.scales == nil:
		return significant(v)
	}
	texts, unit := scaled(c.scales, v)
	return texts[0] + " " + unit
}

// printGrowth is the growth of the column over the sizes of a shape.
func (c column) printGrowth(g group) string {
	if !c.grows {
		return ""
	}
	v, ok := g.growth(func(at cell) (float64, bool) { return c.figure(at) })
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.2f", v)
}

// text is the tables for a terminal: a line for every size.
func (m *measurements) text(chosen []shape) string {
	var b strings.Builder
	b.WriteString(wrap(m.machine(), 80) + "\n")
	for _, s := range m.sections(chosen) {
		fmt.Fprintf(&b, "\n%s\n\n", wrap(s.title+": "+s.words, 80))
		lines := [][]string{append([]string{"n"}, s.heads()...)}
		for _, g := range s.groups {
			lines = append(lines, nil, []string{g.title})
			for _, c := range g.cells {
				line := []string{grouped(c.n)}
				for _, column := range s.columns {
					line = append(line, column.print(c))
				}
				lines = append(lines, line)
			}
			if len(g.cells) > 1 {
				line := []string{"n^"}
				for _, column := range s.columns {
					line = append(line, column.printGrowth(g))
				}
				lines = append(lines, line)
			}
		}
		b.WriteString(aligned(lines, false))
	}
	if lines, met := m.targets(chosen); len(lines) > 0 {
		fmt.Fprintf(&b, "\nTargets: %d of %d met\n\n", met, len(lines))
		head := []string{"target", "measured", "", "shape"}
		b.WriteString(aligned(append([][]string{head}, lines...), true))
	}
	return b.String()
}

func (s section) heads() (all []string) {
	for _, column := range s.columns {
		all = append(all, column.head)
	}
	return all
}

// targets are lines of target, what was measured, whether it was met, and shape.
func (m *measurements) targets(chosen []shape) (lines [][]string, met int) {
	for _, s := range chosen {
		for _, t := range s.targets {
			value, text, ok := t.value(m.group(s))
			if !ok {
				continue
			}
			verdict := "missed"
			if value <= t.limit {
				verdict = "met"
				met++
			}
			lines = append(lines, []string{t.text, text, verdict, s.title})
		}
	}
	return lines, met
}

// aligned lays out cells in columns, two spaces apart, left or right. A line of
// one cell is no part of a column.
func aligned(lines [][]string, left bool) string {
	var widths []int
	for _, line := range lines {
		for i, text := range line {
			if len(line) > 1 {
				widths = append(widths, make([]int, max(0, i+1-len(widths)))...)
				widths[i] = max(widths[i], utf8.RuneCountInString(text))
			}
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var row strings.Builder
		for i, text := range line {
			space := ""
			if len(line) > 1 {
				space = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			}
			if i > 0 {
				row.WriteString("  ")
			}
			if left {
				row.WriteString(text + space)
			} else {
				row.WriteString(space + text)
			}
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return b.String()
}

// wrap breaks a text into lines of at most so many characters.
func wrap(text string, width int) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line+" "+word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, line), "\n")
}
