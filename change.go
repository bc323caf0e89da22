package allot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot/internal/table"
)

// A Change is what is otherwise in the next state: what came or is different
// now, in full, and what went, by ID. The zero Change changes nothing. Removals
// are made first, so that what is removed and put in one Change is new.
type Change struct {
	// Now is the new instant; zero leaves it as it was.
	Now time.Time `json:"now,omitzero"`
	// Revision is the new state's; empty leaves it as it was.
	Revision string `json:"revision,omitzero"`
	// Remove is what is no longer in the state.
	Remove Removal `json:"remove,omitzero"`
	// Levels are all of them, the widest first; none leaves them as they were.
	Levels []Level `json:"levels,omitempty"`
	// Nodes, Pools, Queues and Workloads are added, or take the place of those
	// with their IDs, as a whole.
	Nodes     []Node     `json:"nodes,omitempty"`
	Pools     []Pool     `json:"pools,omitempty"`
	Queues    []Queue    `json:"queues,omitempty"`
	Workloads []Workload `json:"workloads,omitempty"`
	// Budgets are added, or take the place of their owners'.
	Budgets []DisruptionBudget `json:"budgets,omitempty"`
	// Reservations are added, or take the place of those with their IDs, as a whole.
	Reservations []Reservation `json:"reservations,omitempty"`
}

// A Removal names what goes, each thing once. What it names must be there.
type Removal struct {
	// Levels are names; what nodes and constraints say of them has to go too.
	Levels []string `json:"levels,omitempty"`
	// Nodes, Pools, Queues and Workloads are IDs. What ran on a node that goes
	// has to go with it or be changed: a node whose loss is to be dealt with
	// stays, as Lost (S7).
	Nodes     []string `json:"nodes,omitempty"`
	Pools     []string `json:"pools,omitempty"`
	Queues    []string `json:"queues,omitempty"`
	Workloads []string `json:"workloads,omitempty"`
	// Budgets are owners.
	Budgets []string `json:"budgets,omitempty"`
	// Reservations are IDs. A workload or queue that one names is gone with it or before.
	Reservations []string `json:"reservations,omitempty"`
}

// MarshalJSON is the canonical JSON of c, with the errors of
// [State.MarshalJSON].
func (c Change) MarshalJSON() ([]byte, error) { return writeDocument(changeForm, &c) }

// UnmarshalJSON replaces c by what data says, as strictly and with the errors
// of [State.UnmarshalJSON].
func (c *Change) UnmarshalJSON(data []byte) error {
	var read Change
	if err := readDocument(data, changeForm, &read); err != nil {
		return withObjects(err, &State{Levels: read.Levels, Nodes: read.Nodes, Pools: read.Pools, Queues: read.Queues, Workloads: read.Workloads, Budgets: read.Budgets, Reservations: read.Reservations})
	}
	*c = read
	return nil
}

// objects are the tables of one version. They share what is in them with other
// versions, and are never written to.
type objects struct {
	now       time.Time
	revision  string
	levels    []Level
	nodes     table.Table[Node]
	pools     table.Table[Pool]
	queues    table.Table[Queue]
	workloads table.Table[Workload]
	budgets   table.Table[DisruptionBudget]
	reserved  table.Table[Reservation]
	residents table.Table[resident]
	// irregular are the workloads that every plan changes, see [irregular].
	irregular table.Table[Workload]
	// made is what the change that made the version did to the workloads of another; nil where
	// none did.
	made *increment
}

// An increment is what workloads a version has otherwise than the one that it was made from, in the
// order of their IDs: whoever is at that one need not compare the two.
type increment struct {
	from    table.Table[Workload]
	changed []table.Difference[Workload]
}

// changedSince are the workloads that the version has otherwise than another.
func (n *objects) changedSince(other table.Table[Workload]) []table.Difference[Workload] {
	if n.made != nil && n.made.from == other {
		return slices.Clip(n.made.changed)
	}
	return table.Differences(other, n.workloads)
}

// A resident is a node on which tasks stand or are claimed, and the workloads
// whose they are, by ID. A task may be on a node that is not listed: the state
// is at fault then, but it is told so only when all of it is known.
type resident struct {
	node      string
	workloads []string
	// held is what they hold there, and of is the node on which they hold it: it is another once
	// the node is changed. Nil is not known yet. Only the check of a change uses them, and sets
	// them before any caller has the version.
	held *heldOn
	of   *Node
}

// newObjects are those of a state, copied, and their bounds. The error is that of
// [Check].
func newObjects(s *State) (objects, bounds, error) {
	n := objects{
		now: s.Now, revision: s.Revision, levels: slices.Clone(s.Levels),
		nodes:     tableOf(s.Nodes, nodeID, cloneNode),
		pools:     tableOf(s.Pools, poolID, clonePool),
		queues:    tableOf(s.Queues, queueID, cloneQueue),
		workloads: tableOf(s.Workloads, workloadID, cloneWorkload),
		budgets:   tableOf(s.Budgets, budgetOwner, cloneBudget),
		reserved:  tableOf(s.Reservations, reservationID, cloneReservation),
	}
	known, err := checkWhole(&n)
	if err != nil {
		if told := Check(s); told != nil {
			err = told // with the places in the caller's lists
		}
		return objects{}, bounds{}, err
	}
	n.residents = residentsOf(n.workloads)
	for k := range n.workloads.All() {
		n.regulate(nil, k)
	}
	return n, known, nil
}

// cloneBudget copies what has nothing to share.
func cloneBudget(b DisruptionBudget) DisruptionBudget { return b }

func nodeID(n *Node) string                  { return n.ID }
func poolID(p *Pool) string                  { return p.ID }
func queueID(q *Queue) string                { return q.ID }
func workloadID(w *Workload) string          { return w.ID }
func budgetOwner(b *DisruptionBudget) string { return b.Owner }
func reservationID(r *Reservation) string    { return r.ID }

// tableOf makes a table of copies. They lie together by the page, so that what
// is dropped later does not hold on to more than its neighbours.
func tableOf[T any](list []T, id func(*T) string, clone func(T) T) table.Table[T] {
	keys, entries := make([]string, 0, len(list)), make([]*T, 0, len(list))
	var some []T
	for _, i := range byID(list, id) {
		if len(some) == cap(some) {
			some = make([]T, 0, min(table.PageSize, len(list)))
		}
		some = append(some, clone(list[i]))
		keys, entries = append(keys, id(&list[i])), append(entries, &some[len(some)-1])
	}
	return table.New(keys, entries)
}

func residentsOf(workloads table.Table[Workload]) table.Table[resident] {
	byNode := make(map[string]*resident)
	var list []*resident
	for k := range workloads.All() {
		for _, node := range nodesOf(k) {
			r := byNode[node]
			if r == nil {
				r = &resident{node: node}
				byNode[node] = r
				list = append(list, r)
			}
			r.workloads = append(r.workloads, k.ID)
		}
	}
	slices.SortFunc(list, func(a, b *resident) int { return strings.Compare(a.node, b.node) })
	keys := make([]string, len(list))
	for i, r := range list {
		keys[i] = r.node
	}
	return table.New(keys, list)
}

// nodesOf are the nodes on which tasks of the workload are listed, sorted.
func nodesOf(k *Workload) []string {
	if k == nil || len(k.Tasks) == 0 {
		return nil
	}
	nodes := make([]string, len(k.Tasks))
	for i := range k.Tasks {
		nodes[i] = k.Tasks[i].Node
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// state lists the objects by ID, sharing what is in them.
func (n *objects) state() *State {
	s := n.frame()
	s.Workloads = listed(n.workloads)
	return s
}

// frame is the state without its workloads, which are many and large.
func (n *objects) frame() *State {
	return &State{
		Now: n.now, Revision: n.revision, Levels: append([]Level(nil), n.levels...),
		Nodes: listed(n.nodes), Pools: listed(n.pools), Queues: listed(n.queues),
		Budgets: listed(n.budgets), Reservations: listed(n.reserved),
	}
}

// works are the workloads by ID, which nobody may modify.
func (n *objects) works() []*Workload {
	out := make([]*Workload, 0, n.workloads.Len())
	for e := range n.workloads.All() {
		out = append(out, e)
	}
	return out
}

func listed[T any](t table.Table[T]) []T {
	if t.Len() == 0 {
		return nil
	}
	out := make([]T, 0, t.Len())
	for e := range t.All() {
		out = append(out, *e)
	}
	return out
}

// A changer makes changes to objects and collects the faults of the changes
// themselves; whether what comes of them makes sense is for Check.
type changer struct {
	objects
	faults []Fault
	// changed are the workloads so far that were changed, in any order.
	changed []table.Difference[Workload]
}

// increment is what the changes have done to the workloads of a version.
func (c *changer) increment(from table.Table[Workload]) *increment {
	slices.SortStableFunc(c.changed, func(a, b table.Difference[Workload]) int {
		return strings.Compare(cmp.Or(a.After, a.Before).ID, cmp.Or(b.After, b.Before).ID)
	})
	out := c.changed[:0]
	for _, k := range c.changed {
		last := len(out) - 1
		if last < 0 || cmp.Or(out[last].After, out[last].Before).ID != cmp.Or(k.After, k.Before).ID {
			out = append(out, k)
		} else if out[last].After = k.After; out[last].Before == nil && k.After == nil {
			out = out[:last] // it came and went
		}
	}
	return &increment{from, out}
}

func (c *changer) change(at *path, by *Change) {
	if !by.Now.IsZero() {
		c.now = by.Now
	}
	if by.Revision != "" {
		c.revision = by.Revision
	}
	gone := at.field("remove")
	for _, k := range removed(c, &gone, "workloads", FaultUnknownWorkload, by.Remove.Workloads, &c.workloads) {
		c.resettle(k, nil)
		c.changed = append(c.changed, table.Difference[Workload]{Before: k})
	}
	removed(c, &gone, "nodes", FaultUnknownNode, by.Remove.Nodes, &c.nodes)
	removed(c, &gone, "pools", FaultUnknownPool, by.Remove.Pools, &c.pools)
	removed(c, &gone, "queues", FaultUnknownQueue, by.Remove.Queues, &c.queues)
	removed(c, &gone, "budgets", FaultUnknownBudget, by.Remove.Budgets, &c.budgets)
	removed(c, &gone, "reservations", FaultUnknownReservation, by.Remove.Reservations, &c.reserved)

	c.relevel(&gone, by)
	put(c, at, "nodes", by.Nodes, nodeID, cloneNode, &c.nodes)
	put(c, at, "pools", by.Pools, poolID, clonePool, &c.pools)
	put(c, at, "queues", by.Queues, queueID, cloneQueue, &c.queues)
	came := put(c, at, "workloads", by.Workloads, workloadID, cloneWorkload, &c.workloads)
	for _, k := range came {
		c.resettle(k.Before, k.After)
	}
	c.changed = append(c.changed, came...)
	put(c, at, "budgets", by.Budgets, budgetOwner, cloneBudget, &c.budgets)
	put(c, at, "reservations", by.Reservations, reservationID, cloneReservation, &c.reserved)
}

// relevel takes levels away and takes over those that are given.
func (c *changer) relevel(gone *path, by *Change) {
	for i, name := range by.Remove.Levels {
		at := slices.IndexFunc(c.levels, func(l Level) bool { return l.Name == name })
		if at < 0 {
			list := gone.field("levels")
			here := list.at(i)
			c.fault(&here, FaultUnknownLevel, name, "must be there")
			continue
		}
		c.levels = slices.Delete(slices.Clone(c.levels), at, at+1)
	}
	if len(by.Levels) > 0 {
		c.levels = slices.Clone(by.Levels)
	}
}

// removed takes entries out of a table and returns them.
func removed[T any](c *changer, at *path, list string, unknown FaultCode, ids []string, from *table.Table[T]) (gone []*T) {
	for i, id := range ids {
		e := from.Get(id)
		if e == nil {
			below := at.field(list)
			here := below.at(i)
			c.fault(&here, unknown, id, "must be there")
			continue
		}
		*from = from.Remove(id)
		gone = append(gone, e)
	}
	return gone
}

// put puts copies of entries into a table and returns what was there before.
func put[T any](c *changer, at *path, list string, entries []T, id func(*T) string, clone func(T) T, into *table.Table[T]) (changed []table.Difference[T]) {
	if len(entries) == 0 {
		return nil
	}
	isTwice := twiceIn(entries, id)
	changed = make([]table.Difference[T], 0, len(entries))
	for i := range entries {
		key := id(&entries[i])
		if isTwice(i) {
			below := at.field(list)
			here := below.at(i)
			c.fault(&here, FaultDuplicate, key, "must be put once")
			continue
		}
		e := clone(entries[i])
		changed = append(changed, table.Difference[T]{Before: into.Get(key), After: &e})
		*into = into.Put(key, &e)
	}
	return changed
}

// twiceIn says of an entry whether one before it has its key. Entries are asked about in their order.
func twiceIn[T any](entries []T, id func(*T) string) func(i int) bool {
	const few = 8
	if len(entries) <= few {
		return func(i int) bool {
			for k := range entries[:i] {
				if id(&entries[k]) == id(&entries[i]) {
					return true
				}
			}
			return false
		}
	}
	seen := make(map[string]bool, len(entries))
	return func(i int) bool {
		key := id(&entries[i])
		twice := seen[key]
		seen[key] = true
		return twice
	}
}

func (c *changer) fault(at *path, code FaultCode, id, want string) {
	c.faults = append(c.faults, Fault{Path: at.String(), Code: code, Value: strconv.QuoteToASCII(id), Want: want})
}

// resettle keeps the residents: a workload was on some nodes and is on others. On those on
// which it stays it may hold something else.
func (n *objects) resettle(before, after *Workload) {
	was, is := nodesOf(before), nodesOf(after)
	for _, node := range was {
		r := resident{node: node, workloads: n.residents.Get(node).workloads}
		if _, stays := slices.BinarySearch(is, node); !stays {
			i, _ := slices.BinarySearch(r.workloads, before.ID)
			r.workloads = slices.Delete(slices.Clone(r.workloads), i, i+1)
		}
		if len(r.workloads) == 0 {
			n.residents = n.residents.Remove(node)
		} else {
			n.residents = n.residents.Put(node, &r)
		}
	}
	for _, node := range is {
		if _, stood := slices.BinarySearch(was, node); stood {
			continue
		}
		r := resident{node: node}
		if known := n.residents.Get(node); known != nil {
			r.workloads = known.workloads
		}
		i, _ := slices.BinarySearch(r.workloads, after.ID)
		r.workloads = slices.Insert(slices.Clone(r.workloads), i, after.ID)
		n.residents = n.residents.Put(node, &r)
	}
}
