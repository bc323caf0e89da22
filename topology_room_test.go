package allot

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/preempt"
)

// crowd fills devices with work of lower priority, all of it alike: one device,
// preemptible, of one age.
func (g *topologyGen) crowd() {
	p := &g.s.Pools[0].Policy
	p.Preempt = preempt.WithinQueue
	used := make(map[string]bool)
	for i := range g.s.Workloads {
		for _, t := range g.s.Workloads[i].Tasks {
			used[fmt.Sprint(t.Node, t.Devices)] = true
		}
	}
	lowly := 0
	for i := range g.s.Nodes {
		n := &g.s.Nodes[i]
		for d := range n.Devices {
			if !used[fmt.Sprint(n.ID, []int{d})] && !g.rarely(3) && lowly < 12 {
				lowly++
				w := single(fmt.Sprintf("v%02d", lowly), "", gpus(1), task(Running, 0, n.ID, d))
				w.Priority, w.Preemption = 0, Preemptible
				g.s.Workloads = append(g.s.Workloads, w)
			}
		}
	}
}

// withoutWork is the state less the workloads named.
func withoutWork(s *State, gone []string) *State {
	rest := *s
	rest.Workloads = slices.DeleteFunc(slices.Clone(s.Workloads), func(w Workload) bool { return slices.Contains(gone, w.ID) })
	return &rest
}

// A roomCount tells how room was made for gangs with constraints.
type roomCount struct {
	needed, missed, silent        int // gangs for which room can be made
	superfluous, least, undecided int // of those that it was made for
}

// TestT7ClearsDomains: a gang that starts if all work of lower priority goes does
// start, in at least 99 of 100; nobody goes in vain (M3), and of work that is all
// alike as little goes as can, in at least 95 of 100.
func TestT7ClearsDomains(t *testing.T) {
	var c roomCount
	instances := 0
	for seed := range deep.Seeds(t, topologyInstances/4) {
		instances++
		g := newTopologyGen(seed, 24)
		g.cluster(8)
		g.crowd()
		w := g.gang()
		w.Priority = 5
		for k := range w.Groups {
			w.Groups[k].Min = 0 // which of several choices room is made for is another matter
		}
		if bindsAny(w) {
			c.clear(t, seed, g.s, w)
		}
	}
	made := c.needed - c.missed
	t.Logf("room can be made for %d gangs, missed for %d (%.2f%% found), %d of them without a word; of %d: %d disturb somebody in vain, %d as few as can be (%.2f%%), %d not known",
		c.needed, c.missed, 100-100*float64(c.missed)/float64(max(1, c.needed)), c.silent, made, c.superfluous, c.least,
		100*float64(c.least)/float64(max(1, made-c.undecided)), c.undecided)
	if c.missed*100 > c.needed || c.silent > 0 || c.superfluous > 0 || c.least*100 < (made-c.undecided)*95 {
		t.Error("less than there must be")
	}
	if c.needed*20 < instances {
		t.Error("the generator covers too little")
	}
}

// clear holds the room that Solve makes against brute force.
func (c *roomCount) clear(t *testing.T, seed uint64, s *State, w *Workload) {
	p, err := Solve(s)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, picture(s))
	}
	if err := VerifyPlan(s, p); err != nil {
		t.Fatalf("seed %d: %v\n%s%s", seed, err, picture(s), p.Text())
	}
	var lowly, victims []string
	for i := range s.Workloads {
		if s.Workloads[i].ID[0] == 'v' {
			lowly = append(lowly, s.Workloads[i].ID)
		}
	}
	for _, a := range p.Actions {
		if a.Kind == Evict || a.Kind == Move {
			victims = append(victims, a.Workload)
		}
	}
	if fits, _ := possible(s, w); fits {
		if len(victims) > 0 {
			t.Errorf("seed %d: room is made for what fits\n%s%s", seed, picture(s), p.Text())
		}
		return
	}
	if fits, _ := possible(withoutWork(s, lowly), w); !fits {
		if startOf(p, "w") != nil || len(victims) > 0 {
			t.Errorf("seed %d: starts, and brute force finds no way\n%s%s", seed, picture(s), p.Text())
		}
		return
	}
	c.needed++
	if startOf(p, "w") == nil {
		c.missed++
		if !saysCut(p, "w") && p.Work.Cut == 0 {
			if c.silent++; c.silent <= *topologyTold {
				t.Errorf("seed %d: no room is made, not cut short, and could be\n%s%s", seed, picture(s), p.Text())
			}
		}
		return
	}
	c.harm(t, seed, s, w, p, lowly, victims)
}

// harm looks for victims that could be spared, and for fewer.
func (c *roomCount) harm(t *testing.T, seed uint64, s *State, w *Workload, p *Plan, lowly, victims []string) {
	for i := range victims {
		spared := slices.Delete(slices.Clone(victims), i, i+1)
		if fits, _ := possible(withoutWork(s, spared), w); fits {
			if c.superfluous++; c.superfluous <= *topologyTold {
				t.Errorf("seed %d: %s goes in vain\n%s%s", seed, victims[i], picture(s), p.Text())
			}
			return
		}
	}
	for chosen := range uint(1) << len(lowly) {
		if bits.OnesCount(chosen) >= len(victims) {
			continue
		}
		var gone []string
		for i, id := range lowly {
			if chosen>>i&1 != 0 {
				gone = append(gone, id)
			}
		}
		fits, known := possible(withoutWork(s, gone), w)
		if !known {
			c.undecided++
			return
		}
		if fits {
			if made := c.needed - c.missed - c.least - c.undecided - c.superfluous; made <= *topologyTold {
				t.Logf("seed %d: %d go, %v would do\n%s%s", seed, len(victims), gone, picture(s), p.Text())
			}
			return
		}
	}
	c.least++
}
