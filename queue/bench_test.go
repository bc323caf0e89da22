package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/btree"

	"github.com/allotsched/allot/quota"
)

// evenTree returns a tree whose queues have the given number of children per
// level from the top, and its leaves. Every queue has a quota and a share of
// each of three resources in proportion to the leaves below it.
func evenTree(b *testing.B, order Order, fanout ...int) (*Queues, *quota.Tree, []int) {
	b.Helper()
	var queues []given
	level := []int{-1}
	for depth, n := range fanout {
		below := int64(1)
		for _, m := range fanout[depth+1:] {
			below *= int64(m)
		}
		var next []int
		for _, parent := range level {
			for range n {
				next = append(next, len(queues))
				queues = append(queues, given{
					parent: parent, created: int64(len(queues)),
					quota: []int64{8000 * below, 64000 * below, 256 << 30 * below},
					share: []int64{16000 * below, 128000 * below, 512 << 30 * below},
				})
			}
		}
		level = next
	}
	q, tree := build(b, order, all(3), queues, asking(1000, 8000, 32<<30))
	return q, tree, level
}

// waiting returns n items, sorted by O1.
func waiting(first, n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{ID: int32(first + i), Submitted: int64(i / 4), Priority: int32(-i * 3 / n)}
	}
	return items
}

// BenchmarkOrderAll: 1,000 queues with one waiting workload each; fill, then
// take, charge and touch until nothing waits.
func BenchmarkOrderAll(b *testing.B) {
	for _, shape := range []struct {
		name   string
		fanout []int
	}{
		{"queues=1000/levels=1", []int{1000}},
		{"queues=1000/levels=3", []int{10, 10, 10}},
	} {
		for order := range Order(len(orderTexts)) {
			b.Run(fmt.Sprintf("%s/order=%v", shape.name, order), func(b *testing.B) {
				q, tree, leaves := evenTree(b, order, shape.fanout...)
				item := make([]Item, 1)
				b.ReportAllocs()
				for b.Loop() {
					mark := tree.Mark()
					for i, leaf := range leaves {
						item[0] = Item{ID: int32(i)}
						q.Fill(leaf, item)
					}
					startAll(b, q, tree)
					tree.Undo(mark)
					for _, leaf := range leaves {
						q.Touch(leaf)
					}
				}
			})
		}
	}
}

func startAll(b *testing.B, q *Queues, tree *quota.Tree) {
	ask := amounts(1000, 8000, 32<<30)
	for leaf, it, ok := q.Best(); ok; leaf, it, ok = q.Best() {
		q.Remove(leaf, it)
		if err := tree.Charge(leaf, ask, false); err != nil {
			b.Fatal(err)
		}
		q.Touch(leaf)
	}
}

// BenchmarkTouch: one leaf's use changes and the best is asked for. All leaves
// have work. The rows named charge are the change of use alone, to be taken off.
func BenchmarkTouch(b *testing.B) {
	for _, shape := range []struct {
		name   string
		fanout []int
	}{
		{"leaves=200/levels=3", []int{4, 5, 10}},
		{"leaves=1000/levels=1", []int{1000}},
	} {
		b.Run(shape.name+"/charge", func(b *testing.B) {
			_, tree, leaves := evenTree(b, FairShare, shape.fanout...)
			touch(b, tree, leaves, func(int) {})
		})
		for order := range Order(len(orderTexts)) {
			b.Run(fmt.Sprintf("%s/order=%v", shape.name, order), func(b *testing.B) {
				q, tree, leaves := evenTree(b, order, shape.fanout...)
				for i, leaf := range leaves {
					q.Fill(leaf, waiting(i*10, 10))
				}
				touch(b, tree, leaves, func(leaf int) {
					q.Touch(leaf)
					q.Best()
				})
			})
		}
	}
}

// touch changes the use of one leaf after the other, up and down again.
func touch(b *testing.B, tree *quota.Tree, leaves []int, after func(leaf int)) {
	ask := amounts(1000, 8000, 32<<30)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		leaf := leaves[i*7%len(leaves)]
		change := tree.Charge
		if tree.Use(leaf, 0) > 0 {
			change = tree.Release
		}
		if err := change(leaf, ask, false); err != nil {
			b.Fatal(err)
		}
		after(leaf)
		i++
	}
}

// BenchmarkElastic: the best workload starts a task and comes back for its
// next, which takes its leaf's B-tree, not its run.
func BenchmarkElastic(b *testing.B) {
	q, _, leaves := evenTree(b, FairShare, 4, 5, 10)
	for i, leaf := range leaves {
		q.Fill(leaf, waiting(i*100, 100))
	}
	b.ReportAllocs()
	for b.Loop() {
		leaf, it, _ := q.Best()
		q.Remove(leaf, it)
		it.Stage = AboveMinimum
		it.Submitted++
		q.Push(leaf, it)
	}
}

// BenchmarkFill: 1,000,000 items over 200 leaves, in and out again. The B-tree
// row is what the run saves.
func BenchmarkFill(b *testing.B) {
	const leaves, each = 200, 5000
	sorted := make([][]Item, leaves)
	shuffled := make([][]Item, leaves)
	for i := range sorted {
		sorted[i] = waiting(i*each, each)
		shuffled[i] = waiting(i*each, each)
		r := rand.New(rand.NewPCG(1, uint64(i)))
		r.Shuffle(each, func(j, k int) { shuffled[i][j], shuffled[i][k] = shuffled[i][k], shuffled[i][j] })
	}
	for _, input := range []struct {
		name  string
		items [][]Item
	}{{"sorted", sorted}, {"shuffled", shuffled}} {
		b.Run("items=1M/leaves=200/run/"+input.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range leaves {
					var p pending
					p.fill(input.items[i])
					for it, ok := p.first(); ok; it, ok = p.first() {
						p.remove(it)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*leaves*each), "ns/item")
		})
		b.Run("items=1M/leaves=200/btree/"+input.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range leaves {
					t := btree.NewG(degree, before)
					for _, it := range input.items[i] {
						t.ReplaceOrInsert(it)
					}
					for t.Len() > 0 {
						t.DeleteMin()
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*leaves*each), "ns/item")
		})
	}
}
