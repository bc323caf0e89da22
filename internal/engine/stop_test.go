package engine

import (
	"testing"

	"github.com/allotsched/allot/internal/cluster"
)

// TestCountedStop: passes are stopped after few turns where units are taken again and again,
// and only there (M5). Before there was such a stop a solve took 25,000 starts and minutes.
func TestCountedStop(t *testing.T) {
	w := &cluster.World{Works: make([]cluster.Work, 2), Pools: []*cluster.Pool{{Definitions: []cluster.Definition{{Counts: []int32{3, 1}}}}}}
	for i := range w.Works {
		w.Works[i].Form = cluster.Form{}
	}
	for _, c := range []struct {
		passes, takings int
		want            bool
	}{
		{72, 200, false}, // each pass starts something
		{73, 201, true},
		{73, 200, false},
		{72, 201, false},
		{1_000, 0, false},
		{1, 1_000, false}, // many victims at once
	} {
		w.Room = &cluster.Table{Takings: make([]cluster.Taking, c.takings)}
		if got := stopsPasses(w, c.passes); got != c.want {
			t.Errorf("%d passes, %d takings: stopped %v", c.passes, c.takings, got)
		}
	}
}
