package sim_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/scenario"
	"github.com/allotsched/allot/sim/trace"
)

var (
	soakSeeds = flag.Int("sim.soak", 0, "seeds of the month-long soak on 2,000 GPUs")
	soakFrom  = flag.Uint64("sim.from", 1, "first seed of the soak")
	soakNodes = flag.Int("sim.nodes", 250, "nodes of 8 GPUs of the long soak")
	soakJobs  = flag.Int("sim.jobs", 30000, "jobs of the long soak")
)

// soakInput is a load with all faults on.
func soakInput(t testing.TB, seed uint64, nodes, jobs int, until time.Duration) *sim.Input {
	t.Helper()
	in, err := trace.Generate(trace.Mixes()[seed%2], trace.Load{Seed: seed, Nodes: nodes, Jobs: jobs, Percent: 130, Tenants: 5, Burst: 20, Noise: 100})
	if err != nil {
		t.Fatal(err)
	}
	in = trace.Elastic(in, 2)
	in, err = trace.FaultsOf(in, trace.Faults{
		Seed: seed, Until: until, NodeLost: 100 * time.Hour, NodeBack: 2 * time.Hour,
		DeviceLost: 2000 * time.Hour, DeviceBack: 4 * time.Hour, Cordon: 300 * time.Hour, Uncordon: 3 * time.Hour,
		TaskFails: 1000 * time.Hour, QueueSet: 72 * time.Hour, CancelPercent: 5, PriorityPercent: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// soakOptions turns by the seed through policies, ways of deciding, and costs.
func soakOptions(seed uint64) sim.Options {
	policies := []func() allot.Policy{allot.RunAI, allot.OSMO, func() allot.Policy { return allot.Policy{} }, allot.DeterminedFairShare, allot.RunAI20, allot.DeterminedPriority}
	policy := policies[seed/2%uint64(len(policies))]()
	var class func(*sim.Job) string // nil leaves each job its own priority
	switch policy.Name {
	case "osmo":
		class = func(*sim.Job) string { return "LOW" }
	case "runai", "runai20":
		class = func(*sim.Job) string { return policy.DefaultClass }
	}
	o := sim.Options{
		Seed: seed, Check: true, Sample: time.Hour,
		Scheduler: sim.Preset(policy.Name, policy, class),
		Costs: sim.Costs{
			Start: 40 * time.Second, Grace: 30 * time.Second, Loses: true,
			Checkpoint: 30 * time.Minute, Save: 20 * time.Second, Restore: time.Minute,
		},
	}
	switch seed % 3 {
	case 1:
		o.Period, o.Latency = 30*time.Second, 2*time.Second
	case 2:
		o.Drop = 50
	}
	return o
}

// soak runs a seed and checks that nothing is lost: every job has ended, or waits
// with a reason (which the engine checks).
func soak(t *testing.T, seed uint64, nodes, jobs int, until time.Duration) *sim.Result {
	in := soakInput(t, seed, nodes, jobs, until)
	o := soakOptions(seed)
	r, err := sim.Run(in, o)
	var fault *sim.Fault
	if errors.As(err, &fault) {
		t.Logf("the state:\n%s", scenario.Format(fault.State))
	}
	if err != nil {
		t.Fatalf("seed %d under %s: %v", seed, o.Scheduler.Name, err)
	}
	outcomes := make(map[sim.Outcome]int)
	evictions := 0
	for i := range r.Jobs {
		outcomes[r.Jobs[i].Outcome]++
		evictions += r.Jobs[i].Evictions
	}
	t.Logf("seed %d under %s: %v, %d decisions, %d events, %d evictions, end %v", seed, o.Scheduler.Name, outcomes, r.Decisions, r.Events, evictions, r.End)
	if outcomes[sim.Unfinished] > 0 {
		t.Errorf("seed %d: %d jobs have not ended", seed, outcomes[sim.Unfinished])
	}
	return r
}

// TestSoak is a soak of ten days on 96 GPUs per seed; with -sim.soak it is a month
// of 2,000 GPUs.
func TestSoak(t *testing.T) {
	if *soakSeeds > 0 {
		for seed := *soakFrom; seed < *soakFrom+uint64(*soakSeeds); seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) { soak(t, seed, *soakNodes, *soakJobs, 30*24*time.Hour) })
		}
		return
	}
	for seed := range deep.Seeds(t, 8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { soak(t, seed, 12, 700, 10*24*time.Hour) })
	}
}

// TestSoakAnew: schedulers that plan everything anew, and orders drawn at random, keep all
// laws, with elastic jobs, unlike GPUs and all faults on, whether stopping costs or not.
func TestSoakAnew(t *testing.T) {
	for seed := range deep.Seeds(t, 1) {
		in := soakInput(t, seed, 4, 30, 3*24*time.Hour)
		for i := range in.Cluster.Nodes {
			for d := range in.Cluster.Nodes[i].Devices {
				in.Cluster.Nodes[i].Devices[d].Model = []string{"V100", "A100"}[i%2]
			}
		}
		for i := range in.Jobs {
			if i%3 == 0 {
				in.Jobs[i].ModelSpeed = map[string]int64{"A100": 1700}
			}
		}
		own := ranked(func(v *sim.View) (turns []sim.Turn) {
			chance := rand.New(rand.NewPCG(seed, uint64(v.Now/(6*time.Hour)))) // anew every six hours
			for _, i := range chance.Perm(len(v.Jobs)) {
				turn := sim.Turn{Job: i, Tasks: chance.IntN(4)}
				if j := v.Jobs[i]; chance.IntN(8) == 0 && len(j.Workload.PodSets) == 1 && j.GPUs <= 8000 {
					turn.Models = []string{"A100"}
				}
				if chance.IntN(10) > 0 {
					turns = append(turns, turn)
				}
			}
			v.Wake(v.Now + 6*time.Hour)
			return turns
		})
		for _, s := range []sim.Scheduler{sim.SRTF(), sim.SRSF(), sim.LAS(), own} {
			for _, costs := range []sim.Costs{{}, {Start: 40 * time.Second}, soakOptions(0).Costs} {
				until := 60 * 24 * time.Hour
				if s.Name == "own" {
					until = 5 * 24 * time.Hour
				}
				r := mustRun(t, in, sim.Options{Scheduler: s, Costs: costs, Check: true, Sample: 6 * time.Hour, VerifyEvery: 10, Until: until})
				done := 0
				for i := range r.Jobs {
					if r.Jobs[i].Outcome != sim.Unfinished {
						done++
					}
				}
				if s.Name != "own" && done < len(r.Jobs) {
					t.Errorf("seed %d under %s with %+v: %d of %d have ended", seed, s.Name, costs, done, len(r.Jobs))
				}
			}
		}
	}
}
