package report

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/allotsched/allot/sim/scenario"
)

// promisingText is a cluster whose policy makes promises: a ends in ten hours, b in four, nobody
// knows when x does; c and d are promised a start.
const promisingText = `
policy reserve.backfill=easy reserve.depth=2 usage-strength-milli=1000
nodes n1..n4 gpu=1
queue q1 quota=3 weight=1 usage=600/1000
queue q2 quota=4 weight=1 usage=100/1000
run q1/a tasks=2 gpu=1 for=10h limit=10h at=0h since=0h on n1 n2
run q1/b gpu=1 for=4h limit=4h at=0h since=0h on n3
run q2/x gpu=1 at=0h since=0h on n4
submit q2/c tasks=3 gpu=1 for=5h limit=5h at=1s
submit q2/d tasks=3 gpu=1 for=2h limit=2h at=2s
now 1h
`

// The page draws what runs, to when, and what is promised, from when, to scale, and tells the
// weights of queues before and after what they have used (B7, B12).
func TestTimelineIsDrawn(t *testing.T) {
	s, err := scenario.State(promisingText)
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, s, Options{Helps: -1})
	text := html.UnescapeString(page)
	for _, want := range []string{
		`<section id="time"`, `href="#time"`, "3 workloads run, 2 promises",
		// Of 16 hours b takes 3, a 9; c has 5 from then on, and d 2 behind it.
		`x="0%" y="4" width="18.75%"`, `x="0%" y="4" width="56.25%"`, `x="0%" y="4" width="100%"`,
		`class="vow" x="56.25%" y="4" width="31.25%"`, `class="vow" x="87.5%" y="4" width="12.5%"`,
		"nobody knows when it ends", "after a, b", "starts by 1 January 2000, 10:00 UTC, in 9h0m",
		"weight <b>0.5, by what it has used 0.4</b>", "weight <b>0.5, by what it has used 0.9</b>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	s.Pools[0].Policy.Reserve.Backfill = 0
	if strings.Contains(pageOf(t, s, Options{Helps: -1}), `id="time"`) {
		t.Error("there is a timeline where nothing is promised")
	}
}

// Of many it draws a dozen of a kind, those first that promises wait for, and says how many
// more there are.
func TestTimelineOfMany(t *testing.T) {
	text := "policy reserve.backfill=conservative reserve.trust-durations\nnodes n01..n40 gpu=1\n"
	for i := range 40 {
		text += fmt.Sprintf("run r%02d gpu=1 for=%dh at=0h since=0h on n%02d\n", i, 100-i, i+1)
	}
	for i := range 20 {
		text += fmt.Sprintf("submit w%02d gpu=1 for=1h at=%ds\n", i, i+1)
	}
	s, err := scenario.State(text + "now 1h\n")
	if err != nil {
		t.Fatal(err)
	}
	page := html.UnescapeString(pageOf(t, s, Options{Helps: -1}))
	if n := strings.Count(page, `class="vow" x=`); n != shownSpans+1 { // and one in the key
		t.Errorf("%d promises are drawn", n)
	}
	for _, want := range []string{"40 workloads run, 20 promises", "28 more run, and 8 more promises."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
