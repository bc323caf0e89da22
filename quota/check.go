package quota

// A ShortfallKind says which rule a [Shortfall] is about. The zero kind is no
// shortfall.
type ShortfallKind uint8

const (
	// OverLimit: use + request > limit (Q3).
	OverLimit ShortfallKind = iota + 1
	// OverBorrowing: use + request > quota + borrowing limit (Q3).
	OverBorrowing
	// OverQuota: non-preemptible use + request > quota (Q2).
	OverQuota
	// Kept: the start would take what another queue keeps from lending (Q5).
	Kept
	// Malformed: the queue or the amounts are not of this tree.
	Malformed
)

// String returns a stable name.
func (k ShortfallKind) String() string {
	switch k {
	case OverLimit:
		return "limit"
	case OverBorrowing:
		return "borrowing-limit"
	case OverQuota:
		return "quota"
	case Kept:
		return "kept-from-lending"
	case Malformed:
		return "malformed"
	default:
		return "none"
	}
}

// A Shortfall is one reason why a request may not start. Amounts are in the
// resource's unit. The zero Shortfall is none.
type Shortfall struct {
	Kind ShortfallKind
	// Queue is the queue of which it is the bound: the request's or one above it; for
	// Kept the queue beside them that keeps, the nearest and of these the
	// one that keeps most.
	Queue    int
	Resource int
	// Have is what is left under the bound; negative where more is in use. For
	// Kept it is what is left beside all that the others keep.
	Have int64
	// Need is the request, more than Have.
	Need int64
}

// Check reports whether a may start in q by Q2, Q3 and Q5: ok and the zero
// Shortfall, or the first shortfall from q upward; in one queue by resource, then
// limit, borrowing limit, quota; lending last. Only resources that a names are
// looked at, so nil amounts are always ok.
//
// By Q5 a start must leave free what the queues beside q's path keep. There is
// one exception, for more kept than there is free: within what its own path
// keeps q may start nevertheless, as that is no borrowing; otherwise two queues
// that keep more than the capacity (Q7) would lock each other out of an idle
// pool.
//
// O(depth × len(a)) without allocation; a refusal by lending also looks at the
// siblings, to name the keeper.
func (t *Tree) Check(q int, a Amounts, nonPreemptible bool) (s Shortfall, ok bool) {
	if uint(q) >= uint(len(t.parent)) || !a.valid(t.resources) {
		return Shortfall{Kind: Malformed, Queue: q, Resource: -1}, false
	}
	binds := nonPreemptible && t.quotaBinds
	for v := int32(q); v != t.pool; v = t.parent[v] {
		row := t.at(v, 0)
		bounds, states := t.bounds[row:row+t.resources], t.state[row:row+t.resources]
		for _, x := range a {
			b, s := &bounds[x.Resource], &states[x.Resource]
			if x.Value > b.ceiling-s.use || binds && x.Value > b.binds-s.nonPreemptible {
				return t.firstShortfall(v, x, *s, binds), false
			}
		}
	}
	if t.keptEmpty == nil {
		return Shortfall{}, true
	}
	for _, x := range a {
		if s, ok := t.checkKept(int32(q), x); !ok {
			return s, false
		}
	}
	return Shortfall{}, true
}

// Shortfalls appends every shortfall to dst, in Check's order: none if Check is
// ok. O(depth × len(a)), and the siblings where lending refuses.
func (t *Tree) Shortfalls(dst []Shortfall, q int, a Amounts, nonPreemptible bool) []Shortfall {
	if uint(q) >= uint(len(t.parent)) || !a.valid(t.resources) {
		return append(dst, Shortfall{Kind: Malformed, Queue: q, Resource: -1})
	}
	if _, ok := t.Check(q, a, nonPreemptible); ok { // as mostly
		return dst
	}
	binds := nonPreemptible && t.quotaBinds
	for v := int32(q); v != t.pool; v = t.parent[v] {
		for _, x := range a {
			dst = t.appendShortfalls(dst, v, x, t.state[t.at(v, int(x.Resource))], binds)
		}
	}
	for _, x := range a {
		if s, ok := t.checkKept(int32(q), x); !ok {
			dst = append(dst, s)
		}
	}
	return dst
}

// Never reports whether Q2 or Q3 would refuse a even if nothing were in use: not
// ok, with the first such shortfall from q upward, if the request is larger than
// a quota or limit and so can never start. Have is then the whole bound.
// O(depth × len(a)) without allocation.
func (t *Tree) Never(q int, a Amounts, nonPreemptible bool) (s Shortfall, ok bool) {
	if uint(q) >= uint(len(t.parent)) || !a.valid(t.resources) {
		return Shortfall{Kind: Malformed, Queue: q, Resource: -1}, false
	}
	binds := nonPreemptible && t.quotaBinds
	for v := int32(q); v != t.pool; v = t.parent[v] {
		for _, x := range a {
			b := &t.bounds[t.at(v, int(x.Resource))]
			if x.Value > b.ceiling || binds && x.Value > b.binds {
				return t.firstShortfall(v, x, state{}, binds), false
			}
		}
	}
	return Shortfall{}, true
}

// firstShortfall is the first of appendShortfalls; there is one.
func (t *Tree) firstShortfall(v int32, x Amount, in state, binds bool) Shortfall {
	var room [3]Shortfall // one of each kind at most, so that nothing is allocated
	return t.appendShortfalls(room[:0], v, x, in, binds)[0]
}

// appendShortfalls appends what queue v alone has against x by Q3 and, if it
// binds, Q2, with the use given.
func (t *Tree) appendShortfalls(dst []Shortfall, v int32, x Amount, in state, binds bool) []Shortfall {
	b := &t.bounds[t.at(v, int(x.Resource))]
	short := Shortfall{Queue: int(v), Resource: int(x.Resource), Need: x.Value}
	if short.Have = b.limit - in.use; short.Need > short.Have {
		short.Kind = OverLimit
		dst = append(dst, short)
	}
	if short.Have = b.borrowing - in.use; short.Need > short.Have {
		short.Kind = OverBorrowing
		dst = append(dst, short)
	}
	if short.Have = b.binds - in.nonPreemptible; binds && short.Need > short.Have {
		short.Kind = OverQuota
		dst = append(dst, short)
	}
	return dst
}

// checkKept is Q5 for one resource.
func (t *Tree) checkKept(q int32, x Amount) (s Shortfall, ok bool) {
	r := int(x.Resource)
	if !t.keeps[r] {
		return Shortfall{}, true
	}
	have := t.roomBesideKept(q, r)
	if x.Value <= have {
		return Shortfall{}, true
	}
	return Shortfall{Kind: Kept, Queue: int(t.keeperBeside(q, r)), Resource: r, Have: have, Need: x.Value}, false
}
