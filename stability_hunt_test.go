package allot_test

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/verify"
)

var (
	hunt         = flag.Bool("stability.hunt", false, "look for failures of stability and print the smallest of each kind")
	huntPast     = flag.Bool("stability.pastverify", false, "with -stability.hunt, look past what Verify says")
	huntedDigits = regexp.MustCompile(`[0-9]+`)
)

// TestStabilityHunt looks on where TestStability would stop: seeds by turns live
// and are dense states, and of the failures of a kind, names aside, the smallest
// is printed with how many there are.
func TestStabilityHunt(t *testing.T) {
	if !*hunt {
		t.Skip("looks only with -stability.hunt")
	}
	if *huntPast {
		verifyPlan = func(*allot.State, *allot.Plan) error { return nil }
		defer func() { verifyPlan = verify.Plan }()
	}
	const enough = 12 // of a kind are made small
	smallest, counts, total := make(map[string]*failure), make(map[string]int), newStabilityStats()
	for seed := range deep.Seeds(t, 1000) {
		f := live(seed, total)
		if f == nil {
			f = atRest(denseState(seed), seed, total)
		}
		if f == nil {
			continue
		}
		kind := f.kind()
		if counts[kind]++; counts[kind] > enough {
			continue
		}
		small := f.shrink()
		if old := smallest[kind]; old == nil || stateSize(small.state) < stateSize(old.state) {
			smallest[kind] = small
		}
	}
	total.log(t)
	for _, kind := range sortedKeys(counts) {
		t.Errorf("%d × %s\n%v\n%s", counts[kind], kind, smallest[kind].broken, smallest[kind].scenario())
	}
}

// kind is the failure without names and numbers.
func (f *failure) kind() string {
	lines := strings.SplitN(f.broken.text, "\n", 3)
	return huntedDigits.ReplaceAllString(fmt.Sprint(f.broken.kind, ": ", strings.Join(lines[:min(2, len(lines))], "")), "#")
}

func stateSize(s *allot.State) int {
	n := 10*len(s.Workloads) + 5*len(s.Queues) + 3*len(s.Nodes)
	for i := range s.Workloads {
		n += len(s.Workloads[i].Tasks)
	}
	return n
}
