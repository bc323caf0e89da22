package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const head = "goos: linux\ncpu: a machine\npkg: github.com/allotsched/allot\n"

func TestReadMeasurements(t *testing.T) {
	m, err := readMeasurements([]byte("date: today\n" + head +
		"BenchmarkFill/nodes=10/floor-2 \t 5 \t 2000000 ns/op \t 7 ns/task\n" +
		"PASS\nok  \tgithub.com/allotsched/allot\t1.0s\n" +
		"pkg: github.com/allotsched/allot/placement\n" +
		"BenchmarkFill/nodes=10/floor-2 5 5000000 ns/op\n" +
		"pkg: github.com/allotsched/allot\n" +
		"BenchmarkFill/nodes=10/floor 5 4000000 ns/op\n" +
		"BenchmarkFill/nodes=10/peak 1 1024 peak-RSS-B\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.values["github.com/allotsched/allot Fill/nodes=10/floor"]["sec/op"]; !slices.Equal(got, []float64{0.002, 0.004}) {
		t.Errorf("runs of one benchmark: %v", got)
	}
	if got := m.values["github.com/allotsched/allot/placement Fill/nodes=10/floor"]["sec/op"]; !slices.Equal(got, []float64{0.005}) {
		t.Errorf("the same name in another package: %v", got)
	}
	c := m.group(shape{benchmark: "Fill", sizes: sizes("nodes={n}", 10)}).at(10)
	if v, ok := c.median("peak", "peak-RSS-B"); v != 1024 || !ok {
		t.Errorf("peak is %v, %v", v, ok)
	}
	if _, ok := c.median("solve", "sec/op"); ok {
		t.Error("what was not measured has a median")
	}
	if m.config["date"] != "today" || m.config["cpu"] != "a machine" {
		t.Errorf("config is %v", m.config)
	}
}

func TestReadMeasurementsRefuses(t *testing.T) {
	for _, raw := range []string{"", "PASS\n", head, head + "BenchmarkFill 5 x ns/op\n", head + "BenchmarkFill five 5 ns/op\n"} {
		if m, err := readMeasurements([]byte(raw)); err == nil {
			t.Errorf("%q reads as %v", raw, m.values)
		}
	}
}

// cellsOf is a group whose decide takes so long at sizes 1, 10, 100, …
func cellsOf(seconds ...float64) (g group) {
	for i, v := range seconds {
		g.cells = append(g.cells, cell{size{n: int(math.Pow10(i))}, func(string) values { return values{"sec/op": {v}} }, nil})
	}
	return g
}

func TestGrowth(t *testing.T) {
	tests := []struct {
		why     string
		seconds []float64
		want    float64
		ok      bool
	}{
		{"in proportion", []float64{1, 10, 100}, 1, true},
		{"the square", []float64{2, 200, 20_000}, 2, true},
		{"always the same", []float64{3, 3, 3}, 0, true},
		{"the least squares of what does not lie on a line", []float64{1, 1, 10}, 0.5, true},
		{"a size that was not measured has no say", []float64{1, 0, 100}, 1, true},
		{"one size has no growth", []float64{1}, 0, false},
		{"nothing measured", []float64{0, 0}, 0, false},
	}
	for _, tt := range tests {
		got, ok := cellsOf(tt.seconds...).growth(func(c cell) (float64, bool) { return c.median("decide", "sec/op") })
		if math.Abs(got-tt.want) > 1e-9 || ok != tt.ok {
			t.Errorf("%s: %v, %v, want %v, %v", tt.why, got, ok, tt.want, tt.ok)
		}
	}
}

// The ratio is of the same run: a run on a machine of half the speed changes
// nothing, though the ratio of the medians would be 3.
func TestRatioIsOfOneRun(t *testing.T) {
	c := cell{measures: func(measure string) values {
		return map[string]values{"floor": {"sec/op": {1, 1, 2}}, "decide": {"sec/op": {2, 3, 6}}}[measure]
	}}
	if v, ok := c.ratio("decide"); v != 3 || !ok {
		t.Errorf("ratio is %v, %v", v, ok)
	}
	c = cell{measures: func(measure string) values {
		return map[string]values{"floor": {"sec/op": {1, 2, 2}}, "decide": {"sec/op": {2, 2, 4}}}[measure]
	}}
	if v, _ := c.ratio("decide"); v != 2 {
		t.Errorf("ratio is %v, want that within the runs", v)
	}
	if _, ok := c.ratio("solve"); ok {
		t.Error("what was not measured has a ratio")
	}
}

func TestTargets(t *testing.T) {
	m, err := readMeasurements([]byte(head +
		"BenchmarkX/n=1/floor 1 1000000 ns/op\nBenchmarkX/n=1/decide 1 2000000 ns/op 300 B/task\n" +
		"BenchmarkX/n=10/floor 1 10000000 ns/op\nBenchmarkX/n=10/decide 1 40000000 ns/op 500 B/task\n"))
	if err != nil {
		t.Fatal(err)
	}
	g := m.group(shape{benchmark: "X", sizes: sizes("n={n}", 1, 10)})
	tests := []struct {
		target target
		met    bool
		text   string
	}{
		{within("decide", 10, 40*ms), true, "40 ms"},
		{within("decide", 10, 39*ms), false, "40 ms"},
		{timesFloor("decide", 4), true, "4"},
		{timesFloor("decide", 3), false, "4"}, // at the size where it is worst
		{ratioGrows("decide", 1, 10, 2), true, "2"},
		{ratioGrows("decide", 1, 10, 1.5), false, "2"},
		{grows("decide", 1.31), true, "1.30"},
		{grows("decide", 1.2), false, "1.30"},
		{metric("decide", "B/task", "B", 400), false, "500"},
	}
	for _, tt := range tests {
		value, text, ok := tt.target.value(g)
		if !ok || text != tt.text || (value <= tt.target.limit) != tt.met {
			t.Errorf("%s: %v %q %v, want met %v, %q", tt.target.text, value, text, ok, tt.met, tt.text)
		}
	}
	for _, not := range []target{within("decide", 5, ms), within("solve", 1, ms), timesFloor("solve", 1), ratioGrows("decide", 1, 100, 1), grows("solve", 1), metric("decide", "none", "", 1)} {
		if _, _, ok := not.value(g); ok {
			t.Errorf("%s: was not measured and has a value", not.text)
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"12,345":        significant(12345.4),
		"1,000":         significant(999.6),
		"100":           significant(99.96),
		"10.0":          significant(9.996),
		"9.99":          significant(9.99),
		"0.10":          significant(0.1),
		"0.012":         significant(0.0123),
		"0":             significant(0),
		"-1,234":        grouped(-1234),
		"3.70, 47.1 ms": durations(0.0037, 0.0471),
		"0.20 ms":       durations(0.0002),
		"20.5 µs":       durations(0.0000205),
		"3.02 s":        durations(3.02),
		"0 s":           durations(0),
		"0.66 ms":       durations(0.00066),
		"660 ms":        durations(0.66),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestShapesExist: every shape has its benchmark, and no two have one title.
func TestShapesExist(t *testing.T) {
	root, err := projectRoot()
	if err != nil {
		t.Fatal(err)
	}
	titles := make(map[string]bool)
	for _, s := range allShapes() {
		if titles[s.title] || len(s.sizes) == 0 || s.times < 1 {
			t.Errorf("%s: a title twice, no size or no repeats", s.title)
		}
		titles[s.title] = true
		for _, name := range []string{s.benchmark, s.cold} {
			if name != "" && !hasBenchmark(t, filepath.Join(root, s.folder), "Benchmark"+name) {
				t.Errorf("./%s has no Benchmark%s", s.folder, name)
			}
		}
		for _, at := range s.sizes {
			if strings.ContainsAny(at.name, "{}") {
				t.Errorf("%s: a name with a brace left: %s", s.title, at.name)
			}
		}
	}
}

func hasBenchmark(t *testing.T, folder, name string) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
				return true
			}
		}
	}
	return false
}
