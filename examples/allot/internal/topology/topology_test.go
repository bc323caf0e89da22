package topology

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/golden"
	"github.com/allotsched/allot/sim/scenario"
)

const sample = "testdata/cluster.txt"

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		file, from string
		o          Options
	}{
		{"cluster.svg", sample, Options{}},
		{"cluster-wide.svg", sample, Options{Wide: true}},
		{"cluster-rack.svg", sample, Options{In: "b0/r1"}},
		{"odd.svg", "testdata/odd.txt", Options{Title: "A & <b>"}},
		{"large.svg", "testdata/large.txt", Options{}},
	} {
		_, got := drawn(t, sampleState(t, c.from), &c.o)
		golden.Check(t, c.file, got)
	}
	two, err := scenario.State("nodes n0..n1 gpu=2\nsubmit gang tasks=2 gpu=2\n")
	if err != nil {
		t.Fatal(err)
	}
	_, got := drawn(t, two, &Options{Page: true, Title: "Two nodes"})
	golden.Check(t, "page.html", got)
}

// drawn is the picture of a state.
func drawn(t *testing.T, state *allot.State, o *Options) (*scene, string) {
	t.Helper()
	plan, err := allot.Solve(state)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newScene(state, plan, len(state.Nodes) > most)
	if err != nil {
		t.Fatal(err)
	}
	if o.In == "" && !o.Page {
		o.Title = cmp.Or(o.Title, "The cluster and the plan")
		return s, picture(s, o) // which places the boxes of s
	}
	text, err := Draw(state, plan, *o)
	if err != nil {
		t.Fatal(err)
	}
	return s, text
}

// Of a large cluster a page has every box by itself, with every device, and a link to it
// from its frame and from each of its nodes.
func TestZoom(t *testing.T) {
	flat := sampleState(t, "testdata/large.txt")
	flat.Levels = nil
	for i := range flat.Nodes {
		flat.Nodes[i].Domains = nil
	}
	for i := range flat.Workloads {
		flat.Workloads[i].Topology = allot.Topology{}
	}
	for _, state := range []*allot.State{sampleState(t, "testdata/large.txt"), flat} {
		s, text := drawn(t, state, &Options{Page: true})
		sheets := len(s.root.leaves())
		if n := strings.Count(text, `<section class="sheet"`); n != sheets || n < 5 {
			t.Errorf("%d sheets of %d boxes", n, sheets)
		}
		if n := strings.Count(text, `<a href="#sheet-`); n != sheets+len(state.Nodes) {
			t.Errorf("%d links to %d sheets for %d nodes", n, sheets, len(state.Nodes))
		}
		for i := range sheets {
			if id := fmt.Sprintf("sheet-%d\"", i); !strings.Contains(text, "#"+id) || !strings.Contains(text, "id=\""+id) {
				t.Errorf("nothing leads to sheet %d", i)
			}
		}
		if n := len(text); n > 1<<20 {
			t.Errorf("the page has %d bytes", n)
		}
	}
}

// A domain that is not there is an error that names some that are.
func TestNoDomain(t *testing.T) {
	state := sampleState(t, sample)
	plan, err := allot.Solve(state)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Draw(state, plan, Options{In: "b0/r9"})
	if err == nil || !strings.Contains(err.Error(), `there is no domain "b0/r9"; there is b0/r0`) {
		t.Errorf("%v", err)
	}
}

func sampleState(t *testing.T, file string) *allot.State {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.State(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The same state with its lists in another order (S3) has the same bytes.
func TestSameBytes(t *testing.T) {
	for _, file := range []string{sample, "testdata/odd.txt", "testdata/large.txt"} {
		s := sampleState(t, file)
		_, want := drawn(t, s, &Options{Title: "x"})
		slices.Reverse(s.Nodes)
		slices.Reverse(s.Workloads)
		for i := range s.Workloads {
			slices.Reverse(s.Workloads[i].Tasks)
		}
		if _, got := drawn(t, s, &Options{Title: "x"}); got != want {
			t.Errorf("%s: another picture in another order", file)
		}
	}
}

// Every form is well-formed and asks for nothing from elsewhere, and no name gets
// out of its text.
func TestSelfContained(t *testing.T) {
	for _, file := range []string{sample, "testdata/odd.txt", "testdata/large.txt"} {
		for _, o := range []Options{{Title: "\x00\x1b</title>"}, {Wide: true}} {
			_, text := drawn(t, sampleState(t, file), &o)
			checkXML(t, file, text)
		}
	}
	_, text := drawn(t, sampleState(t, "testdata/odd.txt"), &Options{Page: true, Title: "<script>"})
	if n := strings.Count(text, "<script"); n != 0 || strings.Contains(text, "<img") {
		t.Errorf("%d scripts", n)
	}
}

func checkXML(t *testing.T, name, text string) {
	t.Helper()
	known := []string{"svg", "title", "style", "g", "rect", "path", "circle", "text", "a"}
	tokens := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains(known, start.Name.Local) {
			t.Errorf("%s: <%s>", name, start.Name.Local)
		}
		for _, a := range start.Attr {
			if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") || strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "url(") {
				t.Errorf("%s: %s=%q", name, a.Name.Local, a.Value)
			}
		}
	}
}

// What is drawn of the sample is what the plan says: the gangs of the issue, each in
// its role, and the reason of the one that waits, in its words.
func TestSampleTells(t *testing.T) {
	s, text := drawn(t, sampleState(t, sample), &Options{})
	for id, want := range map[string]role{ // each is checked by itself: order cannot matter
		"agents": started, "pretrain": started, "rl": started, "serve": started,
		"video": waiting, "sweep": evicted, "tune": running, "chat": running,
	} {
		if w := s.byID[id]; w == nil || w.role != want {
			t.Errorf("%s: %+v, want role %d", id, w, want)
		}
	}
	for _, want := range []string{"b0/r0, takes 3 of 4", "video waits: 3 of 4 fit here", "is entitled to its quota", "cordoned", "lost", "every 2 in one rack", "balanced"} {
		if !strings.Contains(strings.Join(strings.Fields(textOf(text)), " "), want) {
			t.Errorf("nothing says %q", want)
		}
	}
	if path := s.byID["pretrain"].common.path(); path != "b0" || len(s.byID["pretrain"].nodes) != 4 {
		t.Errorf("pretrain in %s", path)
	}
}

// What a move takes and gives is marked, and so is what a shrink takes.
func TestMovesAndShrinks(t *testing.T) {
	state, err := scenario.State(`levels zone
nodes n0..n2 gpu=3 zone=z0 | nodes n3..n5 gpu=3 zone=z1
queue q | run q/s0 gpu=1 on n0 | run q/s1 gpu=1 on n1 | run q/s2 gpu=1 on n2
run q/s3 gpu=1 on n3 | run q/s4 gpu=1 on n4 | run q/s5 gpu=1 on n5
submit q/gang tasks=2 gpu=3 require=zone`)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := drawn(t, state, &Options{})
	moved := s.byID["s5"]
	if moved.role != changed || len(moved.left) != 1 || moved.left[0].Node != "n5" || len(moved.nodes) != 1 || moved.nodes[0].name != "n0" {
		t.Errorf("%+v", moved)
	}
	if v := s.nodes[5].devices[0]; !v.left || len(v.parts) != 1 || v.parts[0].of.ID != "gang" || !v.parts[0].fresh {
		t.Errorf("device 0 of n5: %+v", v)
	}
	state, err = scenario.State(`nodes n0 gpu=2 | queue a quota=1 | queue b quota=1
run a/elastic tasks=2 min=1 gpu=1 | submit b/due gpu=1`)
	if err != nil {
		t.Fatal(err)
	}
	s, _ = drawn(t, state, &Options{})
	if w := s.byID["elastic"]; w.role != changed || len(w.left) != 1 || len(w.what) != 1 {
		t.Errorf("%+v", w)
	}
}

// textOf is all text of a picture.
func textOf(picture string) string {
	return regexp.MustCompile(`<[^>]*>`).ReplaceAllString(picture, "")
}

// TestBoxes: on clusters of many forms every box is inside the one around it, none
// lies on another, devices are inside their nodes, and no gang's lane leaves its
// domain.
func TestBoxes(t *testing.T) {
	for seed := range uint64(150) {
		dice := rand.New(rand.NewPCG(seed, 1))
		text := randomCluster(dice)
		state, err := scenario.State(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		s, picture := drawn(t, state, &Options{})
		checkXML(t, text, picture)
		s.checkBoxes(t, text, s.root)
		if s.summarised {
			full, err := newScene(state, s.plan, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range full.root.leaves() { // the boxes one by one
				full.drawSheet(b)
				full.checkBoxes(t, text, b)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, text)
		}
	}
}

func (s *scene) checkBoxes(t *testing.T, text string, b *box) {
	inside := slices.Concat(b.domains, b.nodes)
	for i, in := range inside {
		if in.x < b.x || in.y < b.y || in.x+in.w > b.x+b.w || in.y+in.h > b.y+b.h {
			t.Errorf("%s is not inside %s", in.name, b.name)
		}
		for _, other := range inside[:i] {
			if in.x < other.x+other.w && other.x < in.x+in.w && in.y < other.y+other.h && other.y < in.y+in.h {
				t.Errorf("%s lies on %s", in.name, other.name)
			}
		}
		s.checkBoxes(t, text, in)
	}
	for i := range b.rows {
		for _, w := range b.lanes {
			xs, _ := b.ends(&b.rows[i], w)
			if y := b.laneY(&b.rows[i], w); len(xs) > 0 && (y < b.y || y > b.y+b.h || slices.Max(xs) > b.x+b.w) {
				t.Errorf("a lane of %s leaves it", b.name)
			}
		}
	}
	if b.node != nil && !s.summarised {
		spots, _ := b.spots()
		for i, at := range spots {
			if at.x+deviceSize > b.w || at.y+deviceSize > b.h {
				t.Errorf("a device of %s leaves it", b.name)
			}
			for _, other := range spots[:i] {
				if max(at.x-other.x, other.x-at.x) < deviceSize && max(at.y-other.y, other.y-at.y) < deviceSize {
					t.Errorf("two devices of %s in one place", b.name)
				}
			}
		}
	}
}

// randomCluster is a cluster with gangs.
func randomCluster(dice *rand.Rand) string {
	var b strings.Builder
	b.WriteString("levels zone,block,rack\n")
	nodes := dice.IntN(40)
	if dice.IntN(8) == 0 {
		nodes = 180 + dice.IntN(60)
	}
	makes := []string{"gpu=0", "gpu=3", "gpu=20", "gpu=8 hardware=cube-mesh-8", "gpu=8 hardware=nvswitch-8", "gpu=4 hardware=nvl72-tray", "gpu=16 hardware=nvswitch-16", "gpu=4 hardware=nvlink-4"}
	for n := range nodes {
		fmt.Fprintf(&b, "nodes n%d %s", n, makes[dice.IntN(len(makes))])
		for i, level := range []string{"zone", "block", "rack"} {
			if dice.IntN(10) > 0 {
				fmt.Fprintf(&b, " %s=%s%d", level, strings.Repeat("long", dice.IntN(9)/8*7), n*(i+1)/(12-3*i))
			}
		}
		b.WriteString("\n")
		if dice.IntN(12) == 0 {
			fmt.Fprintf(&b, "%s n%d\n", []string{"cordon", "lose"}[dice.IntN(2)], n)
		}
	}
	b.WriteString("queue q\n")
	for w := range dice.IntN(14) {
		fmt.Fprintf(&b, "submit q/w%d tasks=%d gpu=%s prefer=%s mode=%s\n", w, 1+dice.IntN(6), []string{"1", "2", "4", "0.3"}[dice.IntN(4)],
			[]string{"rack", "block", "zone", "node"}[dice.IntN(4)], []string{"pack", "balance", "spread"}[dice.IntN(3)])
	}
	return b.String()
}

// A line never runs out of its room, whatever its words are, and nothing is lost.
func TestWrap(t *testing.T) {
	for _, text := range []string{"", "one two three", strings.Repeat("word ", 40), strings.Repeat("w", 300), "ein " + strings.Repeat("é漢", 50) + " end", "bad\xffutf"} {
		lines := wrap(text, 20, 200)
		for _, line := range lines {
			if width(line, 20) > 200 {
				t.Errorf("%q is %d wide", line, width(line, 20))
			}
		}
		if got, want := strings.Join(lines, ""), strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), ""); strings.ReplaceAll(got, " ", "") != want {
			t.Errorf("%q became %q", text, lines)
		}
		if c := cut(text, 20, 100); width(c, 20) > 100 {
			t.Errorf("%q is %d wide", c, width(c, 20))
		}
	}
}

// Gangs beyond the lanes of a domain are told, not drawn.
func TestTooManyGangs(t *testing.T) {
	text := "levels rack\nnodes n0..n1 gpu=40 rack=r\nqueue q\n"
	for i := range lanes + 3 {
		text += "run q/w" + strconv.Itoa(i) + " tasks=2 gpu=1 on n0 n1\n"
	}
	state, err := scenario.State(text)
	if err != nil {
		t.Fatal(err)
	}
	if s, picture := drawn(t, state, &Options{}); s.unlit != 3 || !strings.Contains(picture, "3 further gangs") {
		t.Errorf("%d gangs are not drawn", s.unlit)
	}
}

// Every colour of a letter can be read on its ground (WCAG 4.5 for letters, 3 for
// lines), in light and dark.
func TestContrast(t *testing.T) {
	for _, h := range hues {
		if c := contrast(t, h.fill, h.letter); c < 4.5 {
			t.Errorf("%s on %s: %.1f", h.letter, h.fill, c)
		}
		if c := contrast(t, h.onLight, "#f3f5f7"); c < 3 {
			t.Errorf("%s on light: %.1f", h.onLight, c)
		}
		if c := contrast(t, h.onDark, "#20272f"); c < 3 {
			t.Errorf("%s on dark: %.1f", h.onDark, c)
		}
	}
}

// The links of README.md lead somewhere, and its letters are those that are drawn.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range regexp.MustCompile(`(?:\]\(|src="|srcset=")([^)"]+)`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.FromSlash(link[1])); err != nil {
			t.Error(err)
		}
	}
	s, _ := drawn(t, sampleState(t, sample), &Options{})
	for _, told := range regexp.MustCompile(`\*\*([A-Z])\*\*, ([a-z]+):`).FindAllStringSubmatch(string(text), -1) {
		if w := s.byID[told[2]]; w == nil || w.key != told[1] {
			t.Errorf("%s is not the letter of %s", told[1], told[2])
		}
	}
}

// Pieces are called by their nodes, as far as that is short enough.
func TestPieceNames(t *testing.T) {
	for _, c := range []struct{ format, want string }{
		{"n%04d", "0000–0031 0032–0063 0064–0069"},
		{"gpu-node-%03d.example.com", "000–031 032–063 064–069"},
		{"node-%d", "0–31 32–63 64–69"},
		{"%[1]d-rather-long-and-%[1]d", "1–32 33–64 65–70"},
		{"é%02d", "é00–é31 é32–é63 é64–é69"},
	} {
		var nodes []*allot.Node
		for i := range 70 {
			nodes = append(nodes, &allot.Node{ID: fmt.Sprintf(c.format, i)})
		}
		if got := strings.Join(pieceNames(nodes), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.format, got, c.want)
		}
	}
}
