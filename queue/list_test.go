package queue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A List is a set of items of which the first by O1 is known.
func TestListIsASortedSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var list List
		var model []Item
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			it := Item{
				Priority: rapid.Int32Range(0, 2).Draw(t, "priority"), Submitted: rapid.Int64Range(0, 2).Draw(t, "submitted"),
				Rank: rapid.Int64Range(0, 1).Draw(t, "rank"), ID: rapid.Int32Range(0, 2).Draw(t, "id"),
			}
			at, there := slices.BinarySearchFunc(model, it, Item.Compare)
			if rapid.Bool().Draw(t, "remove") {
				if list.Remove(it) != there {
					t.Fatalf("Remove(%v) is not %v", it, there)
				}
				if there {
					model = slices.Delete(model, at, at+1)
				}
			} else {
				if list.Push(it) == there {
					t.Fatalf("Push(%v) is %v", it, there)
				}
				if !there {
					model = slices.Insert(model, at, it)
				}
			}
			first, some := list.First()
			if list.Len() != len(model) || some != (len(model) > 0) || some && first != model[0] {
				t.Fatalf("%d items from %v, want %v", list.Len(), first, model)
			}
		}
	})
}
