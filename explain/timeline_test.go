package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

// B1, B4: what runs ends as it says, or by a correction where it has not, what is promised runs
// from then on, and what nobody knows stands last.
func TestTimelineByHand(t *testing.T) {
	state := must(scenario.State(`
policy reserve.backfill=easy reserve.depth=2
nodes n1..n4 gpu=1
run a tasks=2 gpu=1 for=10h limit=10h at=0h since=0h on n1 n2
run b gpu=1 for=4h at=0h since=0h on n3
run x gpu=1 at=0h since=0h on n4
submit c tasks=3 gpu=1 for=5h limit=5h at=1s
submit d tasks=3 gpu=1 limit=2h at=2s
now 5h
`))
	// b has overrun by an hour: of the corrections the first beyond is two.
	want := "b 0 to 6, a 0 to 10, x 0 to 0, c 10 to 15, d 15 to 17"
	zero := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	hour := func(at time.Time) int {
		if at.IsZero() {
			return 0
		}
		return int(at.Sub(zero) / time.Hour)
	}
	tell := func(s *allot.State) string {
		var told []string
		for _, span := range must(Timeline(t.Context(), decide(t, s))) {
			told = append(told, fmt.Sprintf("%s %d to %d", span.Workload, hour(span.Promised), hour(span.End)))
		}
		return strings.Join(told, ", ")
	}
	if got := tell(state); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	state.Pools[0].Policy.Reserve = allot.ReservePolicy{}
	if got := tell(state); got != "" {
		t.Errorf("without promises: %s", got)
	}
}
