package scenario

import (
	"slices"

	"github.com/allotsched/allot"
)

// topologySteps take away levels of the topology with all that is said of them:
// all at once, and then one by one.
func topologySteps(s *allot.State) (steps []step) {
	var names []string
	for _, l := range s.Levels {
		names = append(names, l.Name)
	}
	steps = append(steps, trying(func(s *allot.State) bool { return dropLevels(s, append(names, allot.NodeLevel)) }))
	for _, name := range names {
		steps = append(steps, trying(func(s *allot.State) bool { return dropLevels(s, []string{name}) }))
	}
	return steps
}

// dropLevels drops levels with the domains that nodes are in and the constraints
// that name them.
func dropLevels(s *allot.State, names []string) bool {
	before := len(s.Levels)
	gone := func(name string) bool { return slices.Contains(names, name) }
	s.Levels = slices.DeleteFunc(s.Levels, func(l allot.Level) bool { return gone(l.Name) })
	for i := range s.Nodes {
		for _, name := range names {
			delete(s.Nodes[i].Domains, name)
		}
	}
	changed := len(s.Levels) < before
	for i := range s.Reservations {
		r := &s.Reservations[i]
		had := len(r.Domains)
		r.Domains = slices.DeleteFunc(r.Domains, func(d allot.ReservedDomain) bool { return gone(d.Level) })
		changed = changed || len(r.Domains) < had
	}
	s.Reservations = slices.DeleteFunc(s.Reservations, func(r allot.Reservation) bool { return len(r.Nodes)+len(r.Domains) == 0 })
	eachTopology(s, func(t *allot.Topology) {
		had := len(t.Slices)
		t.Slices = slices.DeleteFunc(t.Slices, func(x allot.Slice) bool { return gone(x.Level) })
		for _, level := range []*string{&t.Required, &t.Preferred} {
			if gone(*level) {
				*level, changed = "", true
			}
		}
		changed = changed || len(t.Slices) < had
	})
	return changed
}

// eachTopology visits all constraints of a state.
func eachTopology(s *allot.State, visit func(*allot.Topology)) {
	of := func(sets []allot.PodSet, groups []allot.Group) {
		for i := range sets {
			visit(&sets[i].Topology)
		}
		for i := range groups {
			visit(&groups[i].Topology)
		}
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		visit(&w.Topology)
		of(w.PodSets, w.Groups)
		for f := range w.Alternatives {
			visit(&w.Alternatives[f].Topology)
			of(w.Alternatives[f].PodSets, w.Alternatives[f].Groups)
		}
	}
}

// dropLinks takes away what is said of a device's links; those behind it get
// other indices.
func dropLinks(n *allot.Node, device int) {
	n.Links = slices.DeleteFunc(n.Links, func(l allot.Link) bool { return l.A == device || l.B == device })
	for i := range n.Links {
		for _, end := range []*int{&n.Links[i].A, &n.Links[i].B} {
			if *end > device {
				*end--
			}
		}
	}
}
