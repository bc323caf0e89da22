package allot

import (
	"flag"
	"slices"
	"testing"

	"github.com/allotsched/allot/internal/deep"
)

var (
	topologyLarge = flag.Bool("topology.large", false, "gangs of up to 12 tasks instead of 8")
	topologyTold  = flag.Int("topology.told", 3, "misses that are told in full")
)

// topologyInstances is how many gangs the search is compared with brute force
// for, per test.
const topologyInstances = 4000

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
type searchCount struct{ fitting, missed, silent, bound, all, unknown int }

// compare holds Solve against brute force. What asks nothing of the topology is
// left to the tests of package gang.
func (c *searchCount) compare(t *testing.T, seed uint64, s *State, w *Workload) {
	if !bindsAny(w) {
		return
	}
	p, err := Solve(s)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, picture(s))
	}
	if err := VerifyPlan(s, p); err != nil {
		t.Fatalf("seed %d: %v\n%s%s", seed, err, picture(s), p.Text())
	}
	c.all++
	fits, known := possible(s, w)
	starts := startOf(p, "w") != nil
	if !known {
		c.unknown++
		return
	}
	if fits {
		c.fitting++
	} else if free, _ := possible(s, unbound(w)); free {
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
	t.Logf("%d instances: %d fit, of which %d were missed (%.3f%% found), %d of them without saying that the search was cut; %d more fit but for the topology; %d not known",
		c.all, c.fitting, c.missed, 100-100*float64(c.missed)/float64(max(1, c.fitting)), c.silent, c.bound, c.unknown)
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
	for seed := range deep.Seeds(t, topologyInstances) {
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
	for seed := range deep.Seeds(t, topologyInstances) {
		g := newTopologyGen(seed, 23)
		g.cluster(12)
		if w := g.gang(); g.begun(w) {
			c.compare(t, seed, g.s, w)
		}
	}
	c.judge(t)
}

// bindsAny says whether the workload has a constraint.
func bindsAny(w *Workload) bool {
	is := func(t Topology) bool { return t.Required != "" || len(t.Slices) > 0 }
	return is(w.Topology) || slices.ContainsFunc(w.Groups, func(g Group) bool { return is(g.Topology) }) ||
		slices.ContainsFunc(w.PodSets, func(ps PodSet) bool { return is(ps.Topology) })
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
