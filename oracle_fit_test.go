package allot

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// P8 as it is told: what fits one node goes to one, and what is larger to whole idle nodes
// of one size, the largest that divides it.

// An oracleFit is a node with how many tasks of a set it takes, and whether so many
// fill it while nothing else is on its devices.
type oracleFit struct {
	node  *Node
	takes int
	idle  bool
}

// fitted says whether P8 says where n tasks go.
func (p *oraclePool) fitted(r *Request, n int) bool {
	return p.policy.Fitting != gang.AnyNodes && n > 1 && oracleDevices(r.GPU) > 0 && r.GPU.Memory == 0 && cmp.Or(r.GPU.Milli, 1000) == 1000
}

// hold gives the next task of a set a place.
func (w *oracleWork) hold(set int, spot oracleSpot) *oracleTask {
	t := &oracleTask{work: w, set: set, index: w.freeIndex(set), node: spot.node, devices: spot.devices}
	w.tasks = append(w.tasks, t)
	return t
}

// fit places n tasks of a set by P8, or none.
func (p *oraclePool) fit(w *oracleWork, set, n int, s placement.Strategy) (added []*oracleTask) {
	for _, one := range oracleChosen(p.fitsOf(w, set, n, s), n, s, p.policy.Fitting) {
		added = append(added, p.fill(w, set, one.node, min(n-len(added), one.takes), s)...)
	}
	return added
}

// fitsOf is how many of n tasks of a set, or more, each node takes.
func (p *oraclePool) fitsOf(w *oracleWork, set, n int, s placement.Strategy) (fits []oracleFit) {
	for _, node := range p.nodes {
		tasks := p.fill(w, set, node, n+64, s)
		w.tasks = w.tasks[:len(w.tasks)-len(tasks)]
		idle := len(tasks) > 0 && p.fills(node, len(tasks)*oracleDevices(w.source.PodSets[set].Request.GPU))
		fits = append(fits, oracleFit{node, len(tasks), idle})
	}
	return fits
}

// fill places up to n tasks of a set on a node.
func (p *oraclePool) fill(w *oracleWork, set int, node *Node, n int, s placement.Strategy) (tasks []*oracleTask) {
	for len(tasks) < n {
		choice, ok := p.findOn(w.queue, node, &w.source.PodSets[set].Request, s)
		if !ok {
			break
		}
		tasks = append(tasks, w.hold(set, oracleSpot{node, choice.devices}))
	}
	return tasks
}

// fills says whether nobody uses the node's devices, of which there are so many.
func (p *oraclePool) fills(n *Node, devices int) bool {
	healthy := 0
	for i, d := range n.Devices {
		if d.Unhealthy {
			continue
		}
		healthy++
		if !p.deviceState(n, i).whole {
			return false
		}
	}
	return healthy == devices
}

// oracleChosen are the nodes that n tasks go to: one that takes all, the fullest, the
// emptiest or the first; else idle ones of one size, else of several if nothing remains.
func oracleChosen(fits []oracleFit, n int, s placement.Strategy, fitting gang.Fitting) []oracleFit {
	var single, idle []oracleFit
	for _, one := range fits {
		if one.takes >= n {
			single = append(single, one)
		}
		if one.idle {
			idle = append(idle, one)
		}
	}
	largestFirst := func(a, b oracleFit) int { return cmp.Compare(b.takes, a.takes) }
	if len(single) > 0 {
		switch s {
		case placement.Spread:
			slices.SortStableFunc(single, largestFirst)
		case placement.First:
		default:
			slices.SortStableFunc(single, func(a, b oracleFit) int { return cmp.Compare(a.takes, b.takes) })
		}
		return single[:1]
	}
	for size := n; size > 0; size-- {
		alike := slices.DeleteFunc(slices.Clone(idle), func(one oracleFit) bool { return one.takes != size })
		if n%size == 0 && len(alike) >= n/size {
			return alike[:n/size]
		}
	}
	if fitting != gang.MixedWholeNodes {
		return nil
	}
	var chosen []oracleFit
	slices.SortStableFunc(idle, largestFirst)
	for _, one := range idle {
		if one.takes <= n {
			chosen = append(chosen, one)
			n -= one.takes
		}
	}
	if n > 0 {
		return nil
	}
	return chosen
}

// fitsNowhere says that P8 finds no nodes for a unit where all are empty, neither with the
// devices that are unhealthy now nor without.
func (p *oraclePool) fitsNowhere(w *oracleWork, unit []int) bool {
	for _, mended := range []bool{true, false} {
		empty := &oraclePool{policy: p.policy, resources: p.resources, features: make(map[string]bool)}
		for _, n := range p.nodes {
			bare := oracleBare(n)
			for i := range bare.Devices {
				bare.Devices[i].Unhealthy = n.Devices[i].Unhealthy && !mended
			}
			empty.nodes = append(empty.nodes, bare)
		}
		alone := &oracleWork{source: w.source, queue: w.queue}
		empty.work = []*oracleWork{alone}
		if empty.place(alone, unit) != nil || empty.fitsBeside(alone, unit) {
			return false
		}
	}
	return true
}

// fitsBeside says whether each set for which P8 speaks would fill some of the empty
// nodes, all others in use: every choice of nodes is tried.
func (p *oraclePool) fitsBeside(w *oracleWork, unit []int) (beside bool) {
	for set, n := range unit {
		r := &w.source.PodSets[set].Request
		if p.policy.Fitting != gang.MixedWholeNodes || !p.fitted(r, n) {
			continue
		}
		fits, fills := p.fitsOf(w, set, n, placement.First), false
		for chosen := range 1 << len(p.nodes) {
			sum := 0
			for i := range p.nodes {
				if chosen>>i&1 == 1 && fits[i].idle {
					sum += fits[i].takes
				}
			}
			fills = fills || sum == n
		}
		if !fills && !slices.ContainsFunc(fits, func(one oracleFit) bool { return one.takes >= n }) {
			return false
		}
		beside = true
	}
	return beside
}
