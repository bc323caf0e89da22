package allot

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/allotsched/allot/fairshare"
)

// warnings lists what is odd but lawful about a State that Check has passed
// (V1), as far as the State alone says it; what needs the use of queues is
// added where that is known. Paths name list entries by ID. Known are the resources that
// some pool knows.
func warnings(s *State, known map[string]int32) []Fault {
	var found []Fault
	found = append(found, queueWarnings(s)...)
	found = append(found, nodeWarnings(s)...)
	found = append(found, levelWarnings(s)...)
	found = append(found, unitWarnings(s, known)...)
	found = append(found, timeWarnings(s)...)
	sortWarnings(found)
	return found
}

// sortWarnings puts warnings into the order of a Plan.
func sortWarnings(w []Fault) {
	slices.SortFunc(w, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Value, b.Value), cmp.Compare(a.Want, b.Want))
	})
}

// queueResourcePath is the place of a queue's setting in a warning, such as
// queues["q1"].resources["gpu@H100"].quota.
func queueResourcePath(queue string, r *QueueResource, field string) string {
	at := root()
	queues := at.field("queues")
	entry := queues.key(queue)
	resources := entry.field("resources")
	resource := resources.key(r.name())
	place := resource.field(field)
	return place.String()
}

// queuePath is the place of a queue's field in a warning, such as
// queues["q1"].maxWorkloads.
func queuePath(queue, field string) string {
	at := root()
	queues := at.field("queues")
	entry := queues.key(queue)
	place := entry.field(field)
	return place.String()
}

// workloadPath is the place of a workload's field in a warning, such as
// workloads["w1"].tasks.
func workloadPath(workload, field string) string {
	at := root()
	workloads := at.field("workloads")
	entry := workloads.key(workload)
	place := entry.field(field)
	return place.String()
}

// poolIndex finds the pools by ID; the implicit pool, and the only one where
// nothing needs to name it, is 0.
func poolIndex(s *State) map[string]int {
	index := map[string]int{"": 0}
	for i := range s.Pools {
		index[s.Pools[i].ID] = i
	}
	return index
}

// resourceKey is a resource and class of a pool.
type resourceKey struct {
	pool            int
	resource, class string
}

func queueWarnings(s *State) []Fault {
	pools := poolIndex(s)
	byID := make(map[string]*Queue, len(s.Queues))
	governed := make(map[resourceKey]bool) // Q1
	byQuota := make(map[[2]string]bool)    // groups in which some queue has queues below it, by parent and pool
	for i := range s.Queues {
		q := &s.Queues[i]
		byID[q.ID] = q
		for _, r := range q.Resources {
			if r.Quota.Given() {
				governed[resourceKey{pools[q.Pool], r.Resource, r.Class}] = true
			}
		}
	}
	for i := range s.Queues {
		if above := byID[s.Queues[i].Parent]; above != nil {
			byQuota[[2]string{above.Parent, above.Pool}] = true
		}
	}
	var found []Fault
	for i := range s.Queues {
		q := &s.Queues[i]
		byWeight := len(s.Pools) > 0 && s.Pools[pools[q.Pool]].Policy.Shares != fairshare.QuotaThenWeight
		for j := range q.Resources {
			r := &q.Resources[j]
			if r.Weight.Given() && !byWeight && !governed[resourceKey{pools[q.Pool], r.Resource, r.Class}] {
				found = append(found, Fault{Path: queueResourcePath(q.ID, r, "weight"), Code: WarnWeightUnused, Value: r.Weight.String(),
					Want: "should stand beside a quota: no queue of the pool gives one for " + strconv.QuoteToASCII(r.Resource)})
			}
			if r.Weight.Given() && r.Class == "" && len(s.Pools) > 0 && s.Pools[pools[q.Pool]].Policy.InnerWeightByQuota && byQuota[[2]string{q.Parent, q.Pool}] &&
				governed[resourceKey{pools[q.Pool], r.Resource, r.Class}] {
				found = append(found, Fault{Path: queueResourcePath(q.ID, r, "weight"), Code: WarnWeightUnused, Value: r.Weight.String(),
					Want: "should be absent: it and its siblings weigh by quota, as one of them has queues below it"})
			}
			if above, given := quotaAbove(byID, q, r); given != nil && r.Quota.Given() && r.Quota.Amount() > given.Quota.Amount() {
				found = append(found, Fault{Path: queueResourcePath(q.ID, r, "quota"), Code: WarnQuotaAboveParent, Value: r.Quota.String(),
					Want: "should be at most the " + given.Quota.String() + " of its parent " + strconv.QuoteToASCII(above.ID)})
			}
		}
	}
	return found
}

// quotaAbove finds the nearest queue above q that gives a quota for what r is
// about; without one, a parent's quota is the sum of its children's (Q1).
func quotaAbove(byID map[string]*Queue, q *Queue, r *QueueResource) (*Queue, *QueueResource) {
	for above := byID[q.Parent]; above != nil; above = byID[above.Parent] {
		for i := range above.Resources {
			given := &above.Resources[i]
			if given.Resource == r.Resource && given.Class == r.Class && given.Quota.Given() {
				return above, given
			}
		}
	}
	return nil, nil
}

func nodeWarnings(s *State) []Fault {
	if len(s.Pools) == 0 {
		return nil // every node is in the implicit pool, and so is what queues name
	}
	var found []Fault
	pools := poolIndex(s)
	owner := make(map[string]int, len(s.Nodes))
	sizes := make([]int, len(s.Pools))
	find := newNodeFinder(s.Nodes, nodeIDs(s.Nodes))
	for i := range s.Pools {
		for _, n := range find.of(&s.Pools[i].Nodes) {
			owner[s.Nodes[n].ID] = i
			sizes[i]++
		}
	}
	at := root()
	for i := range s.Pools {
		if sizes[i] == 0 {
			list := at.field("pools")
			place := list.key(s.Pools[i].ID)
			found = append(found, Fault{Path: place.String(), Code: WarnEmptyPool, Value: "", Want: "has no nodes"})
		}
	}
	for i := range s.Nodes {
		if _, ok := owner[s.Nodes[i].ID]; !ok {
			list := at.field("nodes")
			place := list.key(s.Nodes[i].ID)
			found = append(found, Fault{Path: place.String(), Code: WarnNodeInNoPool, Value: "", Want: "is in no pool and left alone"})
		}
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		for _, id := range q.Nodes.IDs {
			if pool, ok := owner[id]; !ok || pool != pools[q.Pool] {
				found = append(found, Fault{Path: queuePath(q.ID, "nodes"), Code: WarnNodeOutsidePool, Value: strconv.QuoteToASCII(id), Want: "names a node that is not in its pool"})
			}
		}
	}
	return found
}

// timeWarnings are about what is said of time (B1–B12).
func timeWarnings(s *State) (found []Fault) {
	var promised map[string]bool // made where some task is Behind a workload
	for i := range s.Workloads {
		k := &s.Workloads[i]
		if !k.isBehind() {
			continue
		}
		if promised == nil {
			promised = make(map[string]bool)
			for j := range s.Workloads {
				promised[s.Workloads[j].ID] = s.Workloads[j].Reserved != nil
			}
		}
		for t := range k.Tasks {
			if name := k.Tasks[t].Behind; name != "" && !promised[name] {
				found = append(found, Fault{
					Path: workloadPath(k.ID, "tasks"), Code: WarnBehindNobody, Value: strconv.QuoteToASCII(name),
					Want: "should be behind a workload that has been promised its place",
				})
				break
			}
		}
	}
	return found
}
