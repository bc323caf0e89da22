package allot

import (
	"flag"
	"slices"
	"testing"
)

var (
	topologyInstances = flag.Int("topology.instances", 10_000, "gangs for which the search is compared with brute force, per test")
	topologySeed      = flag.Uint64("topology.seed", 1, "seed of the first of them")
	topologyTold      = flag.Int("topology.told", 3, "misses that are told in full")
)

func instances() uint64 {
	if testing.Short() {
		return uint64(*topologyInstances) / 10
	}
	return uint64(*topologyInstances)
}

// saysCut says whether a reason of the workload is that the search was cut short.
func saysCut(p *Plan, id string) bool {
	return slices.ContainsFunc(p.Pending, func(w Pending) bool {
		return w.Workload == id && slices.ContainsFunc(w.Reasons, func(r Reason) bool { return r.Code == SearchCut })
	})
}

// startOf is the action by which the workload starts, nil if it does not.
func startOf(p *Plan, id string) *Action {
	for i := range p.Actions {
		if p.Actions[i].Kind == Start && p.Actions[i].Workload == id {
			return &p.Actions[i]
		}
	}
	return nil
}

// TestT2FindsWhatFits: of the gangs that fit by brute force at least 999 in 1,000
// start, every other one says that the search was cut short, and none that does
// not fit starts.
func TestT2FindsWhatFits(t *testing.T) {
	fitting, missed, silent, bound := 0, 0, 0, 0
	for seed := *topologySeed; seed < *topologySeed+instances(); seed++ {
		g := newTopologyGen(seed, 20)
		g.cluster(12)
		w := g.gang()
		p, err := Solve(g.s)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, picture(g.s))
		}
		if err := Verify(g.s, p); err != nil {
			t.Fatalf("seed %d: %v\n%s%s", seed, err, picture(g.s), p.Text())
		}
		fits, starts := possible(g.s, w), startOf(p, "w") != nil
		if fits {
			fitting++
		} else if possible(g.s, unbound(w)) {
			bound++ // it is the topology that keeps it out
		}
		switch {
		case starts && !fits:
			t.Fatalf("seed %d: starts, and brute force finds no way\n%s%s", seed, picture(g.s), p.Text())
		case fits && !starts:
			missed++
			cut := saysCut(p, "w")
			if !cut {
				silent++
			}
			if !cut && silent <= *topologyTold {
				t.Errorf("seed %d: does not start, not cut short, and fits\n%s%s", seed, picture(g.s), p.Text())
			} else if missed <= *topologyTold {
				t.Logf("seed %d: cut short, and fits\n%s%s", seed, picture(g.s), p.Text())
			}
		}
	}
	t.Logf("%d instances: %d fit, of which %d were missed (%.3f%% found), %d of them without saying that the search was cut; %d more fit but for the topology",
		instances(), fitting, missed, 100-100*float64(missed)/float64(max(1, fitting)), silent, bound)
	if missed*1000 > fitting || silent > 0 {
		t.Errorf("%d of %d missed, %d silently", missed, fitting, silent)
	}
	if fitting*4 < int(instances()) || bound*20 < int(instances()) {
		t.Error("the generator covers too little")
	}
}

// unbound is the workload without what it asks of the topology.
func unbound(w *Workload) *Workload {
	free := *w
	free.Topology = Topology{}
	free.Groups, free.PodSets = slices.Clone(w.Groups), slices.Clone(w.PodSets)
	for i := range free.Groups {
		free.Groups[i].Topology = Topology{}
	}
	for i := range free.PodSets {
		free.PodSets[i].Topology = Topology{}
	}
	return &free
}
