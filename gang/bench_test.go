package gang_test

import (
	"fmt"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// BenchmarkPlace places and takes back one gang of single-GPU tasks on nodes of
// 8. The time per task is what must not grow.
func BenchmarkPlace(b *testing.B) {
	for _, tasks := range []int32{64, 512, 4096} {
		b.Run(fmt.Sprintf("tasks=%d", tasks), func(b *testing.B) {
			benchmarkPlace(b, tasks, int(tasks)/8, true)
		})
	}
}

// BenchmarkPlaceShort is a gang for which one place of the last is missing.
func BenchmarkPlaceShort(b *testing.B) {
	for _, tasks := range []int32{64, 512, 4096} {
		b.Run(fmt.Sprintf("tasks=%d", tasks), func(b *testing.B) {
			benchmarkPlace(b, tasks, int(tasks)/8, false)
		})
	}
}

func benchmarkPlace(b *testing.B, tasks int32, nodes int, fits bool) {
	x := newIndex(b, cluster(nodes, machine(8, 100)))
	s := asking(x, tasks, tasks, whole(1, 1))
	if !fits {
		if err := x.Take(s.Shape, placement.Place{Node: 0, Devices: 1}); err != nil {
			b.Fatal(err)
		}
	}
	g := build(b, definition{sets: []gang.Set{s}})
	unit, _ := g.First(nil)
	var p gang.Placer
	var places []placement.Place
	b.ReportAllocs()
	for b.Loop() {
		mark := x.Mark()
		var v gang.Verdict
		if places, v = p.Place(x, g, unit, gang.Strategies{}, places); v.OK != fits {
			b.Fatalf("%+v", v)
		}
		x.Undo(mark)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tasks), "ns/task")
}

// BenchmarkPlaceHopeless is a gang that the empty cluster is too small for.
func BenchmarkPlaceHopeless(b *testing.B) {
	x := newIndex(b, cluster(100, machine(8, 100)))
	g := build(b, definition{sets: []gang.Set{asking(x, 801, 801, whole(1, 1))}})
	unit, _ := g.First(nil)
	var p gang.Placer
	b.ReportAllocs()
	for b.Loop() {
		if _, v := p.Place(x, g, unit, gang.Strategies{}, nil); v.Kind != gang.TooFew {
			b.Fatalf("%+v", v)
		}
	}
}

// BenchmarkFirst is what every turn in the order asks.
func BenchmarkFirst(b *testing.B) {
	plain := build(b, definition{sets: []gang.Set{set(8, 4)}})
	grouped := build(b, prefillDecode)
	for _, bc := range []struct {
		name string
		g    *gang.Gang
		held []int32
	}{
		{"plain/fresh", plain, []int32{0}},
		{"plain/above", plain, []int32{5}},
		{"groups/fresh", grouped, make([]int32, 6)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, v := bc.g.First(bc.held); !v.OK {
					b.Fatal(v)
				}
			}
		})
	}
}

// BenchmarkWalk goes through 1000 of C(40,20) choices.
func BenchmarkWalk(b *testing.B) {
	d := definition{groups: []gang.Group{{Parent: -1, Min: 20}}}
	for i := range int32(40) {
		d.sets = append(d.sets, in(0, set(1+i, 1+i)))
	}
	g := build(b, d)
	var w gang.Walk
	b.ReportAllocs()
	for b.Loop() {
		w.Reset(g, nil, 1000)
		for {
			if _, ok := w.Next(); !ok {
				break
			}
		}
	}
}
