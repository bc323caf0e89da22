package main

import (
	"bytes"
	"fmt"
	"math"
	"path"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

const modulePath = "github.com/allotsched/allot"

// measurements are results by package and benchmark.
type measurements struct {
	values map[string]values
	// config is what the file says about the machine and the run.
	config map[string]string
}

// values are what one benchmark measured, by unit, run after run.
type values map[string][]float64

// readMeasurements reads Go's benchmark format. Lines of other things, such as
// PASS, are passed over, malformed results are errors.
func readMeasurements(raw []byte) (*measurements, error) {
	m := &measurements{make(map[string]values), make(map[string]string)}
	reader := benchfmt.NewReader(bytes.NewReader(raw), "results")
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, r
		case *benchfmt.Result:
			key := keyOf(r.GetConfig("pkg"), r.Name)
			if m.values[key] == nil {
				m.values[key] = make(values)
			}
			for _, v := range r.Values {
				m.values[key][v.Unit] = append(m.values[key][v.Unit], v.Value)
			}
			for _, c := range r.Config {
				m.config[c.Key] = string(c.Value)
			}
		}
	}
	if len(m.values) == 0 {
		return nil, fmt.Errorf("there is no result")
	}
	return m, reader.Err()
}

// keyOf is the package and the name without the number of processors.
func keyOf(pkg string, name benchfmt.Name) string {
	base, parts := name.Parts()
	key := pkg + " " + string(base)
	for _, part := range parts {
		if part[0] == '/' {
			key += string(part)
		}
	}
	return key
}

// A cell is a shape at a size.
type cell struct {
	size
	// measures are those of the shape, cold those of the decision from scratch
	// on the states of an event.
	measures, cold func(measure string) values
}

// A group is a shape at the sizes that were measured.
type group struct {
	shape
	cells []cell
}

// group looks up the results of a shape.
func (m *measurements) group(s shape) group {
	g := group{shape: s}
	pkg := path.Join(modulePath, s.folder) + " "
	for _, at := range s.sizes {
		if key := pkg + s.name(at); m.has(key) {
			g.cells = append(g.cells, cell{at, m.measuresOf(key), m.measuresOf(pkg + path.Join(s.cold, at.name))})
		}
	}
	return g
}

// measuresOf looks up what stands below a benchmark at a size; the measure "" is
// the benchmark itself.
func (m *measurements) measuresOf(key string) func(measure string) values {
	return func(measure string) values { return m.values[strings.TrimSuffix(key+"/"+measure, "/")] }
}

// has tells whether there is any measure of a benchmark at a size.
func (m *measurements) has(key string) bool {
	for k := range m.values { // any will do: order cannot matter
		if k == key || strings.HasPrefix(k, key+"/") {
			return true
		}
	}
	return false
}

// at is the cell of a size; an empty one where the size was left out.
func (g group) at(n int) cell {
	for _, c := range g.cells {
		if c.n == n {
			return c
		}
	}
	none := func(string) values { return nil }
	return cell{measures: none, cold: none}
}

// median is that of all runs.
func (c cell) median(measure, unit string) (float64, bool) {
	return median(c.measures(measure)[unit])
}

func median(of []float64) (float64, bool) {
	if len(of) == 0 {
		return 0, false
	}
	sample := benchmath.NewSample(of, &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(sample, 0.95).Center, true
}

// ratio is how many times the floor of its run a measure takes: the median over
// the runs, so that a machine that is slower for a while changes little.
func (c cell) ratio(measure string) (float64, bool) {
	floor, of := c.measures("floor")["sec/op"], c.measures(measure)["sec/op"]
	var ratios []float64
	for i := range min(len(floor), len(of)) {
		ratios = append(ratios, of[i]/floor[i])
	}
	return median(ratios)
}

// growth is the slope of the logarithm of a figure over that of n, by least
// squares over the sizes; none where there are fewer than two.
func (g group) growth(figure func(cell) (float64, bool)) (float64, bool) {
	var x, y []float64
	for _, c := range g.cells {
		v, ok := figure(c)
		if !ok || v <= 0 {
			continue
		}
		x, y = append(x, math.Log(float64(c.n))), append(y, math.Log(v))
	}
	if len(x) < 2 {
		return 0, false
	}
	meanX, meanY := mean(x), mean(y)
	over, under := 0.0, 0.0
	for i := range x {
		over += (x[i] - meanX) * (y[i] - meanY)
		under += (x[i] - meanX) * (x[i] - meanX)
	}
	return over / under, true
}

func mean(of []float64) float64 {
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(len(of))
}

// spread tells how far the runs lie from the median of their times: in half of
// the benchmarks at most usual, in all at most worst. It also tells how many runs
// there were of each.
func (m *measurements) spread() (runs int, usual, worst float64) {
	var all []float64
	for _, v := range m.values { // the median, the maximum: order cannot matter
		center, ok := median(v["sec/op"])
		if !ok {
			continue
		}
		off := 0.0
		for _, x := range v["sec/op"] {
			off = max(off, math.Abs(x-center)/center)
		}
		all = append(all, off)
		runs, worst = max(runs, len(v["sec/op"])), max(worst, off)
	}
	usual, _ = median(all)
	return runs, usual, worst
}
