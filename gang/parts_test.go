package gang

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// partsOf are parts that take so many; a negative number is one apart.
func partsOf(takes ...int64) (parts []part) {
	for _, n := range takes {
		parts = append(parts, part{takes: max(n, -n), free: max(n, -n), apart: n < 0})
	}
	return parts
}

// given is what each part is given.
func given(parts []part) (n []int64) {
	for i := range parts {
		n = append(n, parts[i].n)
	}
	return n
}

// T5: the fewest domains, the fullest of those that take the rest; the knob takes
// the least room first.
func TestPackTable(t *testing.T) {
	for _, test := range []struct {
		takes, pack, least []int64
		n                  int64
	}{
		{n: 7, takes: []int64{3, 3, 2, 1}, pack: []int64{3, 3, 0, 1}, least: []int64{3, 1, 2, 1}},
		{n: 9, takes: []int64{3, 3, 2, 1}, pack: []int64{3, 3, 2, 1}, least: []int64{3, 3, 2, 1}},
		{n: 2, takes: []int64{3, 3, 2, 1}, pack: []int64{0, 0, 2, 0}, least: []int64{0, 0, 1, 1}},
		{n: 3, takes: []int64{4, 3, 3}, pack: []int64{0, 3, 0}, least: []int64{0, 3, 0}},
		{n: 5, takes: []int64{4, 9, 8}, pack: []int64{0, 0, 5}, least: []int64{4, 0, 1}},
		{n: 12, takes: []int64{4, 9, 8}, pack: []int64{3, 9, 0}, least: []int64{4, 0, 8}},
		// What lacks the level comes last, however much it takes; where it is needed, in as
		// few parts as take all with it.
		{n: 3, takes: []int64{2, 1, -9}, pack: []int64{2, 1, 0}, least: []int64{2, 1, 0}},
		{n: 4, takes: []int64{2, 1, -9}, pack: []int64{0, 0, 4}, least: []int64{2, 1, 1}},
		{n: 10, takes: []int64{2, 1, -9}, pack: []int64{2, 0, 8}, least: []int64{2, 1, 7}},
		{n: 6, takes: []int64{3, 2, -3, -2}, pack: []int64{3, 0, 3, 0}, least: []int64{3, 2, 0, 1}},
		{n: 5, takes: []int64{3, 1, -3, -2}, pack: []int64{3, 0, 0, 2}, least: []int64{3, 1, 0, 1}},
		{n: 2, takes: []int64{1, 1, -9, -2}, pack: []int64{1, 1, 0, 0}, least: []int64{1, 1, 0, 0}},
		{n: 4, takes: []int64{1, 1, -9, -2}, pack: []int64{0, 0, 4, 0}, least: []int64{1, 1, 0, 2}},
		{n: 5, takes: []int64{-2, -9, -3}, pack: []int64{0, 5, 0}, least: []int64{2, 0, 3}},
	} {
		packed, least := partsOf(test.takes...), partsOf(test.takes...)
		pack(packed, test.n)
		leastFree(least, test.n)
		if !slices.Equal(given(packed), test.pack) {
			t.Errorf("T5: pack of %d on %v = %v, want %v", test.n, test.takes, given(packed), test.pack)
		}
		if !slices.Equal(given(least), test.least) {
			t.Errorf("T5: least free first of %d on %v = %v, want %v", test.n, test.takes, given(least), test.least)
		}
	}
}

// Of those that take as much in whole slices the one with the least free besides is
// taken: the fullest.
func TestPackFullest(t *testing.T) {
	parts := []part{{takes: 4, free: 7}, {takes: 4, free: 5}, {takes: 8, free: 8}}
	if pack(parts, 4); !slices.Equal(given(parts), []int64{0, 4, 0}) {
		t.Errorf("pack = %v", given(parts))
	}
}

// drawParts draws parts that take units of so many, and a number of tasks that they
// take together.
func drawParts(t *rapid.T) (parts []part, n, unit int64) {
	unit = rapid.Int64Range(1, 3).Draw(t, "unit")
	total := int64(0)
	for range rapid.IntRange(1, 6).Draw(t, "parts") {
		takes := unit * rapid.Int64Range(1, 5).Draw(t, "takes")
		parts = append(parts, part{takes: takes, free: takes + rapid.Int64Range(0, 2).Draw(t, "besides")})
		total += takes
	}
	return parts, unit * rapid.Int64Range(1, total/unit).Draw(t, "units"), unit
}

// checkGiven checks that all tasks are given, in whole units, to parts that take
// them, and returns how many are used.
func checkGiven(t *rapid.T, parts []part, n, unit int64) (used int) {
	total := int64(0)
	for _, p := range parts {
		if p.n < 0 || p.n > p.takes || p.n%unit != 0 {
			t.Fatalf("%d of %d is given, in units of %d", p.n, p.takes, unit)
		}
		if p.n > 0 {
			used++
		}
		total += p.n
	}
	if total != n {
		t.Fatalf("%d of %d tasks are given: %v", total, n, given(parts))
	}
	return used
}

// fewestOf is the least number of parts of which some choice takes n tasks.
func fewestOf(parts []part, n int64) int {
	fewest := len(parts) + 1
	for choice := range 1 << len(parts) {
		takes, used := int64(0), 0
		for i, p := range parts {
			if choice>>i&1 == 1 {
				takes, used = takes+p.takes, used+1
			}
		}
		if takes >= n {
			fewest = min(fewest, used)
		}
	}
	return fewest
}

// T5: pack uses as few parts as any choice of them, and leaves the largest whole
// where one is enough; least free first leaves none with less room unused.
func TestPackAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, n, unit := drawParts(t)
		fewest := fewestOf(parts, n)
		if got := packed(parts, n); got != fewest || slices.Max(given(parts)) != 0 {
			t.Fatalf("T5: packed(%d) = %d of %+v, %d are enough", n, got, parts, fewest)
		}
		used := pack(parts, n)
		if got := checkGiven(t, parts, n, unit); got != fewest || used != fewest {
			t.Fatalf("T5: pack of %d uses %d and says %d of %+v, %d are enough", n, got, used, parts, fewest)
		}
		last := slices.IndexFunc(parts, func(p part) bool { return p.n > 0 && p.n < p.takes })
		for i, p := range parts {
			// Whatever is not filled is the fullest that would have done.
			if last >= 0 && p.n == 0 && p.takes >= parts[last].n &&
				(p.takes < parts[last].takes || p.takes == parts[last].takes && p.free < parts[last].free) {
				t.Fatalf("T5: pack gives %d to %+v, part %d is fuller: %+v", parts[last].n, parts[last], i, parts)
			}
		}
		for i := range parts {
			parts[i].n = 0
		}
		leastFree(parts, n)
		checkGiven(t, parts, n, unit)
		for _, p := range parts {
			for _, q := range parts {
				if p.n < p.takes && q.n > 0 && p.takes < q.takes {
					t.Fatalf("T5: least free first passes %+v by for %+v", p, q)
				}
			}
		}
	})
}

// ascending is what the parts are given, the smallest first.
func ascending(parts []part) []int64 {
	all := given(parts)
	slices.Sort(all)
	return all
}

// eachGift calls f with every way to give n tasks to the parts in units.
func eachGift(parts []part, n, unit int64, f func()) {
	if len(parts) == 0 {
		if n == 0 {
			f()
		}
		return
	}
	for parts[0].n = 0; parts[0].n <= min(n, parts[0].takes); parts[0].n += unit {
		eachGift(parts[1:], n-parts[0].n, unit, f)
	}
}

// T2: even parts are the best of all by the smallest, then the next one.
func TestEvenAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, n, unit := drawParts(t)
		n = min(n, 12*unit)
		best := make([]int64, len(parts))
		eachGift(parts, n, unit, func() {
			if got := ascending(parts); slices.Compare(got, best) > 0 {
				best = got
			}
		})
		even(mostRoom(parts, len(parts)), n, unit)
		checkGiven(t, parts, n, unit)
		if got := ascending(parts); !slices.Equal(got, best) {
			t.Fatalf("T2: even parts of %d on %+v are %v, could be %v", n, parts, got, best)
		}
	})
}

// difference is by how much the largest part that is given something exceeds the
// smallest, in units, and how many there are.
func difference(parts []part, unit int64) (most, used int64) {
	var sizes []int64
	for _, n := range ascending(parts) {
		if n > 0 {
			sizes = append(sizes, n/unit)
		}
	}
	return sizes[len(sizes)-1] - sizes[0], int64(len(sizes))
}

// T2: Pack takes the fewest parts, Spread as many as there are tasks or parts. Balance
// takes the fewest even ones, which differ by a unit at most, and where there are none
// those with the smallest difference, of all ways to part the tasks; even parts leave
// those with the most room whole.
func TestShare(t *testing.T) {
	even, uneven := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		parts, n, unit := drawParts(t)
		n = min(n, 12*unit)
		w := &search{Placer: &Placer{}}
		for mode, want := range map[Mode]int{Pack: fewestOf(parts, n), Spread: min(len(parts), int(n/unit))} { // in any order
			for i := range parts {
				parts[i].n = 0
			}
			if !w.share(parts, n, unit, mode) {
				t.Fatalf("T2: %v does not share %d among %+v", mode, n, parts)
			}
			if got := checkGiven(t, parts, n, unit); got != want {
				t.Fatalf("T2: %v of %d uses %d of %+v, want %d", mode, n, got, parts, want)
			}
		}
		for i := range parts {
			parts[i].n = 0
		}
		if !w.share(parts, n, unit, Balance) {
			t.Fatalf("T2: balance does not share %d among %+v", n, parts)
		}
		checkGiven(t, parts, n, unit)
		gave, room := given(parts), int64(0) // of those that are used
		for i := range parts {
			if parts[i].n > 0 {
				room += parts[i].takes
			}
		}
		rank := func() [3]int64 {
			d, used := difference(parts, unit)
			if d > 1 {
				return [3]int64{d, used, 0}
			}
			return [3]int64{0, used, d}
		}
		got := rank()
		best, least := got, room
		eachGift(parts, n, unit, func() {
			one, used := rank(), int64(0)
			for i := range parts {
				if parts[i].n > 0 {
					used += parts[i].takes
				}
			}
			if c := slices.Compare(one[:], best[:]); c < 0 || c == 0 && used < least {
				best, least = one, used
			}
		})
		if got != best || got[0] == 0 && room != least {
			t.Fatalf("T2: balance of %d on %+v gives %v: %v with room for %d, could be %v and %d", n, parts, gave, got, room, best, least)
		}
		if got[0] == 0 {
			even++
		} else {
			uneven++
		}
		total := int64(0)
		for i := range parts {
			total += parts[i].takes
		}
		if w.share(parts, total+unit, unit, Pack) {
			t.Fatal("more is shared than all take")
		}
	})
	if t.Logf("%d even, %d not", even, uneven); !testing.Short() && (even < 200 || uneven < 50) {
		t.Error("the generator covers too little")
	}
}

// Parts that lack the level get something only where the others are not enough.
func TestShareApart(t *testing.T) {
	for _, mode := range []Mode{Pack, Balance, Spread} {
		for _, least := range []bool{false, true} {
			w := &search{Placer: &Placer{LeastFreeFirst: least}}
			parts := partsOf(2, 2, -5)
			if !w.share(parts, 4, 1, mode) || parts[2].n != 0 {
				t.Errorf("%v gives %v", mode, given(parts))
			}
			parts = partsOf(2, 2, -5)
			if !w.share(parts, 5, 1, mode) || parts[2].n == 0 {
				t.Errorf("%v gives %v of 5", mode, given(parts))
			}
		}
	}
}

// T2, T5: with parts that lack the level pack uses those that have it alone where they
// take all, and else as few parts as any choice, and of these as few that lack it.
func TestPackApartAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, n, unit := drawParts(t)
		for i := range parts {
			parts[i].apart = rapid.IntRange(0, 2).Draw(t, "apart") == 0
		}
		slices.SortStableFunc(parts, func(a, b part) int { return apartLast(&a, &b) })
		proper := int64(0)
		for i := range parts {
			if !parts[i].apart {
				proper += parts[i].takes
			}
		}
		pack(parts, n)
		used, apart := checkGiven(t, parts, n, unit), 0
		for i := range parts {
			if parts[i].apart && parts[i].n > 0 {
				apart++
			}
		}
		if proper >= n {
			if apart > 0 {
				t.Fatalf("T2: pack of %d uses what lacks the level: %+v", n, parts)
			}
			return
		}
		few, fewApart := fewestOf(parts, n), len(parts)
		for choice := range 1 << len(parts) {
			takes, lack := int64(0), 0
			for i, p := range parts {
				if choice>>i&1 == 1 {
					takes += p.takes
					if p.apart {
						lack++
					}
				}
			}
			if takes >= n && bits.OnesCount(uint(choice)) == few {
				fewApart = min(fewApart, lack)
			}
		}
		if used != few || apart != fewApart {
			t.Fatalf("T2: pack of %d uses %d, of which %d lack the level, of %+v; %d and %d are enough", n, used, apart, parts, few, fewApart)
		}
	})
}

// Rooms of CPU-only tasks go up to 2^31 on each of a million nodes: sums do not
// overflow.
func TestHugeRooms(t *testing.T) {
	for _, mode := range []Mode{Pack, Balance, Spread} {
		parts := slices.Repeat(partsOf(1<<31-1), 1_000)
		for i := range parts {
			parts[i].takes <<= 10
		}
		w := &search{Placer: &Placer{}}
		if !w.share(parts, MaxTasks, 1, mode) {
			t.Errorf("%v does not share %d", mode, MaxTasks)
		}
		total := int64(0)
		for i := range parts {
			total += parts[i].n
		}
		if total != MaxTasks {
			t.Errorf("%v gives %d", mode, total)
		}
	}
}

// P8 (row D19): one node, else idle ones of the largest size that divides, or mixed from
// the largest on.
func TestFitting(t *testing.T) {
	nodes := func(takes ...int32) (list []fitted) {
		for i, n := range takes {
			list = append(list, fitted{node: int32(i), takes: n, idle: true})
		}
		return list
	}
	show := func(chosen []fitted) string {
		out := ""
		for _, f := range chosen {
			out += fmt.Sprint(f.takes, " ")
		}
		return out
	}
	if got := show(ofOneSize(nodes(8, 7, 7, 4, 4, 4, 4), 16)); got != "4 4 4 4 " {
		t.Errorf("D19: 16 on 8,7,7,4,4,4,4: %s", got)
	}
	if got := show(mixed(nodes(8, 6, 4), 12)); got != "8 4 " {
		t.Errorf("D19: 12 on 8,6,4, heterogeneous: %s", got)
	}
	if got := show(ofOneSize(nodes(8, 8, 8), 12)); got != "" {
		t.Errorf("D19: 12 on three 8: %s", got)
	}
	if got := show(mixed(nodes(8, 8, 8), 12)); got != "" {
		t.Errorf("P8: 12 on three 8, heterogeneous: %s", got)
	}
	if got := show(mixed(nodes(6, 4, 4), 8)); got != "" {
		t.Errorf("P8: greedy takes the 6 first, a rest of 2 remains: %s", got)
	}
}

// P8: the largest size that divides, of which there are enough.
func TestOfOneSizeAgainstAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		takes := rapid.SliceOfN(rapid.Int32Range(1, 8), 0, 10).Draw(t, "nodes")
		slices.Sort(takes)
		slices.Reverse(takes)
		var nodes []fitted
		for i, n := range takes {
			nodes = append(nodes, fitted{int32(i), n, true})
		}
		n := rapid.Int32Range(1, 24).Draw(t, "tasks")
		size, count := int32(0), 0
		for try := int32(1); try <= 8; try++ {
			have := 0
			for _, f := range takes {
				if f == try {
					have++
				}
			}
			if n%try == 0 && have >= int(n/try) {
				size, count = try, int(n/try)
			}
		}
		got := ofOneSize(nodes, n)
		if len(got) != count || count > 0 && (got[0].takes != size || got[count-1].takes != size) {
			t.Fatalf("P8: %d on %v: %v, want %d of %d", n, takes, got, count, size)
		}
		rest := n
		for _, f := range takes {
			if f <= rest {
				rest -= f
			}
		}
		if got := mixed(nodes, n); (got != nil) != (rest == 0) {
			t.Fatalf("P8: %d on %v mixed: %v, the rest is %d", n, takes, got, rest)
		}
	})
}
