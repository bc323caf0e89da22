package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
)

// A permutation puts n things into another order.
type permutation func(n int) []int

// reversed is the order from the last to the first.
func reversed(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = n - 1 - i
	}
	return order
}

// interleaved is 0, n/2, 1, n/2+1, …: what stood together stands apart.
func interleaved(n int) []int {
	order := make([]int, 0, n)
	half := (n + 1) / 2
	for i := range half {
		order = append(order, i)
		if half+i < n {
			order = append(order, half+i)
		}
	}
	return order
}

func reorder[T any](list []T, p permutation) {
	old := slices.Clone(list)
	for i, from := range p(len(list)) {
		list[i] = old[from]
	}
}

// permute reorders every list of a state whose order says nothing. Pod sets,
// groups, alternatives and device indices stay: their order is a preference
// or an index.
func permute(s *allot.State, p permutation) {
	reorder(s.Nodes, p)
	reorder(s.Pools, p)
	reorder(s.Queues, p)
	reorder(s.Workloads, p)
	reorder(s.Budgets, p)
	reorder(s.Reservations, p)
	for i := range s.Reservations {
		reorder(s.Reservations[i].Nodes, p)
		reorder(s.Reservations[i].Workloads, p)
	}
	for i := range s.Nodes {
		reorder(s.Nodes[i].Taints, p)
		reorder(s.Nodes[i].Links, p)
	}
	for i := range s.Pools {
		reorder(s.Pools[i].Nodes.IDs, p)
		reorder(s.Pools[i].Policy.Classes, p)
		reorder(s.Pools[i].Policy.ExitActions, p)
		reorder(s.Pools[i].Policy.Scoring.Mix, p)
		for m := range s.Pools[i].Policy.Scoring.Mix {
			reorder(s.Pools[i].Policy.Scoring.Mix[m].Request.GPU.Models, p)
		}
	}
	for i := range s.Queues {
		reorder(s.Queues[i].Nodes.IDs, p)
		reorder(s.Queues[i].Resources, p)
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		reorder(w.Tasks, p)
		reorder(w.ExitActions, p)
		if w.Reserved != nil {
			reorder(w.Reserved.WaitsFor, p)
		}
		for j := range w.PodSets {
			reorder(w.PodSets[j].Request.Tolerations, p)
			reorder(w.PodSets[j].Request.GPU.Models, p)
		}
	}
}

// A renaming is new names for old ones; an empty or unknown name stays.
type renaming map[string]string

// renamingOf gives names that sort as the old ones do, and are longer or
// shorter than they.
func renamingOf(names []string, prefix string) renaming {
	names = slices.Clone(names)
	slices.Sort(names)
	r := renaming{}
	for i, name := range slices.Compact(names) {
		r[name] = fmt.Sprintf("%s-%07d", prefix, 3*i+1)
	}
	return r
}

func (r renaming) apply(names ...*string) {
	for _, name := range names {
		if fresh, ok := r[*name]; ok {
			*name = fresh
		}
	}
}

// renamings are those of the kinds of things that have an ID, of owners, of levels
// and their domains, and of the paths by which reasons name these.
type renamings struct{ nodes, pools, queues, workloads, owners, reservations, levels, domains, paths renaming }

func renamingsOf(s *allot.State) renamings {
	var nodes, pools, queues, workloads, owners, reservations, levels, domains []string
	for i := range s.Nodes {
		nodes = append(nodes, s.Nodes[i].ID)
		for _, domain := range s.Nodes[i].Domains { // sorted by renamingOf
			if domain != "" {
				domains = append(domains, domain)
			}
		}
	}
	for _, level := range s.Levels {
		levels = append(levels, level.Name)
	}
	for i := range s.Pools {
		pools = append(pools, s.Pools[i].ID)
	}
	for i := range s.Queues {
		queues = append(queues, s.Queues[i].ID)
	}
	for i := range s.Workloads {
		workloads = append(workloads, s.Workloads[i].ID)
		if owner := s.Workloads[i].Owner; owner != "" {
			owners = append(owners, owner)
		}
	}
	for _, b := range s.Budgets {
		owners = append(owners, b.Owner)
	}
	for i := range s.Reservations {
		reservations = append(reservations, s.Reservations[i].ID)
	}
	r := renamings{
		nodes:        renamingOf(nodes, "node"),
		pools:        renamingOf(pools, "pool"),
		queues:       renamingOf(queues, "queue"),
		workloads:    renamingOf(workloads, "workload"),
		owners:       renamingOf(owners, "owner"),
		reservations: renamingOf(reservations, "reservation"),
		levels:       renamingOf(levels, "level"),
		domains:      renamingOf(domains, "domain"),
		paths:        renaming{},
	}
	for i := range s.Nodes {
		var before, after []string
		for _, level := range s.Levels {
			if domain := s.Nodes[i].Domains[level.Name]; domain != "" {
				before, after = append(before, domain), append(after, r.domains[domain])
				r.paths[strings.Join(before, "/")] = strings.Join(after, "/")
			}
		}
	}
	return r
}

// state renames everything in s.
func (r renamings) state(s *allot.State) {
	set := func(n *allot.NodeSet) {
		for i := range n.IDs {
			r.nodes.apply(&n.IDs[i])
		}
	}
	for i := range s.Levels {
		r.levels.apply(&s.Levels[i].Name)
	}
	for i := range s.Nodes {
		r.nodes.apply(&s.Nodes[i].ID)
		r.domainsOf(&s.Nodes[i])
	}
	for i := range s.Pools {
		r.pools.apply(&s.Pools[i].ID)
		set(&s.Pools[i].Nodes)
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		r.queues.apply(&q.ID, &q.Parent)
		r.pools.apply(&q.Pool)
		set(&q.Nodes)
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		r.workloads.apply(&w.ID)
		r.pools.apply(&w.Pool)
		r.queues.apply(&w.Queue)
		r.owners.apply(&w.Owner)
		r.form(&w.Topology, w.PodSets, w.Groups)
		for j := range w.Alternatives {
			f := &w.Alternatives[j]
			r.queues.apply(&f.Queue)
			r.form(&f.Topology, f.PodSets, f.Groups)
		}
		for j := range w.Tasks {
			r.nodes.apply(&w.Tasks[j].Node)
			r.workloads.apply(&w.Tasks[j].Behind)
		}
		if w.Reserved != nil {
			r.promise(w.Reserved)
		}
	}
	for i := range s.Reservations {
		r.reservation(&s.Reservations[i])
	}
	for i := range s.Budgets {
		r.owners.apply(&s.Budgets[i].Owner)
	}
}

// domainsOf renames the domains of a node and their levels.
func (r renamings) domainsOf(n *allot.Node) {
	if n.Domains == nil {
		return
	}
	fresh := make(map[string]string, len(n.Domains))
	for level, domain := range n.Domains { // into a map: the order cannot matter
		r.levels.apply(&level)
		r.domains.apply(&domain)
		fresh[level] = domain
	}
	n.Domains = fresh
}

// form renames the levels of constraints.
func (r renamings) form(whole *allot.Topology, sets []allot.PodSet, groups []allot.Group) {
	of := func(t *allot.Topology) {
		r.levels.apply(&t.Required, &t.Preferred)
		for i := range t.Slices {
			r.levels.apply(&t.Slices[i].Level)
		}
	}
	of(whole)
	for i := range sets {
		of(&sets[i].Topology)
	}
	for i := range groups {
		of(&groups[i].Topology)
	}
}

// plan renames everything in p but the paths of warnings, which are text:
// those it drops.
func (r renamings) plan(p *allot.Plan) {
	for i := range p.Actions {
		a := &p.Actions[i]
		r.workloads.apply(&a.Workload)
		r.queues.apply(&a.Queue)
		r.reason(&a.Reason)
		for j := range a.Tasks {
			r.nodes.apply(&a.Tasks[j].Node)
		}
		for j := range a.From {
			r.nodes.apply(&a.From[j].Node)
		}
		for j := range a.After {
			r.workloads.apply(&a.After[j])
		}
		r.workloads.apply(&a.Behind)
	}
	for i := range p.Reservations {
		planned := &p.Reservations[i]
		r.workloads.apply(&planned.Workload)
		r.queues.apply(&planned.Queue)
		r.promise(&planned.Promise)
		r.reason(&planned.Cause)
	}
	for i := range p.Pending {
		w := &p.Pending[i]
		r.workloads.apply(&w.Workload)
		r.queues.apply(&w.Queue)
		for j := range w.Reasons {
			r.reason(&w.Reasons[j])
		}
	}
	for i := range p.Shares {
		r.pools.apply(&p.Shares[i].Pool)
		r.queues.apply(&p.Shares[i].Queue)
	}
	p.Warnings = nil
}

func (r renamings) promise(p *allot.Promise) {
	for i := range p.Tasks {
		r.nodes.apply(&p.Tasks[i].Node)
	}
	for i := range p.WaitsFor {
		r.workloads.apply(&p.WaitsFor[i])
	}
}

// reservation renames what a reservation names, and the reservation.
func (r renamings) reservation(of *allot.Reservation) {
	r.reservations.apply(&of.ID)
	r.queues.apply(&of.Queue)
	for i := range of.Nodes {
		r.nodes.apply(&of.Nodes[i].Node)
	}
	for i := range of.Domains {
		d := &of.Domains[i]
		if r.levels.apply(&d.Level); d.Level == allot.NodeLevel {
			r.nodes.apply(&d.Domain)
		} else {
			r.domains.apply(&d.Domain)
		}
	}
	for i := range of.Workloads {
		r.workloads.apply(&of.Workloads[i])
	}
}

func (r renamings) reason(reason *allot.Reason) {
	r.reservations.apply(&reason.Reservation)
	r.queues.apply(&reason.Queue)
	r.workloads.apply(&reason.Workload)
	r.nodes.apply(&reason.Node)
	for i := range reason.Domains {
		d := &reason.Domains[i]
		if d.Level == allot.NodeLevel {
			r.nodes.apply(&d.Domain)
		} else {
			r.paths.apply(&d.Domain)
		}
		r.levels.apply(&d.Level)
	}
	if reason.Nearest != nil {
		r.nodes.apply(&reason.Nearest.Node)
	}
	for i := range reason.Protections {
		r.queues.apply(&reason.Protections[i].Queue)
	}
	r.subtrees(reason.Subtrees)
	for i := range reason.Chain {
		t := &reason.Chain[i]
		r.workloads.apply(&t.Workload)
		r.queues.apply(&t.Queue)
		r.subtrees(t.Subtrees)
	}
}

func (r renamings) subtrees(s *allot.Subtrees) {
	if s != nil {
		r.queues.apply(&s.Victim.Queue, &s.Preemptor.Queue)
	}
}

// renamed: names that sort alike give the same plan under the new names (S3).
func (t *trial) renamed() string {
	names := renamingsOf(t.state)
	s := deepCopy(*t.state)
	names.state(&s)
	plan, err := allot.Solve(&s)
	if err != nil {
		return "Solve: " + err.Error()
	}
	want := deepCopy(*t.plan)
	names.plan(&want)
	plan.Warnings = nil
	return difference(&want, plan)
}
