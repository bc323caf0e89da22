package preempt

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/internal/radix"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A roster lists the units of a pool: by queue and by node, the best standing first once
// that has been asked for, and by workload.
type roster struct {
	units      []*Unit
	slab       []Unit // memory for units to come
	state      []unitState
	byLeaf     [][]UnitID // by queue, best standing first
	byNode     [][]UnitID // as they were entered or, once nodeSorted, best standing first
	sorted     []bool     // by queue: byLeaf is
	nodeSorted []bool
	stretches  [][]stretch   // by queue
	stretched  []bool        // by queue: stretches are up to date
	stepsIn    []int32       // by queue: how many units are above a minimum
	priorities priorities    // of all units
	byWork     []UnitID      // by workload: the first of a chain
	opened     bool          // something was asked: lists stay sorted, and touched is kept
	touched    []int32       // the nodes on which units came or went
	touchedBy  []UnitID      // who came there, left or otherwise where nobody did
	order      standingOrder // scratch of sortByStanding
	here       []UnitID      // memory for lists of byNode
	charges    map[sharedCharge]int32
	amounts    []quota.Amounts // by the number of a list of them; the first is the empty one
	lastCharge sharedCharge    // and lastNumber are those that were asked for last
	lastNumber int32
}

// A sharedCharge is a list of amounts that is told by where it lies.
type sharedCharge struct {
	first *quota.Amount
	some  int
}

// chargeOf numbers lists of amounts, from 1 on.
func (r *roster) chargeOf(list quota.Amounts) int32 {
	key := sharedCharge{&list[0], len(list)}
	if key == r.lastCharge { // as of most
		return r.lastNumber
	}
	known := r.charges[key]
	if known == 0 {
		if r.charges == nil {
			r.charges = make(map[sharedCharge]int32)
		}
		known = int32(len(r.amounts))
		r.charges[key], r.amounts = known, append(r.amounts, list)
	}
	r.lastCharge, r.lastNumber = key, known
	return known
}

// charged is what a unit is charged. It is told by the number of the list, of which there are as many as
// kinds of workloads, so that of a unit itself nothing is read that lies elsewhere in memory.
func (r *roster) charged(id UnitID) quota.Amounts { return r.amounts[r.state[id].charge] }

// A standingKey is a unit with what of its standing tells most apart beside it, which is
// quicker to sort.
type standingKey struct {
	class    int64 // whether it is non-preemptible, its priority, and whether it is a minimum
	admitted int64
	id       UnitID
}

// key is that of a unit of this rank.
func (a *EvictionRank) key(id UnitID) standingKey {
	key := standingKey{-2 * int64(a.Priority), a.Admitted, id}
	if a.NonPreemptible {
		key.class -= 1 << 40
	}
	if a.Step > 0 {
		key.class++
	}
	return key
}

// compare is EvictionRank.compare as far as it is listed.
func (k *standingKey) compare(other *standingKey) int {
	if k.class != other.class {
		return cmp.Compare(k.class, other.class)
	}
	return cmp.Compare(k.admitted, other.admitted)
}

// standOnNodes lists a unit on the nodes of its tasks.
func (r *roster) standOnNodes(id UnitID) {
	tasks := r.units[id].Tasks
	for i := range tasks {
		node := tasks[i].Place.Node
		if i == 0 || !r.standsOn(id, node) {
			r.putOn(id, node)
			r.touch(node, id)
		}
	}
}

const (
	left      UnitID = -1 // a unit left the node
	otherwise UnitID = -2 // something else has changed
)

// touch takes note that something has changed on a node, by a unit that came or else.
func (r *roster) touch(node int32, by UnitID) {
	if !r.opened {
		return // nothing is known of any node
	}
	if some := len(r.touched); some == cap(r.touched) { // twice as many at a time, as there are thousands
		r.touched, r.touchedBy = slices.Grow(r.touched, 1+some), slices.Grow(r.touchedBy, 1+some)
	}
	r.touched, r.touchedBy = append(r.touched, node), append(r.touchedBy, by)
}

// holds says whether a unit is charged some of a resource.
func (r *roster) holds(id UnitID, res int32) bool {
	if res < 64 {
		return r.state[id].holds&(1<<res) != 0
	}
	return r.charged(id).Of(res) > 0
}

// standsOn says whether a unit, the last one entered, is listed on a node.
func (r *roster) standsOn(id UnitID, n int32) bool {
	here := r.byNode[n]
	if !r.nodeSorted[n] {
		return len(here) > 0 && here[len(here)-1] == id
	}
	return slices.Contains(here, id)
}

// putOn lists a unit on a node.
func (r *roster) putOn(id UnitID, n int32) {
	if r.byNode[n] == nil { // room for a few, from one array for many nodes
		const few = 8
		if len(r.here) < few {
			r.here = make([]UnitID, few*min(128, len(r.byNode)))
		}
		r.byNode[n], r.here = r.here[:0:few], r.here[few:]
	}
	here := append(r.byNode[n], id)
	for at := len(here) - 1; at > 0 && r.nodeSorted[n] && r.better(id, here[at-1]) < 0; at-- {
		here[at-1], here[at] = here[at], here[at-1]
	}
	r.byNode[n] = here
}

// indexOn is where a unit is in the list of a node, −1 if it is not.
func (r *roster) indexOn(n int32, id UnitID) int {
	const few = 128 // numbers side by side are quicker looked through than what they stand for
	here := r.byNode[n]
	if len(here) < few {
		return slices.Index(here, id)
	}
	at, found := slices.BinarySearch(here, id) // as they were entered they mostly ascend
	if r.nodeSorted[n] {
		at, found = slices.BinarySearchFunc(here, id, r.better)
	}
	if found {
		return at
	}
	return slices.Index(here, id)
}

// onNode lists the units that stand on a node, the best standing first.
func (r *roster) onNode(n int32) []UnitID {
	if !r.nodeSorted[n] {
		r.nodeSorted[n] = true
		r.sortByStanding(r.byNode[n])
	}
	return r.byNode[n]
}

// insert lists a unit in its leaf: in its place where the list is sorted and
// there are many, else at the end, to be sorted when it is asked for.
func (r *roster) insert(id UnitID) {
	u := r.units[id]
	list := r.byLeaf[u.Leaf]
	r.stretched[u.Leaf] = false
	if u.Step > 0 {
		r.stepsIn[u.Leaf]++
	}
	switch n := len(list); {
	case n == 0 || r.sorted[u.Leaf] && r.units[list[n-1]].EvictionRank.compare(&u.EvictionRank) < 0:
		r.byLeaf[u.Leaf], r.sorted[u.Leaf] = append(list, id), true
	case r.sorted[u.Leaf] && r.opened:
		r.byLeaf[u.Leaf] = slices.Insert(list, r.rank(u.Leaf, &u.EvictionRank), id)
	default:
		r.byLeaf[u.Leaf], r.sorted[u.Leaf] = append(list, id), false
	}
}

// rank is how many units of the leaf stand better. Who goes, or has come just now, is among the
// last, so that it is looked for from there.
func (r *roster) rank(leaf int32, s *EvictionRank) int {
	list := r.inLeaf(leaf)
	stands := func(id UnitID, s *EvictionRank) int { return r.units[id].EvictionRank.compare(s) }
	from, to := len(list), len(list)
	for step := 1; from > 0; step *= 2 {
		to, from = from, max(0, from-step)
		if stands(list[from], s) < 0 {
			break
		}
	}
	at, _ := slices.BinarySearchFunc(list[from:to], s, stands)
	return from + at
}

// indexIn is where a unit stands among those of its leaf. Who goes is among the last, so that it is looked for from
// there, by what is read of the others at once.
func (r *roster) indexIn(leaf int32, id UnitID) int {
	list := r.inLeaf(leaf)
	from, to := len(list), len(list)
	for step := 1; from > 0; step *= 2 {
		to, from = from, max(0, from-step)
		if list[from] == id {
			return from
		}
		if r.better(list[from], id) < 0 {
			break
		}
	}
	at, _ := slices.BinarySearchFunc(list[from:to], id, r.better)
	return from + at
}

// inLeaf lists the leaf's units, the best standing first. Those that it sorts are numbered: it
// does so once after the first question, so that numbers stand for the standing from then on.
func (r *roster) inLeaf(leaf int32) []UnitID {
	if !r.sorted[leaf] {
		r.sorted[leaf] = true
		r.sortByStanding(r.byLeaf[leaf])
		for at, id := range r.byLeaf[leaf] {
			if r.opened {
				r.state[id].number = int32(at + 1)
			}
		}
	}
	return r.byLeaf[leaf]
}

// sortByStanding sorts units, the best standing first.
func (r *roster) sortByStanding(ids []UnitID) {
	if r.sortNumbered(ids) {
		return
	}
	r.order.keys = slices.Grow(r.order.keys[:0], len(ids))
	for _, id := range ids {
		r.order.add(&r.units[id].EvictionRank, id)
	}
	r.order.sort(ids, r.better)
}

// sortNumbered sorts units of one leaf by their numbers, which is quicker, and says whether all have one.
func (r *roster) sortNumbered(ids []UnitID) bool {
	numbers := slices.Grow(r.order.numbers[:0], len(ids))
	for _, id := range ids {
		u := &r.state[id]
		if u.number == 0 || u.leaf != r.state[ids[0]].leaf {
			return false
		}
		numbers = append(numbers, uint64(u.number)<<32|uint64(id))
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		ids[i] = UnitID(uint32(n))
	}
	r.order.numbers = numbers
	return true
}

// A standingOrder sorts units by their standing.
type standingOrder struct {
	keys    []standingKey
	numbers []uint64
}

// add adds a unit of this rank.
func (o *standingOrder) add(rank *EvictionRank, id UnitID) { o.keys = append(o.keys, rank.key(id)) }

// sort writes the units that were added into a list of as many, the best standing first. better compares all of the
// standing of two.
func (o *standingOrder) sort(ids []UnitID, better func(a, b UnitID) int) {
	if o.sortByNumber(ids, better) {
		return
	}
	slices.SortFunc(o.keys, func(a, b standingKey) int {
		if c := a.compare(&b); c != 0 {
			return c
		}
		return better(a.id, b.id)
	})
	for i := range o.keys {
		ids[i] = o.keys[i].id
	}
}

// sortByNumber sorts units by their keys where class, time and place in the list fit into one
// number, which is several times as quick; those of one class and time by all of their
// standing. It says whether they fit.
func (o *standingOrder) sortByNumber(ids []UnitID, better func(a, b UnitID) int) bool {
	if len(ids) == 0 {
		return true
	}
	least, most := o.keys[0], o.keys[0]
	for i := range o.keys {
		k := &o.keys[i]
		least.class, most.class = min(least.class, k.class), max(most.class, k.class)
		least.admitted, most.admitted = min(least.admitted, k.admitted), max(most.admitted, k.admitted)
	}
	at := bits.Len(uint(len(ids) - 1))
	time := bits.Len64(uint64(most.admitted) - uint64(least.admitted)) // which may be as far apart as can be
	if bits.Len64(uint64(most.class-least.class))+time+at > 64 {
		return false
	}
	numbers := slices.Grow(o.numbers[:0], len(ids))
	for i := range o.keys {
		k := &o.keys[i]
		numbers = append(numbers, (uint64(k.class-least.class)<<time|(uint64(k.admitted)-uint64(least.admitted)))<<at|uint64(i))
	}
	radix.Sort(numbers, at)
	for i, n := range numbers {
		ids[i] = o.keys[n&(1<<at-1)].id
	}
	for from := 0; from < len(ids); {
		to := from + 1
		for to < len(ids) && numbers[to]>>at == numbers[from]>>at {
			to++
		}
		if to > from+1 {
			slices.SortFunc(ids[from:to], better)
		}
		from = to
	}
	o.numbers = numbers
	return true
}

// better is negative where the unit a stands better than b.
func (r *roster) better(a, b UnitID) int {
	if x, y := &r.state[a], &r.state[b]; x.leaf == y.leaf && x.number > 0 && y.number > 0 {
		return cmp.Compare(x.number, y.number)
	}
	return r.units[a].EvictionRank.compare(&r.units[b].EvictionRank)
}

// place is where all of a unit of one task stands.
func (u *unitState) place() placement.Place {
	return placement.Place{Node: u.node, Devices: u.devices, Pipelined: u.pipelined}
}

// tasks is how many tasks a unit has.
func (r *roster) tasks(id UnitID) int {
	if r.state[id].node >= 0 {
		return 1
	}
	return len(r.units[id].Tasks)
}

// single says whether a unit is all of its workload.
func (r *roster) single(id UnitID) bool { return r.state[id].single }

// alone says whether a unit has one task and is all of its workload.
func (r *roster) alone(id UnitID) bool {
	u := &r.state[id]
	return u.bars&wide == 0 && u.single
}

// judgedAlike says whether two units of a leaf are judged alike as the first to go: they
// share what they are charged, what protects them, and their priority.
func (r *roster) judgedAlike(x, y UnitID) bool {
	a, b := &r.state[x], &r.state[y]
	return a.charge == b.charge && a.protection == b.protection && a.byClass == b.byClass && a.inClass == b.inClass && (a.bars|b.bars)&budgeted == 0 &&
		a.priority == b.priority
}
