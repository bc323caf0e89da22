package sim_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// benchRun runs an input under a scheduler as fast as it goes and reports jobs per
// second.
func benchRun(b *testing.B, in *sim.Input, s sim.Scheduler) {
	b.ReportAllocs()
	for b.Loop() {
		r, err := sim.Run(in, sim.Options{Scheduler: s, NoVerify: true, NoReasons: true})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Decisions), "decisions/op")
	}
	b.ReportMetric(float64(len(in.Jobs)*b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkOpenb is the openb trace with its real times: 8,152 jobs, 149 days, 1,213
// nodes.
func BenchmarkOpenb(b *testing.B) {
	in, err := trace.Openb(dataFile(b, "openb/openb_node_list_gpu_node.csv.gz"), dataFile(b, "openb/openb_pod_list_default.csv.gz"))
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range []sim.Scheduler{sim.FirstFit(), {Name: "zero-policy"}} {
		b.Run(s.Name, func(b *testing.B) { benchRun(b, in, s) })
	}
}

// BenchmarkElasticFlow is ElasticFlow's cluster04, 15,802 jobs, on 64 nodes under
// each baseline; cluster06 has the 12 nodes of the known answers.
func BenchmarkElasticFlow(b *testing.B) {
	for _, c := range []struct {
		file  string
		nodes int
	}{{"cluster04", 64}, {"cluster06", 12}} {
		in, err := trace.ElasticFlow(dataFile(b, "elasticflow/"+c.file+".csv.gz"), c.nodes)
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range sim.Baselines() {
			b.Run(c.file+"/"+s.Name, func(b *testing.B) { benchRun(b, in, s) })
		}
	}
}

// BenchmarkGrowth is 2,000 jobs at a load of 90% on clusters of growing size.
func BenchmarkGrowth(b *testing.B) {
	for _, nodes := range []int{50, 200, 800} {
		in, err := trace.Generate(trace.ElasticFlowMix(), trace.Load{Seed: 1, Nodes: nodes, Jobs: 2000, Percent: 90, Tenants: 5, Burst: 20})
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range []sim.Scheduler{sim.FirstFit(), sim.Presets()[1]} {
			b.Run(fmt.Sprintf("nodes=%d/%s", nodes, s.Name), func(b *testing.B) { benchRun(b, in, s) })
		}
	}
}

var million = flag.Int("sim.million", 0, "jobs of BenchmarkMillion, which has 1,250 nodes")

// BenchmarkMillion is -sim.million jobs, such as 1,000,000, on 10,000 GPUs, under
// first-fit and under runai.
func BenchmarkMillion(b *testing.B) {
	if *million == 0 {
		b.Skip("-sim.million says how many jobs")
	}
	in, err := trace.Generate(trace.PhillyMix(), trace.Load{Seed: 1, Nodes: 1250, Jobs: *million, Percent: 90, Tenants: 10, Burst: 20})
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range []sim.Scheduler{sim.FirstFit(), sim.Presets()[1]} {
		b.Run(s.Name, func(b *testing.B) { benchRun(b, in, s) })
	}
}
