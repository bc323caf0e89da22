package table

import (
	"iter"
	"slices"
)

// A Table is a list of entries sorted by their keys, of which many versions live
// side by side: a change copies the pages on its path and shares all others
// with the version before it, and two versions are compared in time
// proportional to what differs between them. The zero table is empty. Tables
// are values and are never modified, so they may be read by many goroutines.
type Table[T any] struct{ top *page[T] }

// PageSize is how many entries a page has at most. A change copies a page on
// each of log(n) levels: larger pages make that dearer, smaller ones deeper.
const PageSize = 64

// A page is a node of the tree: a leaf holds entries, any other page the pages
// below it. keys are the IDs of the entries, or the first ones of those pages.
type page[T any] struct {
	keys    []string
	entries []*T
	below   []*page[T]
	size    int // entries in the leaves below
}

// New makes a table of entries that are sorted by distinct keys. The table
// keeps the entries; nobody may write to them any more.
func New[T any](keys []string, entries []*T) Table[T] {
	var pages []*page[T]
	for from := 0; from < len(keys); from += PageSize {
		to := min(from+PageSize, len(keys))
		pages = append(pages, &page[T]{keys: keys[from:to:to], entries: entries[from:to:to], size: to - from})
	}
	return rootOver(pages)
}

// rootOver puts pages of one level under as few roots as it takes: one.
func rootOver[T any](pages []*page[T]) Table[T] {
	for len(pages) > 1 {
		var above []*page[T]
		for group := range slices.Chunk(pages, PageSize) {
			above = append(above, newInner(group))
		}
		pages = above
	}
	if len(pages) == 0 {
		return Table[T]{}
	}
	return Table[T]{pages[0]}
}

func newInner[T any](below []*page[T]) *page[T] {
	p := &page[T]{keys: make([]string, len(below)), below: below}
	for i, b := range below {
		p.keys[i] = b.keys[0]
		p.size += b.size
	}
	return p
}

// with is p with other pages in place of some. It looks at no others: most of
// what is not looked at is not in the processor's caches.
func (p *page[T]) with(from, to int, by ...*page[T]) *page[T] {
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
		keys := make([]string, len(by))
		for i, b := range by {
			keys[i] = b.keys[0]
		}
		q.keys = replaced(p.keys, from, to, keys...)
	}
	return q
}

func newLeaf[T any](keys []string, entries []*T) *page[T] {
	return &page[T]{keys: keys, entries: entries, size: len(keys)}
}

// Len is the number of entries. O(1).
func (t Table[T]) Len() int {
	if t.top == nil {
		return 0
	}
	return t.top.size
}

// Get returns the entry of the key, nil if there is none. O(log n).
func (t Table[T]) Get(key string) *T {
	for p := t.top; p != nil; {
		i, found := slices.BinarySearch(p.keys, key)
		switch {
		case p.below == nil && found:
			return p.entries[i]
		case p.below == nil || i == 0 && !found:
			return nil
		case found:
			p = p.below[i]
		default:
			p = p.below[i-1]
		}
	}
	return nil
}

// Beside returns the entries next to a key, nil where there is none. O(log n).
func (t Table[T]) Beside(key string) (before, after *T) {
	var left, right *page[T] // the nearest pages beside the path
	p := t.top
	for p != nil {
		i, found := slices.BinarySearch(p.keys, key)
		if p.below == nil {
			if i > 0 {
				before = p.entries[i-1]
			}
			if found {
				i++
			}
			if i < len(p.entries) {
				after = p.entries[i]
			}
			break
		}
		if !found {
			i = max(i-1, 0)
		}
		if i > 0 {
			left = p.below[i-1]
		}
		if i+1 < len(p.below) {
			right = p.below[i+1]
		}
		p = p.below[i]
	}
	if before == nil && left != nil {
		for ; left.below != nil; left = left.below[len(left.below)-1] {
		}
		before = left.entries[len(left.entries)-1]
	}
	if after == nil && right != nil {
		for ; right.below != nil; right = right.below[0] {
		}
		after = right.entries[0]
	}
	return before, after
}

// All yields the entries in the order of their keys.
func (t Table[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		if t.top != nil {
			t.top.all(yield)
		}
	}
}

func (p *page[T]) all(yield func(*T) bool) bool {
	for _, e := range p.entries {
		if !yield(e) {
			return false
		}
	}
	for _, b := range p.below {
		if !b.all(yield) {
			return false
		}
	}
	return true
}

// Put is the table with the entry under its key, in place of one that may be
// there. The table keeps the entry. O(log n).
func (t Table[T]) Put(key string, e *T) Table[T] {
	if t.top == nil {
		return Table[T]{newLeaf([]string{key}, []*T{e})}
	}
	return rootOver(t.top.put(key, e))
}

// put returns the one or two pages that take the place of p.
func (p *page[T]) put(key string, e *T) []*page[T] {
	i, found := slices.BinarySearch(p.keys, key)
	if p.below == nil {
		if found {
			entries := slices.Clone(p.entries)
			entries[i] = e
			return []*page[T]{newLeaf(p.keys, entries)}
		}
		return splitLeaf(inserted(p.keys, i, key), inserted(p.entries, i, e))
	}
	if !found {
		i = max(i-1, 0)
	}
	return splitInner(p.with(i, i+1, p.below[i].put(key, e)...))
}

func splitLeaf[T any](keys []string, entries []*T) []*page[T] {
	n := len(keys)
	if n <= PageSize {
		return []*page[T]{newLeaf(keys, entries)}
	}
	m := n / 2
	return []*page[T]{newLeaf(keys[:m:m], entries[:m:m]), newLeaf(keys[m:], entries[m:])}
}

func splitInner[T any](p *page[T]) []*page[T] {
	n := len(p.below)
	if n <= PageSize {
		return []*page[T]{p}
	}
	return []*page[T]{newInner(p.below[: n/2 : n/2]), newInner(p.below[n/2:])}
}

// Remove is the table without the key; it must be there. O(log n).
func (t Table[T]) Remove(key string) Table[T] {
	top := t.top.remove(key)
	for top != nil && len(top.below) == 1 {
		top = top.below[0]
	}
	return Table[T]{top}
}

// remove returns the page that takes the place of p, nil if nothing is left.
func (p *page[T]) remove(key string) *page[T] {
	i, found := slices.BinarySearch(p.keys, key)
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
	if left == nil {
		if len(p.below) == 1 {
			return nil
		}
		return p.with(i, i+1)
	}
	// Pages that have become small go together, so that a table that shrinks
	// does not keep the pages of its best days.
	if i > 0 && left.length()+p.below[i-1].length() <= PageSize/2 {
		return p.with(i-1, i+1, joined(p.below[i-1], left))
	}
	if i+1 < len(p.below) && left.length()+p.below[i+1].length() <= PageSize/2 {
		return p.with(i, i+2, joined(left, p.below[i+1]))
	}
	return p.with(i, i+1, left)
}

// length is the number of entries or pages in the page itself.
func (p *page[T]) length() int { return len(p.keys) }

func joined[T any](a, b *page[T]) *page[T] {
	if a.below == nil {
		return newLeaf(slices.Concat(a.keys, b.keys), slices.Concat(a.entries, b.entries))
	}
	return newInner(slices.Concat(a.below, b.below))
}

// inserted and replaced are copies of a list with a change.
func inserted[E any](list []E, at int, e E) []E { return replaced(list, at, at, e) }

func replaced[E any](list []E, from, to int, by ...E) []E {
	out := make([]E, 0, len(list)-(to-from)+len(by))
	out = append(out, list[:from]...)
	out = append(out, by...)
	return append(out, list[to:]...)
}

// A Difference is one entry that two versions of a table do not share: before
// is nil for one that came, after for one that went.
type Difference[T any] struct{ Before, After *T }

// Differences lists what b has otherwise than a, by key. Pages that both have
// are not looked into, so it takes time in what differs, times log n; for two
// tables that were not made from one another, in both.
func Differences[T any](a, b Table[T]) []Difference[T] {
	if a.top == b.top {
		return nil
	}
	left, right := []*page[T]{a.top}, []*page[T]{b.top}
	if a.top == nil {
		left = nil
	}
	if b.top == nil {
		right = nil
	}
	for {
		x, y := height(left), height(right)
		if x == 0 && y == 0 {
			return leafDifferences(left, right)
		}
		if x >= y {
			left = lower(left)
		}
		if y >= x {
			right = lower(right)
		}
		left, right = unshared(left, right)
	}
}

// height is how many levels are below pages of one level.
func height[T any](pages []*page[T]) (n int) {
	if len(pages) == 0 {
		return 0
	}
	for p := pages[0]; p.below != nil; p = p.below[0] {
		n++
	}
	return n
}

func lower[T any](pages []*page[T]) (below []*page[T]) {
	if len(pages) == 1 {
		return pages[0].below
	}
	for _, p := range pages {
		below = append(below, p.below...)
	}
	return below
}

// unshared leaves out the pages that are in both lists.
func unshared[T any](a, b []*page[T]) (x, y []*page[T]) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) <= 1 || len(b) <= 1 {
		return a, b
	}
	in := make(map[*page[T]]bool, len(a))
	for _, p := range a {
		in[p] = true
	}
	for _, p := range b {
		if in[p] {
			in[p] = false // what stays true is in a alone
		} else {
			y = append(y, p)
		}
	}
	for _, p := range a {
		if in[p] {
			x = append(x, p)
		}
	}
	return x, y
}

func leafDifferences[T any](left, right []*page[T]) (out []Difference[T]) {
	x, y := cursor[T]{pages: left}, cursor[T]{pages: right}
	for {
		a, before := x.now()
		b, after := y.now()
		switch {
		case before == nil && after == nil:
			return out
		case after == nil || before != nil && a < b:
			out = append(out, Difference[T]{Before: before})
			x.next()
		case before == nil || b < a:
			out = append(out, Difference[T]{After: after})
			y.next()
		default:
			if before != after {
				out = append(out, Difference[T]{before, after})
			}
			x.next()
			y.next()
		}
	}
}

// A cursor walks the entries of leaves.
type cursor[T any] struct {
	pages []*page[T]
	at    int
}

func (c *cursor[T]) now() (string, *T) {
	if len(c.pages) == 0 {
		return "", nil
	}
	return c.pages[0].keys[c.at], c.pages[0].entries[c.at]
}

func (c *cursor[T]) next() {
	if c.at++; c.at == len(c.pages[0].keys) {
		c.pages, c.at = c.pages[1:], 0
	}
}
