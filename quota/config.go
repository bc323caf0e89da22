package quota

import "math"

// Bounds are what one queue is given of one resource, in the resource's unit.
// The zero Bounds give nothing.
type Bounds struct {
	// Quota is guaranteed (Q1). Absent, in a resource that some queue gives a
	// quota of, it is 0 in a leaf and the sum of its children's in an inner
	// queue.
	Quota Bound
	// Limit caps all use (Q3). Absent is no limit.
	Limit Bound
	// Borrow caps the use beyond quota (Q3). Absent is no cap.
	Borrow Bound
	// Lend is what others may take of the quota while it is not used; the rest
	// is kept (Q5). Absent is all of it.
	Lend Bound
}

// A Queue is one queue of a [Config].
type Queue struct {
	// Parent is an index into Config.Queues, −1 at the top level.
	Parent int32
	// Bounds are by resource. It may be shorter than the number of resources:
	// what is missing is not given.
	Bounds []Bounds
}

// A Config describes a tree. The zero Config is a tree without queues and
// resources.
type Config struct {
	// Capacity is the pool's usable capacity by resource, in the resource's
	// unit; its length is the number of resources. It may be negative, as
	// foreign use may exceed what the nodes have (S8). Only Q5, Q6's 'lent' and
	// Q9 look at it: whether a start finds room is placement's question.
	Capacity []int64
	// Queues may list parents and children in any order.
	Queues []Queue
	// NonPreemptibleOverQuota switches Q2 off.
	NonPreemptibleOverQuota bool
	// CapOnly marks resources that have limits but neither a quota nor a
	// capacity, as the number of running workloads (Q10). It may be shorter
	// than the number of resources.
	CapOnly []bool
	// GivenOnly marks resources of which a quota binds by Q2 only where it is given, as
	// those of classes (Q8). It may be shorter than the number of resources.
	GivenOnly []bool
}

// New builds the tree, with nothing in use. It keeps nothing of c. The error is
// an [*Error]: [ErrParent], [ErrCycle], [ErrNegative], [ErrOverflow] (a bound,
// or the sum of siblings' quotas or kept parts, beyond [MaxSum]; or a tree too large to
// index), [ErrCapOnly], or [ErrMalformed] where a list is longer than the
// number of resources. Bounds that contradict each other, as a child's quota
// above its parent's, or quotas above the capacity (Q7), are legal. O(queues ×
// resources).
func New(c Config) (*Tree, error) {
	t := &Tree{
		resources:  len(c.Capacity),
		pool:       int32(len(c.Queues)),
		quotaBinds: !c.NonPreemptibleOverQuota,
	}
	if err := t.checkSize(c); err != nil {
		return nil, err
	}
	if err := t.link(c.Queues); err != nil {
		return nil, err
	}
	if err := t.takeResources(c); err != nil {
		return nil, err
	}
	t.bounds = make([]bound, len(c.Queues)*t.resources)
	t.state = make([]state, (len(c.Queues)+1)*t.resources)
	for q := range c.Queues {
		for r, given := range c.Queues[q].Bounds {
			if err := checkBounds(given, t.capOnly[r]); err != nil {
				err.Queue, err.Resource = q, r
				return nil, err
			}
			t.governed[r] = t.governed[r] || given.Quota.Given()
		}
	}
	for r := range t.resources {
		if err := t.resolve(c.Queues, r); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// checkSize refuses what cannot be indexed, and lists that are too long.
func (t *Tree) checkSize(c Config) error {
	if rows := len(c.Queues) + 1; rows > math.MaxInt32/max(1, t.resources) {
		return &Error{Err: ErrOverflow, Queue: -1, Resource: -1, Value: int64(rows)}
	}
	if n := max(len(c.CapOnly), len(c.GivenOnly)); n > t.resources {
		return &Error{Err: ErrMalformed, Queue: -1, Resource: n - 1}
	}
	for q := range c.Queues {
		if n := len(c.Queues[q].Bounds); n > t.resources {
			return &Error{Err: ErrMalformed, Queue: q, Resource: n - 1}
		}
	}
	return nil
}

// takeResources copies what is given per resource.
func (t *Tree) takeResources(c Config) error {
	t.capacity = append([]int64(nil), c.Capacity...)
	for r, capacity := range t.capacity {
		if capacity > MaxSum || capacity < -MaxSum {
			return &Error{Err: ErrOverflow, Queue: -1, Resource: r, Value: capacity}
		}
	}
	t.governed = make([]bool, t.resources)
	t.keeps = make([]bool, t.resources)
	t.capOnly = make([]bool, t.resources)
	copy(t.capOnly, c.CapOnly)
	t.givenOnly = make([]bool, t.resources)
	copy(t.givenOnly, c.GivenOnly)
	return nil
}

// checkBounds checks one queue's bounds of one resource. The caller says where.
func checkBounds(given Bounds, capOnly bool) *Error {
	if capOnly && given.Quota.Given() {
		return &Error{Err: ErrCapOnly, Value: given.Quota.Amount()}
	}
	for _, b := range [...]Bound{given.Quota, given.Limit, given.Borrow, given.Lend} {
		switch n := b.Amount(); {
		case n < 0:
			return &Error{Err: ErrNegative, Value: n}
		case n > MaxSum && !b.IsUnlimited():
			return &Error{Err: ErrOverflow, Value: n}
		}
	}
	return nil
}

// link builds parents, children and order.
func (t *Tree) link(queues []Queue) error {
	n := len(queues)
	t.parent = make([]int32, n)
	t.firstChild = make([]int32, n+2)
	for q := range queues {
		p := queues[q].Parent
		if p < -1 || int(p) >= n {
			return &Error{Err: ErrParent, Queue: q, Resource: -1, Value: int64(p)}
		}
		if p == -1 {
			p = t.pool
		}
		t.parent[q] = p
		t.firstChild[p+1]++
	}
	for p := range n + 1 {
		t.firstChild[p+1] += t.firstChild[p]
	}
	t.children = make([]int32, n)
	next := append([]int32(nil), t.firstChild...)
	for q, p := range t.parent {
		t.children[next[p]] = int32(q)
		next[p]++
	}
	// Parents before children. What no walk from the pool reaches hangs on a
	// cycle.
	t.order = append(make([]int32, 0, n), t.childrenOf(t.pool)...)
	for i := 0; i < len(t.order); i++ {
		t.order = append(t.order, t.childrenOf(t.order[i])...)
	}
	if len(t.order) < n {
		return &Error{Err: ErrCycle, Queue: t.onCycle(), Resource: -1}
	}
	return nil
}

// onCycle returns the lowest queue of a cycle; there is one.
func (t *Tree) onCycle() int {
	reached := make([]bool, t.pool+1)
	reached[t.pool] = true
	for _, q := range t.order {
		reached[q] = true
	}
	q := int32(0)
	for reached[q] {
		q++
	}
	// As many steps up as there are queues end on the cycle; once round it
	// finds its lowest.
	for range t.parent {
		q = t.parent[q]
	}
	lowest := q
	for v := t.parent[q]; v != q; v = t.parent[v] {
		lowest = min(lowest, v)
	}
	return int(lowest)
}

// resolve fills in the bounds of resource r after Q1's defaults, and what is
// kept while nothing is in use (Q5), children before parents.
func (t *Tree) resolve(queues []Queue, r int) error {
	for i := len(t.order) - 1; i >= 0; i-- {
		q := t.order[i]
		var given Bounds
		if r < len(queues[q].Bounds) {
			given = queues[q].Bounds[r]
		}
		sum, ok := t.sumOfQuotas(q, r)
		if !ok {
			return &Error{Err: ErrOverflow, Queue: int(q), Resource: r}
		}
		cell := t.at(q, r)
		t.bounds[cell] = t.resolveBounds(r, given, sum)
		t.keeps[r] = t.keeps[r] || t.bounds[cell].reserve > 0
		below := &t.state[t.at(t.parent[q], r)].keptBelow
		if *below += t.kept(cell); *below > MaxSum {
			return &Error{Err: ErrOverflow, Queue: int(q), Resource: r, Value: t.bounds[cell].reserve}
		}
	}
	if _, ok := t.sumOfQuotas(t.pool, r); !ok {
		return &Error{Err: ErrOverflow, Queue: -1, Resource: r}
	}
	if t.keeps[r] {
		t.rememberKeptEmpty(r)
	}
	return nil
}

// resolveBounds applies Q1's defaults to one queue; sum is the sum of the quotas of
// its children.
func (t *Tree) resolveBounds(r int, given Bounds, sum int64) bound {
	b := bound{quota: Infinite, binds: Infinite, limit: orInfinite(given.Limit), borrowing: Infinite}
	b.ceiling = b.limit
	if !t.governed[r] {
		return b
	}
	b.quota = sum
	if given.Quota.Given() {
		b.quota = given.Quota.Amount()
	}
	if given.Quota.Given() || !t.givenOnly[r] {
		b.binds = b.quota
	}
	if borrow := orInfinite(given.Borrow); b.quota != Infinite && borrow != Infinite {
		// Two amounts of at most MaxSum stay below Infinite.
		b.borrowing = b.quota + borrow
		b.ceiling = min(b.limit, b.borrowing)
	}
	b.reserve = max(0, t.finite(b.quota, r)-orInfinite(given.Lend))
	return b
}

// sumOfQuotas is the sum of the quotas of p's children, Infinite if one is
// unlimited (or the resource under no quota). It is not ok if the others sum
// to more than MaxSum.
func (t *Tree) sumOfQuotas(p int32, r int) (sum int64, ok bool) {
	infinite := false
	for _, child := range t.childrenOf(p) {
		quota := t.bounds[t.at(child, r)].quota
		if quota == Infinite {
			infinite = true
		} else if sum += quota; sum > MaxSum {
			return 0, false
		}
	}
	if infinite {
		return Infinite, true
	}
	return sum, true
}

// orInfinite is a bound of which absent is none.
func orInfinite(b Bound) int64 {
	if !b.Given() {
		return Infinite
	}
	return b.Amount()
}
