package table

import "slices"

// Put is the table with the entry under its key, in place of one that may be
// there. The table keeps the entry, which must not be nil. O(log n).
func (t Table[T]) Put(key string, e *T) Table[T] {
	if t.top == nil {
		return Table[T]{newLeaf([]string{key}, []*T{e})}
	}
	top, more := t.top.put(key, e)
	if more != nil {
		top = newInner([]*page[T]{top, more})
	}
	return Table[T]{top}
}

// put returns the page that takes the place of p, and the one behind it where it has become two.
func (p *page[T]) put(key string, e *T) (q, more *page[T]) {
	i, found := slices.BinarySearch(p.keys, key)
	if p.below == nil {
		if found {
			entries := slices.Clone(p.entries)
			entries[i] = e
			return newLeaf(p.keys, entries), nil
		}
		return splitLeaf(inserted(p.keys, i, key), inserted(p.entries, i, e))
	}
	if !found {
		i = max(i-1, 0)
	}
	one, two := p.below[i].put(key, e)
	return splitInner(p.with(i, i+1, one, two))
}

// splitLeaf makes one leaf, or two halves where the entries are too many for one.
func splitLeaf[T any](keys []string, entries []*T) (p, more *page[T]) {
	n := len(keys)
	if n <= PageSize {
		return newLeaf(keys, entries), nil
	}
	m := n / 2
	return newLeaf(keys[:m:m], entries[:m:m]), newLeaf(keys[m:], entries[m:])
}

// splitInner is the page, or its two halves where it has grown too large.
func splitInner[T any](p *page[T]) (q, more *page[T]) {
	n := len(p.below)
	if n <= PageSize {
		return p, nil
	}
	return newInner(p.below[: n/2 : n/2]), newInner(p.below[n/2:])
}

// with is p with one page or two, or none, in place of those from one index to another. It
// looks at no others: most of what is not looked at is not in the processor's
// caches.
func (p *page[T]) with(from, to int, one, two *page[T]) *page[T] {
	by := make([]*page[T], 0, 2)
	for _, b := range [...]*page[T]{one, two} {
		if b != nil {
			by = append(by, b)
		}
	}
	q := &page[T]{keys: p.keys, below: replaced(p.below, from, to, by...), size: p.size}
	for _, b := range p.below[from:to] {
		q.size -= b.size
	}
	same := len(by) == to-from
	for i, b := range by {
		q.size += b.size
		same = same && b.keys[0] == p.keys[from+i]
	}
	if !same {
		keys := make([]string, 0, 2)
		for _, b := range by {
			keys = append(keys, b.keys[0])
		}
		q.keys = replaced(p.keys, from, to, keys...)
	}
	return q
}

// Remove is the table without the key: the same version if it is not there.
// O(log n).
func (t Table[T]) Remove(key string) Table[T] {
	if t.top == nil {
		return t
	}
	top := t.top.remove(key)
	for top != nil && len(top.below) == 1 {
		top = top.below[0]
	}
	return Table[T]{top}
}

// remove returns the page that takes the place of p: nil if nothing is left, p
// itself if the key is not in it.
func (p *page[T]) remove(key string) *page[T] {
	i, found := slices.BinarySearch(p.keys, key)
	if !found && (p.below == nil || i == 0) {
		return p
	}
	if p.below == nil {
		if len(p.keys) == 1 {
			return nil
		}
		return newLeaf(replaced(p.keys, i, i+1), replaced(p.entries, i, i+1))
	}
	if !found {
		i--
	}
	left := p.below[i].remove(key)
	if left == p.below[i] {
		return p
	}
	if left == nil {
		if len(p.below) == 1 {
			return nil
		}
		return p.with(i, i+1, nil, nil)
	}
	// Pages that have become small are joined, so that a table that shrinks
	// does not keep the pages of its largest version. They are joined only up to
	// half a page: a page that is nearly full would soon be split again.
	if i > 0 && len(left.keys)+len(p.below[i-1].keys) <= PageSize/2 {
		return p.with(i-1, i+1, joined(p.below[i-1], left), nil)
	}
	if i+1 < len(p.below) && len(left.keys)+len(p.below[i+1].keys) <= PageSize/2 {
		return p.with(i, i+2, joined(left, p.below[i+1]), nil)
	}
	return p.with(i, i+1, left, nil)
}

// joined is one page of what two neighbours of one level have.
func joined[T any](a, b *page[T]) *page[T] {
	if a.below == nil {
		return newLeaf(slices.Concat(a.keys, b.keys), slices.Concat(a.entries, b.entries))
	}
	return newInner(slices.Concat(a.below, b.below))
}

// inserted is a copy of the list with one more in it.
func inserted[E any](list []E, at int, e E) []E { return replaced(list, at, at, e) }

// replaced is a copy of the list with others in place of those from one index to
// another.
func replaced[E any](list []E, from, to int, by ...E) []E {
	out := make([]E, 0, len(list)-(to-from)+len(by))
	out = append(out, list[:from]...)
	out = append(out, by...)
	return append(out, list[to:]...)
}
