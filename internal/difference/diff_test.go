package difference

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/allotsched/allot/internal/cluster"
	"pgregory.net/rapid"
)

// M11: match continues as many rows as can be, the first of each set, leaves whoever has
// a place where it is, and gives every task an index of its own.
func TestM11Match(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := func(index int32) cluster.TaskPlace {
			return cluster.TaskPlace{
				Set: 0, Index: index, Node: rapid.Int32Range(0, 2).Draw(t, "node"),
				Devices: 1 << rapid.IntRange(0, 3).Draw(t, "device"),
			}
		}
		var before []rowBefore
		for i := range rapid.Int32Range(0, 6).Draw(t, "before") {
			before = append(before, rowBefore{TaskPlace: place(i), ran: rapid.Bool().Draw(t, "ran")})
		}
		var after []rowAfter
		for i := range rapid.Int32Range(0, 6).Draw(t, "after") {
			after = append(after, rowAfter{TaskPlace: place(i), before: cluster.None})
		}
		match(before, after)
		ran, home, could := 0, 0, 0
		left := make(map[cluster.Standing]int)
		for b := range before {
			if before[b].ran && ran < len(after) {
				ran++
				left[before[b].Where()]++
			}
		}
		for a := range after {
			if left[after[a].Where()] > 0 {
				left[after[a].Where()]--
				could++
			}
		}
		continued := make(map[int32]bool)
		used := make(map[int32]bool)
		for a := range after {
			row := &after[a]
			if used[row.Index] {
				t.Fatalf("index %d is given twice: %v", row.Index, after)
			}
			used[row.Index] = true
			if row.before == cluster.None {
				continue
			}
			if b := &before[row.before]; continued[row.before] || row.Index != b.Index || !b.ran && b.Where() != row.Where() {
				t.Fatalf("row %v continues %v", *row, *b)
			} else if b.ran {
				ran--
				if b.Where() == row.Where() {
					home++
				}
			}
			continued[row.before] = true
		}
		if ran != 0 || home != could {
			t.Fatalf("%d of what ran are not continued, %d of %d stay:\n%v\n%v", ran, home, could, before, after)
		}
	})
}

// M11: restoreDevices exchanges devices of a class one for one, gives back what runs on
// whole devices before and after, and touches nothing that is fixed.
func TestM11Devices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const devices = 8
		alike := make([]int32, devices)
		for d := range alike {
			if alike[d] = int32(d); rapid.Bool().Draw(t, "alike") {
				alike[d] = alike[slices.Index(alike, alike[rapid.IntRange(0, d).Draw(t, "to")])]
			}
		}
		order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "order")
		before := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "before")
		var rows []deviceRow
		for at := 0; at < devices; {
			n := min(devices-at, rapid.IntRange(1, 3).Draw(t, "width"))
			row := deviceRow{}
			for i := at; i < at+n; i++ {
				row.now |= 1 << order[i]
				row.had |= 1 << before[i]
			}
			if !rapid.Bool().Draw(t, "ran") {
				row.had = 0
			}
			rows = append(rows, row)
			at += n
		}
		to := restoreDevices(rows, alike)
		seen := make(map[int32]bool)
		for d, name := range to {
			if seen[name] || alike[name] != alike[d] {
				t.Fatalf("device %d of class %d goes by the name of %d of class %d: %v", d, alike[d], name, alike[name], to)
			}
			seen[name] = true
		}
		classes := func(set uint64) (list []int32) {
			for rest := set; rest != 0; rest &= rest - 1 {
				list = append(list, alike[bits.TrailingZeros64(rest)])
			}
			slices.Sort(list)
			return list
		}
		for _, r := range rows {
			if r.had != 0 && slices.Equal(classes(r.now), classes(r.had)) && cluster.Renamed(r.now, to) != r.had {
				t.Fatalf("%b could have %b again and has %b: %v", r.now, r.had, cluster.Renamed(r.now, to), rows)
			}
		}
	})
}

// M11: sequence loses no move, cuts only what is in a circle, and lets each wait only for
// what comes before it or is cut.
func TestM11Sequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 7).Draw(t, "moves")
		waits, cost := make([][]int32, n), make([]int64, n)
		for i := range waits {
			cost[i] = rapid.Int64Range(0, 2).Draw(t, "cost")
			for other := range int32(n) {
				if other != int32(i) && rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
					waits[i] = append(waits[i], other)
				}
			}
		}
		order, cut := sequence(waits, cost)
		gone := make(map[int32]bool)
		for _, i := range cut {
			if gone[i] = true; !reaches(waits, i, i, make(map[int32]bool)) {
				t.Fatalf("%d is in no circle of %v", i, waits)
			}
		}
		for _, i := range order {
			for _, other := range waits[i] {
				if !gone[other] {
					t.Fatalf("%d comes before %d: %v, cut %v", i, other, order, cut)
				}
			}
			if gone[i] {
				t.Fatalf("%d comes twice: %v, cut %v", i, order, cut)
			}
			gone[i] = true
		}
		if len(gone) != n {
			t.Fatalf("%v and %v are not all of %d", order, cut, n)
		}
	})
}

// reaches says whether one of the moves waits for another, be it by way of others.
func reaches(waits [][]int32, from, to int32, seen map[int32]bool) bool {
	for _, next := range waits[from] {
		if next == to || !seen[next] && func() bool { seen[next] = true; return reaches(waits, next, to, seen) }() {
			return true
		}
	}
	return false
}

// M11: a chain goes on from whoever has lost what was taken for it, and ends with one
// that holds something.
func TestM11Attribute(t *testing.T) {
	taken := []tookFrom{
		{loser: 0, gainer: 1, commit: 1, next: 0},
		{loser: 1, gainer: 2, commit: 2, next: 1},
		{loser: 2, gainer: 3, commit: 3, moves: true, next: 3},
		{loser: 2, gainer: 4, commit: 4, next: 2},
	}
	for _, c := range []struct {
		fates []fate // by workload
		want  []int32
	}{
		{[]fate{1: holdsIt, 2: holdsNothing, 4: holdsNothing}, []int32{0}},
		{[]fate{1: holdsNothing, 2: holdsIt, 4: holdsIt}, []int32{0, 1}},
		{[]fate{1: holdsNothing, 2: holdsNothing, 4: holdsIt}, []int32{0, 1, 3}},
		{[]fate{1: holdsOther, 2: holdsNothing, 4: holdsNothing}, []int32{0}},
		{[]fate{1: staysHome, 2: holdsOther, 4: holdsNothing}, []int32{0, 1}},
		{[]fate{1: holdsOther, 2: staysHome, 4: holdsNothing}, []int32{0}}, // who stays starts nothing (M2)
	} {
		last := func(loser int32) int32 {
			for at, one := range slices.Backward(taken) {
				if one.loser == loser {
					return int32(at)
				}
			}
			return cluster.None
		}
		got := attribute(nil, 0, func(at int32) tookFrom { return taken[at] }, last, func(work, _ int32) fate { return c.fates[work] })
		if !slices.Equal(got, c.want) {
			t.Errorf("fates %v: chain %v, want %v", c.fates, got, c.want)
		}
	}
}
