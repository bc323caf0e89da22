package main

import (
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// BenchmarkOpenb plans the whole load of the trace: solve is allot.Solve from
// plain data to a plan with reasons, placement only the search for places, in
// order of arrival, without queues, quotas and reasons.
func BenchmarkOpenb(b *testing.B) {
	trace, err := readTrace("", "")
	if err != nil {
		b.Fatal(err)
	}
	perPod := func(b *testing.B, placed int) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(trace.pods)), "ns/pod")
		b.ReportMetric(float64(placed), "placed")
	}
	b.Run("nodes=1213/pods=8152/solve", func(b *testing.B) {
		p := presetOf("runai")
		state := buildState(trace.machines, trace.pods, p, p.policy())
		b.ReportAllocs()
		placed := 0
		for b.Loop() {
			plan, err := allot.Solve(state)
			if err != nil {
				b.Fatal(err)
			}
			placed = len(plan.Actions)
		}
		perPod(b, placed)
	})
	for _, strategy := range []placement.Strategy{placement.BinPack, placement.Spread, placement.First} {
		b.Run("nodes=1213/pods=8152/placement="+strategy.String(), func(b *testing.B) {
			b.ReportAllocs()
			placed := 0
			for b.Loop() {
				placed = placeAll(b, trace, strategy)
			}
			perPod(b, placed)
		})
	}
}

// placeAll places the pods one after the other and returns how many found a
// place.
func placeAll(b *testing.B, t *trace, strategy placement.Strategy) int {
	const cpu, memory, resources = 0, 1, 2
	models := make(map[string]int32)
	nodes := make([]placement.Node, len(t.machines))
	for i, m := range t.machines {
		model, ok := models[m.model]
		if !ok {
			model = int32(len(models))
			models[m.model] = model
		}
		devices := make([]placement.Device, m.gpus)
		for d := range devices {
			devices[d].Model = model
		}
		nodes[i] = placement.Node{
			Capacity: []int64{cpu: m.cpuMilli, memory: m.memoryMiB}, Devices: devices,
			Slots: placement.NoCap, CPUOnlySlots: placement.NoCap,
		}
	}
	index, err := placement.NewIndex(nodes, resources)
	if err != nil {
		b.Fatal(err)
	}
	shapes := make(map[pod]placement.Shape)
	placed := 0
	for i := range t.pods {
		p := &t.pods[i]
		shape, ok := shapes[p.shape()]
		if !ok {
			shape = index.Shape(placement.Request{
				Devices: int32(p.gpus), Milli: p.gpuMilli, Set: -1,
				Amounts: quota.Amounts{{Resource: cpu, Value: p.cpuMilli}, {Resource: memory, Value: p.memoryMiB}},
			})
			shapes[p.shape()] = shape
		}
		if place, ok := index.Find(shape, strategy); ok {
			index.Take(shape, place)
			placed++
		}
	}
	return placed
}
