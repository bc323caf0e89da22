package queue

import (
	"slices"
	"testing"

	"github.com/google/btree"
	"pgregory.net/rapid"
)

// TestPending: whatever comes in bulk, comes later, comes back and goes, from
// the front or not, the leaf is the set of what waits, and its first is O1's.
func TestPending(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pending
		spare := btree.NewFreeListG[Item](4)
		var waits []Item
		t.Repeat(map[string]func(*rapid.T){
			"fill": func(t *rapid.T) {
				items := rapid.SliceOfN(rapid.Custom(drawItem), 0, 150).Draw(t, "items")
				p.fill(items)
				for _, it := range items {
					if !slices.Contains(waits, it) {
						waits = append(waits, it)
					}
				}
			},
			"push": func(t *rapid.T) {
				it := drawItem(t)
				waited := slices.Contains(waits, it)
				if p.push(it, spare) == waited {
					t.Fatalf("push(%v) = %v", it, waited)
				}
				if !waited {
					waits = append(waits, it)
				}
			},
			"remove": func(t *rapid.T) {
				it := drawItem(t)
				if len(waits) > 0 && rapid.Bool().Draw(t, "waits") {
					it = rapid.SampledFrom(waits).Draw(t, "item")
				}
				i := slices.Index(waits, it)
				if p.remove(it) != (i >= 0) {
					t.Fatalf("remove(%v) = %v", it, i < 0)
				}
				if i >= 0 {
					waits = slices.Delete(waits, i, i+1)
				}
			},
			"remove firsts": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "firsts") {
					if it, ok := p.first(); ok {
						p.remove(it)
						waits = slices.DeleteFunc(waits, func(w Item) bool { return w == it })
					}
				}
			},
			"clear": func(t *rapid.T) {
				p.clear()
				waits = nil
			},
			"": func(t *rapid.T) {
				it, ok := p.first()
				if ok != (len(waits) > 0) || p.len() != len(waits) {
					t.Fatalf("first() = %v, %v and len() = %d with %d waiting", it, ok, p.len(), len(waits))
				}
				if ok && it != slices.MinFunc(waits, Item.Compare) {
					t.Fatalf("first() = %v of %v", it, waits)
				}
			},
		})
		var drained []Item
		for it, ok := p.first(); ok; it, ok = p.first() {
			drained = append(drained, it)
			p.remove(it)
		}
		slices.SortFunc(waits, Item.Compare)
		if !slices.Equal(drained, waits) {
			t.Fatalf("drained %v, want %v", drained, waits)
		}
	})
}
