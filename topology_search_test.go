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

// A searchCount tells how often what fits was found.
type searchCount struct{ fitting, missed, silent, bound, all int }

// compare holds Solve against brute force.
func (c *searchCount) compare(t *testing.T, seed uint64, s *State, w *Workload) {
	p, err := Solve(s)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, picture(s))
	}
	if err := Verify(s, p); err != nil {
		t.Fatalf("seed %d: %v\n%s%s", seed, err, picture(s), p.Text())
	}
	c.all++
	fits, starts := possible(s, w), startOf(p, "w") != nil
	if fits {
		c.fitting++
	} else if possible(s, unbound(w)) {
		c.bound++ // it is the topology that keeps it out
	}
	switch {
	case starts && !fits:
		t.Fatalf("seed %d: starts, and brute force finds no way\n%s%s", seed, picture(s), p.Text())
	case fits && !starts:
		c.missed++
		cut := saysCut(p, "w")
		if !cut {
			c.silent++
		}
		if !cut && c.silent <= *topologyTold {
			t.Errorf("seed %d: does not start, not cut short, and fits\n%s%s", seed, picture(s), p.Text())
		} else if c.missed <= *topologyTold {
			t.Logf("seed %d: cut short, and fits\n%s%s", seed, picture(s), p.Text())
		}
	}
}

// judge demands that at least 999 in 1,000 of what fits was found, and that every
// other said that its search was cut short.
func (c *searchCount) judge(t *testing.T) {
	t.Logf("%d instances: %d fit, of which %d were missed (%.3f%% found), %d of them without saying that the search was cut; %d more fit but for the topology",
		c.all, c.fitting, c.missed, 100-100*float64(c.missed)/float64(max(1, c.fitting)), c.silent, c.bound)
	if c.missed*1000 > c.fitting || c.silent > 0 {
		t.Errorf("%d of %d missed, %d silently", c.missed, c.fitting, c.silent)
	}
	if c.fitting*4 < c.all || c.bound*20 < c.all {
		t.Error("the generator covers too little")
	}
}

// TestT2FindsWhatFits: of the gangs that fit by brute force at least 999 in 1,000
// start, every other one says that the search was cut short, and none that does
// not fit starts.
func TestT2FindsWhatFits(t *testing.T) {
	var c searchCount
	for seed := *topologySeed; seed < *topologySeed+instances(); seed++ {
		g := newTopologyGen(seed, 20)
		g.cluster(12)
		c.compare(t, seed, g.s, g.gang())
	}
	c.judge(t)
}

// TestT6FindsWhatJoins: the same for gangs of which a part runs, which the rest has
// to join.
func TestT6FindsWhatJoins(t *testing.T) {
	var c searchCount
	for seed := *topologySeed; seed < *topologySeed+instances(); seed++ {
		g := newTopologyGen(seed, 23)
		g.cluster(12)
		if w := g.gang(); g.begun(w) {
			c.compare(t, seed, g.s, w)
		}
	}
	c.judge(t)
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
