package allot

import (
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// Verdicts become Reasons here and nowhere else: indices get their names, and
// microseconds become instants (X1, X2).

// A teller names what the verdicts of a world speak of.
type teller struct {
	*world
	// told are lists that have been told, by their first: workloads that ask the same
	// share theirs. Without it every list is told anew.
	told map[*cluster.Verdict][]Reason
	slab []Reason // of which the lists are cut
}

// pendingAt is why workload i waits, if it does.
func (t *teller) pendingAt(i int32) (Pending, bool, error) {
	w := t.world
	k := &w.Works[i]
	if !engine.MayWait(w.World, k) {
		return Pending{}, false, nil
	}
	verdicts, err := engine.Reasons(w.World, i)
	if err != nil || len(verdicts) == 0 {
		return Pending{}, false, err
	}
	return Pending{Workload: w.source(k).ID, Queue: w.queueID(w.FormOf(k, engine.ShownForm(w.World, k))), Reasons: t.reasons(verdicts)}, true, nil
}

// reasons tells a list of verdicts.
func (t *teller) reasons(verdicts []cluster.Verdict) []Reason {
	if len(verdicts) == 0 {
		return nil
	}
	if known := t.told[&verdicts[0]]; known != nil {
		return known
	}
	out := t.cut(len(verdicts))
	for i := range verdicts {
		out[i] = t.reason(&verdicts[i])
	}
	if t.told != nil {
		t.told[&verdicts[0]] = out
	}
	return out
}

// cut is a list of so many reasons: of one that is told alone in memory of its own.
func (t *teller) cut(n int) []Reason {
	const size = 64
	if t.told == nil {
		return make([]Reason, n)
	}
	if len(t.slab) < n {
		t.slab = make([]Reason, max(n, size))
	}
	out := t.slab[:n:n]
	t.slab = t.slab[n:]
	return out
}

// reason tells one verdict.
func (t *teller) reason(v *cluster.Verdict) Reason {
	if v.Code == 0 {
		return Reason{}
	}
	p := t.pools[v.Pool]
	out := Reason{
		Code: Code(v.Code), Form: int(v.Form), Workload: t.workID(v.Workload), Have: v.Have, Need: v.Need,
		Nodes: p.counts(v.Counts), Domains: p.domainRooms(t.state, v.Best), Until: timeOf(v.Until),
	}
	if v.Queue >= 0 {
		out.Queue = p.queueID(t.state, int(v.Queue))
	}
	if v.Resource >= 0 {
		out.Resource, out.Class = p.resources[v.Resource].name, p.resources[v.Resource].class
	}
	if v.Set >= 0 {
		out.PodSet = p.setNames[v.Definition][v.Set]
	}
	if v.Reservation >= 0 {
		of := &t.state.Reservations[v.Reservation]
		out.Reservation, out.Until = of.ID, timeOf(micros(of.Until))
	}
	if v.Node >= 0 {
		out.Node = t.state.Nodes[v.Node].ID
	}
	if miss := v.Nearest; miss.Node >= 0 {
		out.Nearest = &Nearest{
			Node: t.nodeAt(p, miss.Node), Predicate: miss.Predicate, Resource: p.placedName(miss.Resource),
			Have: miss.Have, Need: miss.Need,
		}
	}
	out.Free = t.pieces(p, v.Pieces)
	for _, one := range v.Shields {
		out.Protections = append(out.Protections, Protection{one.Fate, one.Line, p.queueID(t.state, int(one.Leaf)), one.Units})
	}
	if v.Reclaim != nil {
		known := p.resources[v.Reclaim.Resource]
		out.Queue, out.Resource, out.Class, out.Subtrees = p.queueID(t.state, int(v.Reclaim.Subtree)), known.name, known.class, t.subtrees(p, v.Reclaim)
		out.Have, out.Need = out.Subtrees.Victim.Before, out.Subtrees.Victim.Entitlement
	}
	for i := range v.Chain {
		out.Chain = append(out.Chain, t.taker(&v.Chain[i]))
	}
	return out
}

// workID is the ID of a workload by index; none has none.
func (t *teller) workID(i int32) string {
	if i < 0 {
		return ""
	}
	return t.source(&t.Works[i]).ID
}

// nodeAt is the ID of the node at a position of a pool.
func (t *teller) nodeAt(p *pool, position int32) string { return t.state.Nodes[p.Nodes[position]].ID }

// counts names the resources of counted nodes.
func (p *pool) counts(counts []placement.Count) (out []PredicateCount) {
	for _, c := range counts {
		out = append(out, PredicateCount{Predicate: c.Predicate, Resource: p.placedName(c.Resource), Nodes: c.Nodes})
	}
	return out
}

// placedName is the name of a resource of the placement index; −1 has none.
func (p *pool) placedName(r int32) string {
	if r < 0 {
		return ""
	}
	return p.resources[r+1].name
}

// pieces names what is free in pieces, and the node that has the most of it.
func (t *teller) pieces(p *pool, free *placement.Pieces) *Pieces {
	if free == nil {
		return nil
	}
	out := &Pieces{Resource: GPU, InAll: free.InAll, Eligible: free.Eligible, Whole: free.Whole, Largest: free.Largest}
	if free.Resource >= 0 {
		out.Resource = p.placedName(free.Resource)
	}
	if free.Node >= 0 {
		out.Node = t.nodeAt(p, free.Node)
	}
	return out
}

// taker names one of a chain.
func (t *teller) taker(by *cluster.Taker) Taker {
	out := Taker{Code: Code(by.Code), Workload: t.workID(by.Workload)}
	if by.Reclaim != nil {
		p := t.pools[by.Pool]
		known := p.resources[by.Reclaim.Resource]
		out.Queue, out.Resource, out.Class, out.Subtrees = p.queueID(t.state, int(by.Reclaim.Subtree)), known.name, known.class, t.subtrees(p, by.Reclaim)
	}
	return out
}

// subtrees tells the two of a reclaim.
func (t *teller) subtrees(p *pool, c *preempt.Justification) *Subtrees {
	return &Subtrees{
		Victim: Subtree{Queue: p.queueID(t.state, int(c.Subtree)), Before: c.Before, After: c.After, Entitlement: toldEntitlement(c.Entitlement)},
		Preemptor: Subtree{
			Queue:  p.queueID(t.state, int(c.PreemptorSubtree)),
			Before: c.OwnBefore, After: c.OwnAfter, Entitlement: toldEntitlement(c.OwnEntitlement),
		},
	}
}

// toldEntitlement is an entitlement as it is told: an unlimited quota as the largest amount that
// every reader of JSON keeps. A fair share is no amount of the state, and may be
// more.
func toldEntitlement(amount int64) int64 {
	if amount >= maxSum {
		return MaxAmount
	}
	return amount
}

// domainRooms names the best domains.
func (p *pool) domainRooms(s *State, best []gang.Best) (out []DomainRoom) {
	for _, b := range best {
		one := DomainRoom{Level: NodeLevel, Have: int64(b.Tasks), Need: int64(b.Needed)}
		if int(b.Level) <= len(s.Levels) {
			one.Level = s.Levels[b.Level-1].Name
		}
		if b.Domain >= 0 {
			one.Domain = p.domainName(s, b.Domain)
		}
		out = append(out, one)
	}
	return out
}

// domainName is the path of a domain from the widest level on, or the node's ID.
func (p *pool) domainName(s *State, d placement.Domain) string {
	t := p.Topology
	if t.LevelOf(d) == t.NodeLevel() {
		return s.Nodes[p.Nodes[t.Nodes(d)[0]]].ID
	}
	var path []string
	for ; d > 0; d = t.Parent(d) {
		path = append(path, t.Name(d))
	}
	slices.Reverse(path)
	return strings.Join(path, "/")
}

// timeOf is the instant of so many microseconds; zero where there is none, as from the year 10000 on, and for what
// is protected for ever.
func timeOf(micros int64) time.Time {
	if micros < 0 || micros >= cluster.EndOfTime {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
