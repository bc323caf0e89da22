package gang

import "github.com/allotsched/allot/placement"

// A Standing is where tasks of a gang stand, counted as constraints ask for it: to add a task
// takes time in the number of levels, and no question takes time in the number of tasks.
type Standing struct {
	t *placement.Topology
	g *Gang
	// common is by set and level where the tasks of the set are together; at counts them by domain.
	common []home
	at     map[inDomain]int32
	// slices is where the tasks of a slice are together (T3).
	slices map[sliceOf]home
}

// An inDomain is a set and a domain of a level.
type inDomain struct {
	set    int32
	level  placement.Level
	domain placement.Domain
}

// A sliceOf is a slice of a set that shares a domain of a level.
type sliceOf struct {
	set   int32
	level placement.Level
	slice int32
}

// A home is the domain in which some tasks are, −1 if these are several or none; the zero home is
// that there are no tasks.
type home struct {
	domain placement.Domain
	held   bool
}

// join is the home of tasks of two homes.
func (h home) join(other home) home {
	switch {
	case !h.held:
		return other
	case other.held && other.domain != h.domain:
		return home{-1, true}
	}
	return h
}

// NewStanding returns the Standing of a gang that has no tasks yet, in the topology that
// its constraints speak of.
func NewStanding(t *placement.Topology, g *Gang) *Standing {
	return &Standing{
		t: t, g: g, common: make([]home, len(g.sets)*int(t.NodeLevel()+1)),
		at: make(map[inDomain]int32), slices: make(map[sliceOf]home),
	}
}

// Add counts a task more.
func (s *Standing) Add(h Held) {
	if h.Node < 0 {
		return
	}
	for level := placement.Level(1); level <= s.t.NodeLevel(); level++ {
		here := home{s.t.Of(h.Node, level), true}
		common := &s.common[s.of(h.Set, level)]
		*common = common.join(here)
		s.at[inDomain{h.Set, level, here.domain}]++
	}
	for _, cut := range s.g.sets[h.Set].Constraint.Slices {
		in := sliceOf{h.Set, cut.Level, h.Index / cut.Size}
		s.slices[in] = s.slices[in].join(home{s.t.Of(h.Node, cut.Level), true})
	}
}

// of is where common has a set and a level.
func (s *Standing) of(set int32, level placement.Level) int {
	return int(set)*int(s.t.NodeLevel()+1) + int(level)
}

// inSet is where the tasks of a set are together; the nil Standing has no tasks.
func (s *Standing) inSet(set int32, level placement.Level) home {
	if s == nil {
		return home{}
	}
	return s.common[s.of(set, level)]
}

// inSlice is where the tasks of a slice are together.
func (s *Standing) inSlice(set, slice int32, cut Slice) home {
	if s == nil {
		return home{}
	}
	return s.slices[sliceOf{set, cut.Level, slice}]
}

// in is how many tasks of a set are in a domain of a level.
func (s *Standing) in(set int32, level placement.Level, d placement.Domain) int {
	if s == nil {
		return 0
	}
	return int(s.at[inDomain{set, level, d}])
}
