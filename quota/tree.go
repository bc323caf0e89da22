package quota

// A Tree holds the use of every queue of a pool. Queues and resources are the
// indices of its [Config]; the pool itself stands above the top-level queues.
// All state is in flat slices by queue and resource. A Tree is not safe for
// concurrent use. Make one with [New].
//
// Accessors answer for a queue or resource outside of the tree as for one
// under no bounds and without use.
type Tree struct {
	resources  int
	pool       int32   // index of the pool's row of state, after the queues
	parent     []int32 // by queue; t.pool at the top level
	firstChild []int32 // children[firstChild[p]:firstChild[p+1]] are p's
	children   []int32 // by parent (the pool last), then by index
	order      []int32 // every queue after its parent

	capacity   []int64 // by resource
	governed   []bool  // by resource: under quota (Q1)
	capOnly    []bool  // by resource
	givenOnly  []bool  // by resource
	keeps      []bool  // by resource: some queue keeps a part (Q5)
	quotaBinds bool    // Q2

	bounds    []bound // by queue and resource; never changes
	keptEmpty []int64 // by queue (and pool) and resource: keptBelow without use; nil if no queue keeps
	state     []state // by queue (and pool) and resource

	journal []change
	marks   []openMark
	serial  uint64 // of the last mark
}

// bound is what holds for one queue and resource after Q1's defaults.
type bound struct {
	quota, limit int64 // Infinite: none
	binds        int64 // the quota that Q2 goes by; Infinite: none
	borrowing    int64 // quota + borrowing limit; Infinite: none
	ceiling      int64 // min(limit, borrowing)
	reserve      int64 // the part of quota that is kept from lending (Q5)
}

// state is the use of one queue and resource.
type state struct {
	use, nonPreemptible int64
	keptBelow           int64 // Σ kept over the children (Q5)
}

// at is the cell of queue v (or the pool) and resource r.
func (t *Tree) at(v int32, r int) int { return int(v)*t.resources + r }

// has reports whether queue q and resource r are of this tree.
func (t *Tree) has(q, r int) bool {
	return uint(q) < uint(t.pool) && uint(r) < uint(t.resources)
}

func (t *Tree) childrenOf(p int32) []int32 {
	return t.children[t.firstChild[p]:t.firstChild[p+1]]
}

func (t *Tree) isLeaf(q int32) bool { return t.firstChild[q] == t.firstChild[q+1] }

// finite is a resolved quota as an amount that may be kept: an unlimited one
// stands for the pool's whole capacity.
func (t *Tree) finite(quota int64, r int) int64 {
	if quota == Infinite {
		return max(0, t.capacity[r])
	}
	return quota
}

// Queues returns the number of queues, the pool not counted.
func (t *Tree) Queues() int { return len(t.parent) }

// Resources returns the number of resources.
func (t *Tree) Resources() int { return t.resources }

// Parent returns the parent of queue q, −1 for a top-level queue.
func (t *Tree) Parent(q int) int {
	if uint(q) >= uint(len(t.parent)) || t.parent[q] == t.pool {
		return -1
	}
	return int(t.parent[q])
}

// Governed reports whether resource r is under quota: some queue gives one,
// be it 0 or unlimited (Q1). Q2, Q5 and the fair shares skip all others.
func (t *Tree) Governed(r int) bool { return uint(r) < uint(t.resources) && t.governed[r] }

// Quota returns the quota of q after Q1's defaults, in the resource's unit;
// [Infinite] if it is unlimited or the resource not [Tree.Governed].
func (t *Tree) Quota(q, r int) int64 {
	if !t.has(q, r) {
		return Infinite
	}
	return t.bounds[t.at(int32(q), r)].quota
}

// Limit returns the limit of q (Q3), [Infinite] if there is none. An ancestor's
// may be lower.
func (t *Tree) Limit(q, r int) int64 {
	if !t.has(q, r) {
		return Infinite
	}
	return t.bounds[t.at(int32(q), r)].limit
}

// Ceiling returns the most that Q3 lets q use: the lower of its limit and its
// quota plus borrowing limit, [Infinite] if there is neither. An ancestor's may
// be lower.
func (t *Tree) Ceiling(q, r int) int64 {
	if !t.has(q, r) {
		return Infinite
	}
	return t.bounds[t.at(int32(q), r)].ceiling
}

// Reserve returns the part of q's quota that its lending limit keeps from being
// lent, in use or not (Q5): quota − lending limit, at least 0. Of an unlimited
// quota it is the pool's capacity − lending limit.
func (t *Tree) Reserve(q, r int) int64 {
	if !t.has(q, r) {
		return 0
	}
	return t.bounds[t.at(int32(q), r)].reserve
}

// Use returns what is charged to q and the queues below it (S7).
func (t *Tree) Use(q, r int) int64 {
	if !t.has(q, r) {
		return 0
	}
	return t.state[t.at(int32(q), r)].use
}

// NonPreemptible returns the part of [Tree.Use] that was charged as
// non-preemptible (Q2).
func (t *Tree) NonPreemptible(q, r int) int64 {
	if !t.has(q, r) {
		return 0
	}
	return t.state[t.at(int32(q), r)].nonPreemptible
}

// Charge adds a to the use of leaf q and every queue above it. It refuses
// nothing for quota or limit, as use in the input may exceed both (S7): ask
// [Tree.Check] first. On an error nothing has changed; it is an [*Error]:
// [ErrOverflow] if the pool's use would exceed [MaxSum], [ErrMalformed] if q or
// a is not of this tree, [ErrInnerQueue] if q has children. O(depth × len(a)).
func (t *Tree) Charge(q int, a Amounts, nonPreemptible bool) error {
	if err := t.checkChange(q, a); err != nil {
		return err
	}
	for _, x := range a {
		// The pool uses at least as much as any queue, so it overflows first.
		if t.state[t.at(t.pool, int(x.Resource))].use > MaxSum-x.Value {
			return &Error{Err: ErrOverflow, Queue: q, Resource: int(x.Resource), Value: x.Value}
		}
	}
	t.change(int32(q), a, 1, nonPreemptible)
	return nil
}

// Release takes back what [Tree.Charge] added, or a part of it. On an error
// nothing has changed; it is an [*Error]: [ErrUnderflow] if q has less in use of
// that kind, preemptible or not, else as Charge's. O(depth × len(a)).
func (t *Tree) Release(q int, a Amounts, nonPreemptible bool) error {
	if err := t.checkChange(q, a); err != nil {
		return err
	}
	for _, x := range a {
		s := &t.state[t.at(int32(q), int(x.Resource))]
		have := s.nonPreemptible
		if !nonPreemptible {
			have = s.use - s.nonPreemptible
		}
		// What is above a leaf uses at least as much of either kind.
		if have < x.Value {
			return &Error{Err: ErrUnderflow, Queue: q, Resource: int(x.Resource), Value: x.Value}
		}
	}
	t.change(int32(q), a, -1, nonPreemptible)
	return nil
}

// checkChange reports whether a may be charged to or released from q at all.
func (t *Tree) checkChange(q int, a Amounts) error {
	if uint(q) >= uint(len(t.parent)) {
		return &Error{Err: ErrMalformed, Queue: q, Resource: -1}
	}
	if !t.isLeaf(int32(q)) {
		return &Error{Err: ErrInnerQueue, Queue: q, Resource: -1}
	}
	if !a.valid(t.resources) {
		return a.Validate(t.resources)
	}
	return nil
}

// change adds sign × a along q's path and keeps a journal of it if a caller may
// want it undone.
func (t *Tree) change(q int32, a Amounts, sign int64, nonPreemptible bool) {
	for _, x := range a {
		c := change{queue: q, resource: x.Resource, value: sign * x.Value, nonPreemptible: nonPreemptible}
		if len(t.marks) > 0 {
			t.journal = append(t.journal, c)
		}
		t.apply(c)
	}
}

// apply adds one change along its path. It is its own inverse with the value
// negated: what is kept is a function of use alone.
func (t *Tree) apply(c change) {
	if t.keeps[c.resource] {
		t.moveKept(c)
	}
	for v := c.queue; ; v = t.parent[v] {
		s := &t.state[t.at(v, int(c.resource))]
		s.use += c.value
		if c.nonPreemptible {
			s.nonPreemptible += c.value
		}
		if v == t.pool {
			return
		}
	}
}
