package queue_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/allotsched/allot/queue"
)

// TestSort: items come into the order that comparing them one by one gives, whatever tells them apart and however far
// apart they are.
func TestSort(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	far := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
	for _, n := range []int{0, 1, 2, 3, 700, 2000} {
		for kind := range 6 {
			items := make([]queue.Item, n)
			for i := range items {
				it := queue.Item{ID: int32(i / 2), Form: int16(i % 2), Submitted: draw.Int64N(1000)}
				switch kind {
				case 1:
					it.Priority, it.Stage = draw.Int32N(5)-2, queue.Stage(draw.IntN(3))
				case 2:
					it.Due, it.Rank = -draw.Int64N(3), draw.Int64N(100)
				case 3:
					it.Submitted = far[draw.IntN(len(far))]
				case 4:
					it.Due, it.Submitted = far[draw.IntN(len(far))], far[draw.IntN(len(far))]
				case 5:
					it.Priority = []int32{math.MinInt32, 0, math.MaxInt32}[draw.IntN(3)]
				}
				items[i] = it
			}
			draw.Shuffle(n, func(i, j int) { items[i], items[j] = items[j], items[i] })
			want := slices.Clone(items)
			slices.SortFunc(want, queue.Item.Compare)
			if queue.Sort(items); !slices.Equal(items, want) {
				t.Fatalf("%d items of kind %d are out of order", n, kind)
			}
		}
	}
}
