package placement

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/allotsched/allot/quota"
)

// gpuNodes are n nodes of 8 devices, 96 cores and 768 GiB.
func gpuNodes(n int) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = Node{
			Capacity: []int64{96_000, 768 << 30}, Slots: 110, CPUOnlySlots: NoCap,
			Labels: map[string]string{"host": fmt.Sprint(i)},
		}
		for range 8 {
			nodes[i].Devices = append(nodes[i].Devices, Device{Memory: 80 << 30})
		}
	}
	return nodes
}

func cpuAndMemory(cores, gib int64) quota.Amounts {
	return quota.Amounts{{Resource: 0, Value: cores * 1000}, {Resource: 1, Value: gib << 30}}
}

// mix is the load of the fill of examples/benchmarks, by GPUs: 70 % singles, 15 % fractions,
// 15 % whole nodes (its gangs and elastic tasks), CPU-only 5 % of the tasks;
// about 1.05 of the capacity. The order is scrambled, the same each time.
func mix(x *Index, n int) []Shape {
	gpus := n * 8
	var tasks []Shape
	add := func(count int, r Request) {
		r.Set = -1
		s := x.Shape(r)
		for range count {
			tasks = append(tasks, s)
		}
	}
	add(gpus*42/100, Request{Devices: 1, Amounts: cpuAndMemory(8, 64)})
	add(gpus*33/100, Request{Devices: 1, Amounts: cpuAndMemory(10, 80)})
	for milli := int64(100); milli <= 500; milli += 100 {
		add(gpus*3/100*1000/int(milli), Request{Devices: 1, Milli: milli, Amounts: cpuAndMemory(2, 16)})
	}
	add(n*15/100, Request{Devices: 8, Amounts: cpuAndMemory(64, 512)})
	add(len(tasks)/20, Request{Amounts: cpuAndMemory(4, 16)})
	random := uint64(1)
	for i := range tasks {
		random = random*6364136223846793005 + 1442695040888963407
		j := int(random>>33) % (i + 1)
		tasks[i], tasks[j] = tasks[j], tasks[i]
	}
	return tasks
}

// fill finds and takes a place for every task and returns how many found one.
func fill(b *testing.B, x *Index, tasks []Shape, st Strategy) (placed int) {
	for _, s := range tasks {
		if p, ok := x.Find(s, st); ok {
			if err := x.Take(s, p); err != nil {
				b.Fatal(err)
			}
			placed++
		}
	}
	return placed
}

func BenchmarkFill(b *testing.B) {
	for _, st := range []Strategy{BinPack, Spread, First} {
		for _, n := range []int{1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("strategy=%v/nodes=%d", st, n), func(b *testing.B) {
				x, err := NewIndex(gpuNodes(n), 2)
				if err != nil {
					b.Fatal(err)
				}
				tasks := mix(x, n)
				for _, s := range tasks[:100] { // warm up
					x.Find(s, st)
				}
				placed := 0
				b.ResetTimer()
				for range b.N {
					m := x.Mark()
					placed = fill(b, x, tasks, st)
					b.StopTimer()
					x.Undo(m)
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tasks)), "ns/task")
				b.ReportMetric(float64(placed)/float64(len(tasks)), "placed")
			})
		}
	}
}

// The same where nodes are in racks of 16, in blocks of 256.
func BenchmarkFillDomains(b *testing.B) {
	for _, st := range []Strategy{BinPack, Spread} {
		for _, n := range []int{1000, 10_000} {
			b.Run(fmt.Sprintf("strategy=%v/nodes=%d", st, n), func(b *testing.B) {
				x, err := NewIndex(gpuNodes(n), 2)
				if err != nil {
					b.Fatal(err)
				}
				domains := make([][]string, n)
				for v := range domains {
					domains[v] = []string{fmt.Sprint(v / 256), fmt.Sprint(v / 16)}
				}
				setDomains(b, x, domains)
				tasks := mix(x, n)
				for _, s := range tasks[:100] { // warm up
					x.Find(s, st)
				}
				b.ResetTimer()
				for range b.N {
					m := x.Mark()
					fill(b, x, tasks, st)
					b.StopTimer()
					x.Undo(m)
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tasks)), "ns/task")
			})
		}
	}
}

// Nine nodes of ten have free devices but no CPU; the task needs both.
func BenchmarkFillCPUStarved(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			nodes := gpuNodes(n)
			x, err := NewIndex(nodes, 2)
			if err != nil {
				b.Fatal(err)
			}
			hog := x.Shape(Request{Set: -1, Devices: 1, Amounts: cpuAndMemory(94, 8)})
			s := x.Shape(Request{Set: -1, Devices: 1, Amounts: cpuAndMemory(8, 8)})
			wide := x.Shape(Request{Set: -1, Devices: 2, Amounts: cpuAndMemory(16, 8)})
			for v := range nodes {
				if v%10 != 9 {
					if err := x.Take(hog, Place{Node: int32(v), Devices: 1}); err != nil {
						b.Fatal(err)
					}
				}
			}
			tasks := make([]Shape, 0, n/10*8)
			for i := range n / 10 * 8 / 3 * 2 {
				tasks = append(tasks, []Shape{s, wide}[i%2])
			}
			b.ResetTimer()
			for range b.N {
				m := x.Mark()
				fill(b, x, tasks, BinPack)
				x.Undo(m)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tasks)), "ns/task")
		})
	}
}

// A shape that every node takes, and one that each has to be asked for.
func BenchmarkShape(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		for _, asked := range []bool{false, true} {
			b.Run(fmt.Sprintf("asked=%v/nodes=%d", asked, n), func(b *testing.B) {
				nodes := gpuNodes(n)
				nodes[0].Devices[0].Unhealthy = asked
				x, err := NewIndex(nodes, 2)
				if err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				for i := range b.N {
					x.Shape(Request{Set: -1, Devices: 1, Amounts: quota.Amounts{{Resource: 0, Value: int64(i%96_000 + 1)}}})
				}
			})
		}
	}
}

func BenchmarkReject(b *testing.B) {
	x, err := NewIndex(gpuNodes(10_000), 2)
	if err != nil {
		b.Fatal(err)
	}
	s := x.Shape(Request{Set: -1, Devices: 9})
	b.ResetTimer()
	for range b.N {
		x.version++ // or the answer is remembered
		x.Reject(s)
	}
}

func BenchmarkNewIndex(b *testing.B) {
	const n = 10_000
	nodes := gpuNodes(n)
	b.ReportAllocs()
	var x *Index
	var before, after runtime.MemStats
	for range b.N {
		runtime.GC()
		runtime.ReadMemStats(&before)
		var err error
		if x, err = NewIndex(nodes, 2); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
	}
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/n, "B/node")
	runtime.KeepAlive(x)
}

// A full cluster of eight models and 150 shapes, in which one task ends and
// another starts, at random: rankings are ragged and every shape lags.
func BenchmarkChurn(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			random := uint64(1)
			draw := func(below int) int {
				random = random*6364136223846793005 + 1442695040888963407
				return int(random>>33) % below
			}
			nodes := gpuNodes(n)
			for v := range nodes {
				for d := range nodes[v].Devices {
					nodes[v].Devices[d].Model = int32(v % 8)
				}
			}
			x, err := NewIndex(nodes, 2)
			if err != nil {
				b.Fatal(err)
			}
			shapes := make([]Shape, 150)
			for i := range shapes {
				r := Request{Set: -1, Devices: int32(1 + i%3), Amounts: cpuAndMemory(int64(4+i%23), int64(16+i%11))}
				if i%2 == 0 {
					r.Devices, r.Milli = 1, int64(100+i)
				}
				if i%5 != 0 {
					r.Models = []int32{int32(i % 8), int32(i * 7 % 8)}
				}
				shapes[i] = x.Shape(r)
			}
			type task struct {
				s Shape
				p Place
			}
			var running []task
			start := func() bool {
				s := shapes[draw(len(shapes))]
				p, ok := x.Find(s, BinPack)
				if ok {
					if err := x.Take(s, p); err != nil {
						b.Fatal(err)
					}
					running = append(running, task{s, p})
				}
				return ok
			}
			for misses := 0; misses < 300; {
				if !start() {
					misses++
				}
			}
			b.ResetTimer()
			for range b.N {
				i := draw(len(running))
				if err := x.Give(running[i].s, running[i].p); err != nil {
					b.Fatal(err)
				}
				running[i] = running[len(running)-1]
				running = running[:len(running)-1]
				start()
			}
		})
	}
}

// A full cluster of which one task in forty is releasing: place=now finds nothing,
// place=after claims one and is undone, and place=start starts and releases one. What
// the second layer costs when it is first asked for is place=build.
func BenchmarkRelease(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		x, err := NewIndex(gpuNodes(n), 2)
		if err != nil {
			b.Fatal(err)
		}
		s := x.Shape(Request{Set: -1, Devices: 2, Amounts: cpuAndMemory(8, 64)})
		fillNodes(b, x, s, n)
		run := func(place string, one func(x *Index) bool) {
			b.Run(fmt.Sprintf("place=%s/nodes=%d", place, n), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					m := x.Mark()
					if !one(x) {
						b.Fatal("it is otherwise")
					}
					x.Undo(m)
				}
			})
		}
		run("now", func(x *Index) bool {
			_, ok := x.Find(s, BinPack)
			return !ok
		})
		run("build", func(x *Index) bool {
			x.release.forgetAfter()
			return x.AfterRelease() != x
		})
		run("after", func(x *Index) bool {
			p, ok := x.AfterRelease().Find(s, BinPack)
			return ok && p.Pipelined && x.Take(s, p) == nil
		})
		run("release", func(x *Index) bool { return x.Release(s, Place{Node: 1, Devices: 3}) == nil })
	}
}
