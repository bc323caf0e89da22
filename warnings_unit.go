package allot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/quota"
)

// unitWarnings are about amounts that are lawful, and look as if another unit had been
// meant: whole devices or cores where thousandths stand (S2), or devices that were
// written as a plain resource.
func unitWarnings(s *State, known map[string]int32) []Fault {
	found := append(queueUnits(s), nodeUnits(s)...)
	return append(found, deviceResources(s, known)...)
}

// queueUnits are about GPUs of queues below one device, in pools in which no work asks for
// a part of one.
func queueUnits(s *State) (found []Fault) {
	var parts map[int]bool // of all that is asked, which is seldom looked at
	pools := poolIndex(s)
	for i := range s.Queues {
		q := &s.Queues[i]
		for j := range q.Resources {
			r := &q.Resources[j]
			if r.Resource != GPU {
				continue
			}
			for _, b := range [...]struct {
				field  string
				amount quota.Bound
			}{{"quota", r.Quota}, {"limit", r.Limit}, {"borrowingLimit", r.BorrowingLimit}, {"lendingLimit", r.LendingLimit}} {
				n := b.amount.Amount()
				if !b.amount.Given() || b.amount.IsUnlimited() || n <= 0 || n >= 1000 {
					continue
				}
				if parts == nil {
					parts = poolsOfParts(s)
				}
				if !parts[pools[q.Pool]] {
					found = append(found, Fault{Path: queueResourcePath(q.ID, r, b.field), Code: WarnLooksLikeDevices, Value: b.amount.String(),
						Want: "should be " + strconv.FormatInt(1000*n, 10) + " if devices were meant: it is in thousandths, and nobody in the pool asks for a part of a device"})
				}
			}
		}
	}
	return found
}

// poolsOfParts are the pools in which some form of a workload asks for parts of devices.
func poolsOfParts(s *State) map[int]bool {
	pools, queues := poolIndex(s), make(map[string]int, len(s.Queues))
	for i := range s.Queues {
		queues[s.Queues[i].ID] = pools[s.Queues[i].Pool]
	}
	out := make(map[int]bool)
	for i := range s.Workloads {
		k := &s.Workloads[i]
		pool, named := queues[k.Queue]
		if !named {
			pool = pools[k.Pool]
		}
		look := func(queue string, sets []PodSet) {
			if at, named := queues[queue]; named {
				pool = at
			}
			if slices.ContainsFunc(sets, func(set PodSet) bool {
				return set.Request.GPU.Memory > 0 || set.Request.GPU.Milli > 0 && set.Request.GPU.Milli < 1000
			}) {
				out[pool] = true
			}
		}
		look(k.Queue, k.PodSets)
		for a := range k.Alternatives {
			look(k.Alternatives[a].Queue, k.Alternatives[a].PodSets)
		}
	}
	return out
}

// nodeUnits is about the first node with less than a core.
func nodeUnits(s *State) []Fault {
	first, more := -1, 0
	for i := range s.Nodes {
		if n := s.Nodes[i].Capacity[CPU]; n > 0 && n < 1000 {
			if more++; first < 0 || s.Nodes[i].ID < s.Nodes[first].ID {
				first = i
			}
		}
	}
	if first < 0 {
		return nil
	}
	n := s.Nodes[first].Capacity[CPU]
	text := "should be " + strconv.FormatInt(1000*n, 10) + " if cores were meant: it is in thousandths of a core"
	if more > 1 {
		text += ", as " + strconv.Itoa(more) + " nodes have it"
	}
	at := root()
	list := at.field("nodes")
	node := list.key(s.Nodes[first].ID)
	capacity := node.field("capacity")
	place := capacity.key(CPU)
	return []Fault{{Path: place.String(), Code: WarnLooksLikeCores, Value: strconv.FormatInt(n, 10), Want: text}}
}

// deviceResources are about plain resources that are called as device plugins call GPUs,
// each where it stands first: in nodes, then queues, then workloads, by ID.
// What workloads ask is known, if known is not nil.
func deviceResources(s *State, known map[string]int32) (found []Fault) {
	first, some := make(map[string]string), known == nil
	isDevice := func(name string) bool { return strings.HasSuffix(name, "/gpu") }
	for name := range known { // whether any is: order cannot matter
		some = some || isDevice(name)
	}
	tell := func(name, path string) {
		if other, told := first[name]; !told || path < other {
			first[name] = path
		}
	}
	at := root()
	nodes := at.field("nodes")
	for i := range s.Nodes {
		for name := range s.Nodes[i].Capacity { // the first of all is told: order cannot matter
			if isDevice(name) {
				node := nodes.key(s.Nodes[i].ID)
				capacity := node.field("capacity")
				place := capacity.key(name)
				tell(name, place.String())
			}
		}
	}
	for i := range s.Queues {
		for j := range s.Queues[i].Resources {
			if r := &s.Queues[i].Resources[j]; isDevice(r.Resource) { // a path is dear
				tell(r.Resource, queueResourcePath(s.Queues[i].ID, r, "resource"))
			}
		}
	}
	for i := 0; some && i < len(s.Workloads); i++ {
		k := &s.Workloads[i]
		look := func(sets []PodSet) {
			for set := range sets {
				for name := range sets[set].Request.Resources { // the first of all is told: order cannot matter
					if isDevice(name) {
						tell(name, workloadPath(k.ID, "podSets"))
					}
				}
			}
		}
		look(k.PodSets)
		for a := range k.Alternatives {
			look(k.Alternatives[a].PodSets)
		}
	}
	for name, path := range first { // warnings are sorted in the end
		found = append(found, Fault{Path: path, Code: WarnDeviceAsResource, Value: strconv.QuoteToASCII(name),
			Want: "should be devices of the nodes and \"gpu\" elsewhere: as a plain resource it has no devices, models or parts"})
	}
	return found
}

// reachWarnings are about quotas that are more than all the nodes have that the queue, or
// any below it, may use: nothing can guarantee them.
func (w *world) reachWarnings() (out []Fault) {
	for _, p := range w.pools {
		sets := make(map[string][]int64)
		below := p.leafSets()
		for q, source := range p.queues {
			if source < 0 || len(w.state.Queues[source].Resources) == 0 {
				continue
			}
			there := p.Capacity // of all nodes, as mostly
			if below[q][0] >= 0 {
				set := fmt.Sprint(below[q])
				if sets[set] == nil {
					sets[set] = p.usableOfAny(w.state, below[q])
				}
				there = sets[set]
			}
			given := w.state.Queues[source].Resources
			for i := range given {
				r := &given[i]
				at := slices.Index(p.resources, resource{r.Resource, r.Class})
				if at < 0 || !r.Quota.Given() || r.Quota.IsUnlimited() || r.Quota.Amount() <= there[at] {
					continue
				}
				out = append(out, Fault{Path: queueResourcePath(p.queueID(w.state, q), r, "quota"), Code: WarnQuotaOutOfReach, Value: r.Quota.String(),
					Want: "should be at most the " + strconv.FormatInt(there[at], 10) + " that the nodes which it may use have"})
			}
		}
	}
	return out
}

// leafSets are, by queue, the sets of nodes that the leaves of it may use, ascending; −1
// alone are all nodes of the pool.
func (p *pool) leafSets() [][]int32 {
	sets, whole := make([][]int32, len(p.queues)), []int32{-1}
	for leaf, is := range p.IsLeaf {
		set := p.NodeSet[leaf]
		for q := int32(leaf); is && q >= 0; q = p.Parent[q] {
			if len(sets[q]) > 0 && sets[q][0] < 0 {
				break // and so are those of the queues above
			}
			if set < 0 {
				sets[q] = whole
			} else if at, known := slices.BinarySearch(sets[q], set); !known {
				sets[q] = slices.Insert(sets[q], at, set)
			}
		}
	}
	return sets
}

// usableOfAny is the usable capacity of the nodes of some sets, by resource.
func (p *pool) usableOfAny(s *State, sets []int32) []int64 {
	capacity := make([]int64, len(p.resources))
	for at, n := range p.Nodes {
		if slices.ContainsFunc(sets, func(set int32) bool { return p.sets[set][at] }) {
			p.addUsable(capacity, &s.Nodes[n])
		}
	}
	return capacity
}
