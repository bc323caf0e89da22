package quota_test

import (
	"fmt"
	"testing"

	"github.com/allotsched/allot/quota"
)

// chain is a tree of the depth given with fan queues on every level under the
// path's, three resources, and a reserve in every queue if lending.
func chain(b *testing.B, depth, fan int, lending bool) (tree *quota.Tree, leaf int) {
	b.Helper()
	bounds := quota.Bounds{Quota: quota.Of(1 << 30), Limit: quota.Of(1 << 40)}
	if lending {
		bounds.Lend = quota.Of(1 << 29)
	}
	c := quota.Config{Capacity: []int64{1 << 45, 1 << 45, 1 << 45}}
	parent := int32(-1)
	for range depth {
		first := int32(len(c.Queues))
		for range fan {
			c.Queues = append(c.Queues, quota.Queue{Parent: parent, Bounds: []quota.Bounds{bounds, bounds, bounds}})
		}
		parent = first
	}
	tree, err := quota.New(c)
	if err != nil {
		b.Fatal(err)
	}
	return tree, int(parent)
}

var threeResources = quota.Amounts{{0, 8000}, {1, 64000}, {2, 1 << 20}}

func BenchmarkCheckCharge(b *testing.B) {
	for _, depth := range []int{3, 10} {
		for _, lending := range []bool{false, true} {
			b.Run(fmt.Sprintf("depth=%d/resources=3/lending=%v", depth, lending), func(b *testing.B) {
				tree, leaf := chain(b, depth, 10, lending)
				b.ReportAllocs()
				for b.Loop() {
					if _, ok := tree.Check(leaf, threeResources, true); !ok {
						b.Fatal("refused")
					}
					if err := tree.Charge(leaf, threeResources, true); err != nil {
						b.Fatal(err)
					}
					if err := tree.Release(leaf, threeResources, true); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, depth := range []int{3, 10} {
		for _, fits := range []bool{true, false} {
			b.Run(fmt.Sprintf("depth=%d/resources=3/fits=%v", depth, fits), func(b *testing.B) {
				tree, leaf := chain(b, depth, 10, false)
				if !fits {
					if err := tree.Charge(leaf, quota.Amounts{{2, 1 << 30}}, true); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, ok := tree.Check(leaf, threeResources, true); ok != fits {
						b.Fatal("wrong answer")
					}
				}
			})
		}
	}
}

// A trial of 16 charges that is undone.
func BenchmarkMarkChargeUndo(b *testing.B) {
	for _, depth := range []int{3, 10} {
		b.Run(fmt.Sprintf("depth=%d/resources=3/charges=16", depth), func(b *testing.B) {
			tree, leaf := chain(b, depth, 10, false)
			b.ReportAllocs()
			for b.Loop() {
				m := tree.Mark()
				for range 16 {
					if err := tree.Charge(leaf, threeResources, false); err != nil {
						b.Fatal(err)
					}
				}
				tree.Undo(m)
			}
		})
	}
}

func BenchmarkAppendFigures(b *testing.B) {
	for _, fan := range []int{10, 1000} {
		b.Run(fmt.Sprintf("depth=3/siblings=%d/resources=3", fan), func(b *testing.B) {
			tree, leaf := chain(b, 3, fan, true)
			// Beyond what belongs to nobody, so that every sibling lends.
			if err := tree.Charge(leaf, quota.Amounts{{0, 1 << 45}}, false); err != nil {
				b.Fatal(err)
			}
			var dst []quota.Figures
			b.ReportAllocs()
			for b.Loop() {
				dst = tree.AppendFigures(dst[:0])
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	bounds := []quota.Bounds{{Quota: quota.Of(8)}, {Quota: quota.Of(8)}, {Quota: quota.Of(8)}}
	c := quota.Config{Capacity: make([]int64, 3)}
	for q := range 1000 {
		c.Queues = append(c.Queues, quota.Queue{Parent: int32(q/10) - 1, Bounds: bounds})
	}
	b.Run("queues=1000/resources=3", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := quota.New(c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The hot paths allocate nothing, refusals included.
func TestNoAllocations(t *testing.T) {
	bounds := quota.Bounds{Quota: quota.Of(4), Limit: quota.Of(6), Lend: quota.Of(1)}
	tree := mustTree(t, quota.Config{Capacity: []int64{8}, Queues: []quota.Queue{
		{Parent: -1, Bounds: []quota.Bounds{bounds}}, {Parent: 0, Bounds: []quota.Bounds{bounds}}, {Parent: -1, Bounds: []quota.Bounds{bounds}},
	}}, nil)
	requests := []quota.Amounts{one(1), one(5), one(6), one(7)}
	work := func() {
		for _, n := range requests {
			m := tree.Mark()
			tree.Check(1, n, false)
			tree.Check(1, n, true)
			tree.Never(1, n, true)
			if err := tree.Charge(1, n, false); err != nil {
				t.Fatal(err)
			}
			inner := tree.Mark()
			if err := tree.Release(1, n, false); err != nil {
				t.Fatal(err)
			}
			tree.Commit(inner)
			tree.Undo(m)
		}
	}
	work() // the journal grows once
	if n := testing.AllocsPerRun(100, work); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// With no mark open nothing is remembered: committed trials do not add up.
func TestCommitForgets(t *testing.T) {
	tree := mustTree(t, quota.Config{Capacity: []int64{8}, Queues: flat(quota.Bounds{})}, nil)
	request := one(1)
	trial := func() {
		m := tree.Mark()
		if err := tree.Charge(0, request, false); err != nil {
			t.Fatal(err)
		}
		tree.Commit(m)
	}
	trial() // the journal grows once
	allocations := testing.AllocsPerRun(1, func() {
		for range 10_000 {
			trial()
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
