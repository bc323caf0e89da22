package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// The measures of the picture, in units of which a phone shows about one a pixel.
const (
	pictureWidth = 400
	marginLeft   = 44
	marginRight  = 12
	plotWidth    = pictureWidth - marginLeft - marginRight
	plotHeight   = 190
	lineHeight   = 18
)

// pictureStyle colours the lines: strokes and dashes tell them apart, also where
// colours do not. The colours have enough contrast on white and on near black.
const pictureStyle = `<style>
svg{color-scheme:light dark;background:#fff;font:12px system-ui,sans-serif}
text{fill:#222}.quiet{fill:#555}.grid{stroke:#ddd}.axis{stroke:#888}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.s0{stroke:#777}.s1{stroke:#b35900}.s2{stroke:#8a4fbf}.s3{stroke:#007a5e}.s4{stroke:#c2185b}.s5{stroke:#0062b8}.s6{stroke:#7a6a00}.s7{stroke:#00748c}
.s0{stroke-dasharray:2 3}.s1{stroke-dasharray:7 3}.s2{stroke-dasharray:1 2}.s3{stroke-dasharray:7 2 2 2}.s4{stroke-dasharray:12 3}.s6{stroke-dasharray:4 4}.s7{stroke-dasharray:9 2 1 2}
@media (prefers-color-scheme:dark){
svg{background:#15181c}text{fill:#eee}.quiet{fill:#aaa}.grid{stroke:#333}.axis{stroke:#888}
.s0{stroke:#aaa}.s1{stroke:#ffa64d}.s2{stroke:#c9a0ff}.s3{stroke:#4fd1ae}.s4{stroke:#ff7eb0}.s5{stroke:#6cb8ff}.s6{stroke:#e0cf5a}.s7{stroke:#5fd7ee}
}
</style>
`

// styles are how many lines have a style of their own; further ones begin again.
const styles = 8

// A canvas is the picture so far; y is where the next thing goes.
type canvas struct {
	strings.Builder
	y int
}

// picture draws, for every workload, what is allocated and what is fragmented
// against the load that has arrived: one line for each policy, the mean over the
// seeds. Coordinates are whole numbers and tenths made of them, so that the same
// runs give the same bytes everywhere.
func (r *report) picture() string {
	var c canvas
	for i := range r.Workloads {
		c.workload(r, &r.Workloads[i])
	}
	const about = "GPUs allocated and fragmented against arrived load, by placement strategy"
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="100%%" style="max-width:%dpx" role="img" aria-label="%s">
<title>%s</title>
%s%s</svg>
`, pictureWidth, c.y+8, 2*pictureWidth, about, about, pictureStyle, c.String())
}

func (c *canvas) text(class, anchor string, x, y int, text string) {
	fmt.Fprintf(c, `<text class="%s" text-anchor="%s" x="%d" y="%d">%s</text>`+"\n", class, anchor, x, y, html.EscapeString(text))
}

func (c *canvas) workload(r *report, w *workloadReport) {
	c.y += 20
	fmt.Fprintf(c, `<text font-weight="600" x="%d" y="%d">%s</text>`+"\n", marginRight, c.y, html.EscapeString(w.title()))
	c.y += lineHeight
	c.text("quiet", "start", marginRight, c.y, fmt.Sprintf("%s; unallocated when %d%% has arrived:", count(len(r.Seeds), "seed"), r.at()))
	c.legend(r, w)
	from := w.apart()
	c.plot(w, from, r.LoadPercent, "allocated, % of all GPUs", func(s *series) []int64 { return s.Allocated })
	c.plot(w, 0, r.LoadPercent, "fragmented, % of all GPUs", func(s *series) []int64 { return s.Fragmented })
}

func (w *workloadReport) title() string {
	name := w.Published
	if name == "" {
		name = w.PodSource[strings.LastIndexAny(w.PodSource, `/\`)+1:]
	}
	return "Workload " + name
}

// legend names the lines, with what each leaves unallocated.
func (c *canvas) legend(r *report, w *workloadReport) {
	for i := range w.Policies {
		p := &w.Policies[i]
		c.y += lineHeight
		fmt.Fprintf(c, `<path class="line s%d" d="M%d %dh32"/>`+"\n", i%styles, marginRight, c.y-4)
		c.text("", "start", marginRight+40, c.y, p.Policy.String())
		c.text("", "end", pictureWidth-marginRight, c.y, percent(10_000-p.Mean.Allocated[r.at()])+"%")
	}
	c.y += lineHeight
	c.text("quiet", "start", marginRight+40, c.y, "bound, of any placement")
	c.text("quiet", "end", pictureWidth-marginRight, c.y, percent(10_000-w.bound())+"%")
}

// apart is the load, in tens of percent, from which the lines of what is allocated
// differ by two percent: before, they are all but one.
func (w *workloadReport) apart() int {
	load := len(w.Policies[0].Mean.Allocated)
	for k := range load {
		least, most := w.Policies[0].Mean.Allocated[k], w.Policies[0].Mean.Allocated[k]
		for i := range w.Policies {
			least, most = min(least, w.Policies[i].Mean.Allocated[k]), max(most, w.Policies[i].Mean.Allocated[k])
		}
		if most-least >= 200 {
			return max(0, min(k-5, load-11)) / 10 * 10
		}
	}
	return 0
}

// plot draws one line for each policy over loads from from to to.
func (c *canvas) plot(w *workloadReport, from, to int, title string, of func(*series) []int64) {
	low, high := int64(10_000), int64(0)
	for i := range w.Policies {
		line := of(&w.Policies[i].Mean)[from : to+1]
		low, high = min(low, slices.Min(line)), max(high, slices.Max(line))
	}
	step := tickStep(high - low)
	low, high = low/step*step, (high+step-1)/step*step
	high = max(high, low+step)
	c.y += 28
	c.text("quiet", "start", marginRight, c.y, title)
	top := c.y + 10
	bottom := top + plotHeight
	for tick := low; tick <= high; tick += step {
		y := bottom - int((tick-low)*plotHeight/(high-low))
		fmt.Fprintf(c, `<path class="grid" d="M%d %dh%d"/>`+"\n", marginLeft, y, plotWidth)
		c.text("quiet", "end", marginLeft-6, y+4, strings.TrimSuffix(strings.TrimRight(percent(tick), "0"), "."))
	}
	every := max(1, (to-from)/10) // about ten to the axis, in tens where they are tens
	if every > 1 {
		every = (every + 9) / 10 * 10
	}
	for k := from; k <= to; k += every {
		x := marginLeft + plotWidth*(k-from)/max(1, to-from)
		c.text("quiet", "middle", x, bottom+16, fmt.Sprint(k))
	}
	fmt.Fprintf(c, `<path class="axis" d="M%d %dh%d"/>`+"\n", marginLeft, bottom, plotWidth)
	for i := range w.Policies {
		c.line(i, of(&w.Policies[i].Mean)[from:to+1], low, high, bottom)
	}
	c.text("quiet", "end", pictureWidth-marginRight, bottom+32, "arrived load, % of all GPUs")
	c.y = bottom + 36
}

// line draws values, evenly spread over the width.
func (c *canvas) line(style int, values []int64, low, high int64, bottom int) {
	fmt.Fprintf(c, `<path class="line s%d" d="`, style%styles)
	for k, value := range values {
		command := 'L'
		if k == 0 {
			command = 'M'
		}
		x := 10*marginLeft + 10*plotWidth*k/max(1, len(values)-1)
		y := int64(10*bottom) - (value-low)*10*plotHeight/(high-low)
		fmt.Fprintf(c, "%c%d.%d %d.%d", command, x/10, x%10, y/10, y%10)
	}
	c.WriteString(`"/>` + "\n")
}

// tickStep is a round distance of ticks, in hundredths of a percent, of which at
// most eight fit the range.
func tickStep(span int64) int64 {
	for _, step := range []int64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		if span <= 7*step {
			return step
		}
	}
	return 2000
}
