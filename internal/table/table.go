package table

import (
	"iter"
	"slices"
)

// A Table is a list of entries sorted by their keys, of which many versions live
// side by side: a change copies the pages on its path and shares all others
// with the version before it, and two versions are compared in time
// proportional to what differs between them. The zero Table is empty. Tables
// are values and are never modified, so they may be read by many goroutines.
// Two tables are == if they are one version.
type Table[T any] struct{ top *page[T] }

// PageSize is how many keys a page has at most. A change copies a page on each of
// log(n) levels: larger pages make each copy dearer, smaller ones the tree deeper
// and a search through it longer. With 64, three levels hold a quarter of a
// million entries, and a copied page of pointers is 512 bytes. A caller that makes the
// entries of a table may allocate as many together, for they are dropped together.
const PageSize = 64

// A page is a node of the tree: a leaf holds entries, any other page the pages
// below it. It is never written to once a table holds it.
type page[T any] struct {
	// keys ascend strictly and are 1 to PageSize: of a leaf's entries, or the
	// first one of each page below.
	keys    []string
	entries []*T       // of a leaf, one for each key, none nil
	below   []*page[T] // of any other page, one for each key, all equally deep
	size    int        // entries in the leaves at or below the page
}

// New makes a table of entries and their keys, which must be as many and ascend
// strictly. The table keeps both slices and the entries, which must not be written to
// any more. O(n).
func New[T any](keys []string, entries []*T) Table[T] {
	var pages []*page[T]
	for from := 0; from < len(keys); from += PageSize {
		to := min(from+PageSize, len(keys))
		pages = append(pages, &page[T]{keys: keys[from:to:to], entries: entries[from:to:to], size: to - from})
	}
	return rootOver(pages)
}

// rootOver is the table of the pages of one level: it puts pages above them until
// there is one.
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

// newInner is a page over others.
func newInner[T any](below []*page[T]) *page[T] {
	p := &page[T]{keys: make([]string, len(below)), below: below}
	for i, b := range below {
		p.keys[i] = b.keys[0]
		p.size += b.size
	}
	return p
}

// newLeaf is a page of entries.
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

// Beside returns the entries next to a key, whether or not the key is in the
// table; nil where there is none. O(log n).
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

// all is false if the loop was left.
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
