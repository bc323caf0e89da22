package table

// A Difference is one entry that two versions of a table do not share: before
// is nil for one that came, after for one that went.
type Difference[T any] struct{ Before, After *T }

// Differences lists what b has otherwise than a, by key. Entries are the same if
// they are the same pointer. Pages that both tables have are not looked into, so
// it takes O(d log n) for the d pages that differ, and O(n) for two tables that
// were not made from one another.
//
// It goes down both trees level by level and drops at each level the pages that
// stand on both sides; what is left are leaves, which it merges.
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

// lower is the level below pages of one level.
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

// leafDifferences merges two lists of leaves.
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
	pages []*page[T] // the first is where the cursor stands
	at    int        // in the first page; always in range
}

// now is the entry at the cursor, nil behind the last one.
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
