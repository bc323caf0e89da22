package table

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTable holds versions of a table against maps: what is in them, their
// order, and what differs between any two.
func TestTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Few keys make many changes of the same one; many make several levels.
		keys := rapid.SampledFrom([]int{3, 100, 5000, 300_000}).Draw(t, "keys")
		start := make(map[string]*int)
		for range rapid.IntRange(0, min(keys, 20_000)).Draw(t, "start") / 2 {
			n := len(start) * 7
			start[fmt.Sprintf("%06d", n%keys)] = &n
		}
		versions := []Table[int]{tableOfMap(start)}
		models := []map[string]*int{start}
		for range rapid.IntRange(0, 20).Draw(t, "versions") {
			from := rapid.IntRange(0, len(versions)-1).Draw(t, "from")
			table, model := versions[from], maps.Clone(models[from])
			for range rapid.IntRange(0, 200).Draw(t, "changes") {
				n := rapid.IntRange(0, keys-1).Draw(t, "key")
				key := fmt.Sprintf("%06d", n)
				if model[key] != nil && rapid.Bool().Draw(t, "remove") {
					table = table.Remove(key)
					delete(model, key)
				} else {
					table = table.Put(key, &n)
					model[key] = &n
				}
			}
			versions, models = append(versions, table), append(models, model)
		}
		for i, table := range versions {
			checkTable(t, table, models[i])
			for j := range versions {
				checkDifferences(t, table, versions[j], models[i], models[j])
			}
		}
	})
}

func tableOfMap(m map[string]*int) Table[int] {
	keys := slices.Sorted(maps.Keys(m))
	entries := make([]*int, len(keys))
	for i, key := range keys {
		entries[i] = m[key]
	}
	return New(keys, entries)
}

func checkTable(t *rapid.T, table Table[int], model map[string]*int) {
	keys := slices.Sorted(maps.Keys(model))
	if table.Len() != len(keys) {
		t.Fatalf("len is %d of %d", table.Len(), len(keys))
	}
	i := 0
	for e := range table.All() {
		if e != model[keys[i]] {
			t.Fatalf("entry %d is not that of %s", i, keys[i])
		}
		i++
	}
	for _, key := range append(keys, "", "0000005", "zzz") {
		if table.Get(key) != model[key] {
			t.Fatalf("get %q is not the model's", key)
		}
	}
	for _, key := range append(keys, "", "0000005", "zzz") {
		i, there := slices.BinarySearch(keys, key)
		var before, after *int
		if i > 0 {
			before = model[keys[i-1]]
		}
		if there {
			i++
		}
		if i < len(keys) {
			after = model[keys[i]]
		}
		if x, y := table.Beside(key); x != before || y != after {
			t.Fatalf("beside %q stand others than in the model", key)
		}
	}
	checkPages(t, table.top, true)
}

// checkPages checks the shape of the tree, on which its costs rest.
func checkPages(t *rapid.T, p *page[int], top bool) (height int) {
	if p == nil {
		if !top {
			t.Fatal("an empty page")
		}
		return 0
	}
	if len(p.keys) == 0 || len(p.keys) > PageSize || len(p.entries) > 0 && len(p.below) > 0 {
		t.Fatalf("a page of %d keys", len(p.keys))
	}
	size := len(p.entries)
	for i, b := range p.below {
		h := checkPages(t, b, false) + 1
		if i > 0 && h != height {
			t.Fatal("leaves at several heights")
		}
		if p.keys[i] != b.keys[0] {
			t.Fatalf("key %q above a page from %q", p.keys[i], b.keys[0])
		}
		height, size = h, size+b.size
	}
	if size != p.size {
		t.Fatalf("size %d of %d", p.size, size)
	}
	return height
}

func checkDifferences(t *rapid.T, a, b Table[int], x, y map[string]*int) {
	all := maps.Clone(x)
	maps.Copy(all, y)
	var want []Difference[int]
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if x[key] != y[key] {
			want = append(want, Difference[int]{x[key], y[key]})
		}
	}
	if got := Differences(a, b); !slices.Equal(got, want) {
		t.Fatalf("%d differences, not %d", len(got), len(want))
	}
}
