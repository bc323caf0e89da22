package allot

import (
	"cmp"
	"strconv"
	"strings"
)

// levelWarnings are about levels that no node has: at all, or of the pool of a
// workload with a constraint (T1, T2).
func levelWarnings(s *State) []Fault {
	if len(s.Levels) == 0 {
		return nil
	}
	find := newNodeFinder(s.Nodes, nodeIDs(s.Nodes))
	had := s.levelsOf(find.of(new(NodeSet)))
	var found []Fault
	for _, level := range s.Levels {
		if !had[level.Name] {
			at := root()
			list := at.field("levels")
			place := list.key(level.Name)
			found = append(found, Fault{Path: place.String(), Code: WarnLevelUnused, Value: "", Want: "is a level that no node has"})
		}
	}
	return append(found, constraintWarnings(s, find, had)...)
}

// levelsOf are the levels of which one of the nodes at those indices has a domain.
func (s *State) levelsOf(members []int32) map[string]bool {
	had := make(map[string]bool)
	for _, i := range members {
		if len(had) == len(s.Levels) {
			break
		}
		for level, domain := range s.Nodes[i].Domains { // into a set: order cannot matter
			if domain != "" {
				had[level] = true
			}
		}
	}
	return had
}

// A poolLevel is a level that a constraint names in a pool.
type poolLevel struct {
	pool  int
	level string
}

// constraintWarnings are about constraints at levels that no node of the pool has,
// though others have: of each pool and level the one of which the place is first.
func constraintWarnings(s *State, find *nodeFinder, had map[string]bool) []Fault {
	if len(s.Pools) == 0 {
		return nil // all nodes are in the pool
	}
	pools, queues := poolIndex(s), make(map[string]int, len(s.Queues))
	for i := range s.Queues {
		queues[s.Queues[i].ID] = pools[s.Queues[i].Pool]
	}
	inPool := make([]map[string]bool, len(s.Pools)) // nil until asked for
	first := make(map[poolLevel]Fault)
	for i := range s.Workloads {
		k := &s.Workloads[i]
		if !k.constrained() {
			continue
		}
		k.eachLevel(func(at *path, queue, level string) {
			pool := pools[k.Pool]
			if queue != "" {
				pool = queues[queue]
			}
			if level == NodeLevel || !had[level] {
				return
			}
			if inPool[pool] == nil {
				inPool[pool] = s.levelsOf(find.of(&s.Pools[pool].Nodes))
			}
			if inPool[pool][level] {
				return
			}
			f := Fault{Path: at.String(), Code: WarnLevelOutsidePool, Value: strconv.QuoteToASCII(level),
				Want: "should be a level of the nodes of pool " + strconv.QuoteToASCII(s.Pools[pool].ID)}
			if other, told := first[poolLevel{pool, level}]; !told || strings.Compare(f.Path, other.Path) < 0 {
				first[poolLevel{pool, level}] = f
			}
		})
	}
	var found []Fault
	for _, f := range first { // warnings are sorted in the end
		found = append(found, f)
	}
	return found
}

// constrained says whether a form of the workload has a constraint on domains.
func (k *Workload) constrained() bool {
	if constrained(&k.Topology, k.PodSets, k.Groups) {
		return true
	}
	for i := range k.Alternatives {
		if f := &k.Alternatives[i]; constrained(&f.Topology, f.PodSets, f.Groups) {
			return true
		}
	}
	return false
}

func constrained(whole *Topology, sets []PodSet, groups []Group) bool {
	for i := range sets {
		if !sets[i].Topology.isZero() {
			return true
		}
	}
	for i := range groups {
		if !groups[i].Topology.isZero() {
			return true
		}
	}
	return !whole.isZero()
}

func (t *Topology) isZero() bool {
	return t.Required == "" && t.Preferred == "" && t.Mode == 0 && len(t.Slices) == 0
}

// eachLevel calls yield for every level that a form of the workload names, with
// the place of the constraint in a warning and the queue of the form.
func (k *Workload) eachLevel(yield func(at *path, queue, level string)) {
	top := root()
	list := top.field("workloads")
	at := list.key(k.ID)
	eachFormLevel(&at, k.Queue, &k.Topology, k.PodSets, k.Groups, yield)
	for i := range k.Alternatives {
		f := &k.Alternatives[i]
		forms := at.field("alternatives")
		here := forms.at(i)
		eachFormLevel(&here, cmp.Or(f.Queue, k.Queue), &f.Topology, f.PodSets, f.Groups, yield)
	}
}

func eachFormLevel(at *path, queue string, whole *Topology, sets []PodSet, groups []Group, yield func(at *path, queue, level string)) {
	of := func(at *path, t *Topology) {
		below := at.field("topology")
		if t.Required != "" {
			yield(&below, queue, t.Required)
		}
		if t.Preferred != "" {
			yield(&below, queue, t.Preferred)
		}
		for i := range t.Slices {
			yield(&below, queue, t.Slices[i].Level)
		}
	}
	of(at, whole)
	list := at.field("podSets")
	for i := range sets {
		here := list.at(i)
		of(&here, &sets[i].Topology)
	}
	list = at.field("groups")
	for i := range groups {
		here := list.key(groups[i].Name)
		of(&here, &groups[i].Topology)
	}
}
