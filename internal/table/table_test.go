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

// TestRemoveAbsent: what is not there is not removed, and the version stays the
// same one.
func TestRemoveAbsent(t *testing.T) {
	t.Parallel()
	if empty := (Table[int]{}).Remove("a"); empty.Len() != 0 {
		t.Error("the empty table has something")
	}
	full, _ := numbered(3 * PageSize * PageSize)
	for _, key := range []string{"", "0000005", "zzz"} {
		if full.Remove(key) != full {
			t.Errorf("without %q it is another version", key)
		}
	}
	if full.Remove("000005") == full {
		t.Error("without one that is there it is the same version")
	}
}

// TestSharing: a change copies a page on each level and no more, which is what
// the costs of following versions rest on.
func TestSharing(t *testing.T) {
	t.Parallel()
	before, keys := numbered(3 * PageSize * PageSize)
	old := make(map[*page[int]]bool)
	visit(before.top, func(p *page[int]) { old[p] = true })
	one := 1
	for _, row := range []struct {
		name  string
		after Table[int]
		fresh int
	}{
		{"put in place", before.Put(keys[777], &one), 3},
		{"remove", before.Remove(keys[777]), 3},
		{"put between, which splits two full pages", before.Put(keys[777]+"x", &one), 5},
	} {
		fresh := 0
		visit(row.after.top, func(p *page[int]) {
			if !old[p] {
				fresh++
			}
		})
		if fresh != row.fresh {
			t.Errorf("%s makes %d pages of three levels, not %d", row.name, fresh, row.fresh)
		}
		if found := Differences(before, row.after); len(found) != 1 {
			t.Errorf("%s makes %d differences", row.name, len(found))
		}
	}
}

// TestAllStops: a loop over the entries may be left anywhere.
func TestAllStops(t *testing.T) {
	t.Parallel()
	full, _ := numbered(2 * PageSize * PageSize)
	for stop := range 3 * PageSize {
		seen := 0
		for range full.All() {
			if seen++; seen > stop {
				break
			}
		}
		if seen != stop+1 {
			t.Fatalf("seen %d, not %d", seen, stop+1)
		}
	}
}

// numbered is a table of n entries, and their keys.
func numbered(n int) (Table[int], []string) {
	keys, entries := make([]string, n), make([]*int, n)
	for i := range n {
		keys[i], entries[i] = fmt.Sprintf("%06d", i), &i
	}
	return New(keys, entries), keys
}

func visit(p *page[int], each func(*page[int])) {
	each(p)
	for _, b := range p.below {
		visit(b, each)
	}
}
