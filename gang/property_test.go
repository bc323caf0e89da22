package gang_test

import (
	"flag"
	"math"
	"slices"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Each property looks at more cases than rapid's default; -rapid.checks still
// says otherwise.
func init() {
	if err := flag.Set("rapid.checks", "2000"); err != nil {
		panic(err)
	}
}

// build makes the gang of a definition that must be sound.
func build(t rapid.TB, d definition) *gang.Gang {
	t.Helper()
	g, err := gang.New(d.sets, d.groups)
	if err != nil {
		t.Fatalf("New: %v\n%v", err, d)
	}
	return g
}

// adds are all units.
func adds(g *gang.Gang, held []int32) [][]int32 {
	units, _ := g.Units(held, math.MaxInt)
	var out [][]int32
	for _, u := range units {
		out = append(out, u.Add)
	}
	return out
}

// TestUnitsAgainstRecursion: the units, their order included, are those of the
// plain recursive reading of G1–G3.
func TestUnitsAgainstRecursion(t *testing.T) {
	total, choices, above, nested := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := definitions(7).Draw(t, "gang")
		held := drawHeld(t, d)
		got, want := adds(build(t, d), held), d.units(held)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("units of\n%vheld %v (-want +got):\n%s", d, held, diff)
		}
		if !d.atMinimum(workload, held) && len(want) > 1 {
			choices++
		}
		if d.atMinimum(workload, held) && len(want) > 1 {
			above++
		}
		if slices.ContainsFunc(d.groups, func(g gang.Group) bool { return g.Parent >= 0 }) {
			nested++
		}
		total++
	})
	t.Logf("%d gangs: %d with choices, %d above the minimum, %d nested", total, choices, above, nested)
	if choices*20 < total || above*40 < total || nested*5 < total {
		t.Error("the generator covers too little")
	}
}

// TestUnitsAreMinimal (G1, G3): below the minimum every unit reaches it, no part
// of a unit does, and every smallest way to reach it is a unit or differs from
// one by an exchange of alike siblings. Checked against all vectors.
func TestUnitsAreMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := definitions(6).Draw(t, "gang")
		held := drawHeld(t, d)
		if d.atMinimum(workload, held) {
			t.Skip("at its minimum")
		}
		all := d.minimal(held)
		looks := make(map[string]bool)
		for _, u := range adds(build(t, d), held) {
			if !slices.ContainsFunc(all, func(a []int32) bool { return slices.Equal(a, u) }) {
				t.Fatalf("unit %v is not minimal\n%vheld %v", u, d, held)
			}
			looks[d.symmetric(workload, held, u)] = true
		}
		for _, a := range all {
			if !looks[d.symmetric(workload, held, a)] {
				t.Fatalf("no unit is like %v\n%vheld %v", a, d, held)
			}
		}
	})
}

// TestSmallTrees is TestUnitsAreMinimal and TestUnitsAgainstRecursion over every
// gang of one group that needs m of up to three children, each a set of one or
// two tasks or a group that needs m of two sets, with everything it may hold.
func TestSmallTrees(t *testing.T) {
	kinds := []func(d *definition){
		func(d *definition) { d.addSet(0, 1) },
		func(d *definition) { d.addSet(0, 2) },
		func(d *definition) { d.addPair(0, 1) },
		func(d *definition) { d.addPair(0, 2) },
	}
	cases := 0
	for n := 1; n <= 3; n++ {
		for code := range 1 << (2 * n) {
			for m := 1; m <= n; m++ {
				d := definition{groups: []gang.Group{{Parent: -1, Min: int32(m)}}}
				for c := range n {
					kinds[code/[]int{1, 4, 16}[c]%4](&d)
				}
				g := build(t, d)
				d.eachHeld(func(held []int32) {
					cases++
					compareSmall(t, d, g, held)
				})
			}
		}
	}
	t.Logf("%d cases", cases)
}

func (d *definition) addSet(parent, tasks int32) {
	d.sets = append(d.sets, gang.Set{Count: tasks, Min: tasks, Submitted: tasks, Parent: parent})
}

func (d *definition) addPair(parent, m int32) {
	d.groups = append(d.groups, gang.Group{Parent: parent, Min: m})
	d.addSet(int32(len(d.groups)-1), 1)
	d.addSet(int32(len(d.groups)-1), 1)
}

// eachHeld yields everything that the gang may hold.
func (d definition) eachHeld(yield func(held []int32)) {
	held := make([]int32, len(d.sets))
	for {
		yield(held)
		i := 0
		for ; i < len(held) && held[i] == d.sets[i].Submitted; i++ {
			held[i] = 0
		}
		if i == len(held) {
			return
		}
		held[i]++
	}
}

func compareSmall(t *testing.T, d definition, g *gang.Gang, held []int32) {
	t.Helper()
	got := adds(g, held)
	if diff := cmp.Diff(d.units(held), got); diff != "" {
		t.Fatalf("units of\n%vheld %v (-want +got):\n%s", d, held, diff)
	}
	if d.atMinimum(workload, held) {
		return
	}
	looks := make(map[string]bool)
	for _, u := range got {
		looks[d.symmetric(workload, held, u)] = true
	}
	all := d.minimal(held)
	for _, a := range all {
		if !looks[d.symmetric(workload, held, a)] {
			t.Fatalf("no unit is like %v\n%vheld %v", a, d, held)
		}
	}
	if len(got) > len(all) {
		t.Fatalf("%d units, %d ways\n%vheld %v", len(got), len(all), d, held)
	}
}

// TestUnitLaws: no unit exceeds what is submitted or is empty; no two are the
// same; a budget yields a prefix and says truly whether it cut; First is the
// first; a plan of units ends, at the minimum if the verdicts said so.
func TestUnitLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := definitions(8).Draw(t, "gang")
		held := drawHeld(t, d)
		g := build(t, d)
		if got, want := g.AtMinimum(held), d.atMinimum(workload, held); got != want {
			t.Fatalf("AtMinimum(%v) = %v, want %v\n%v", held, got, want, d)
		}
		if got, want := g.AboveMinimum(held), d.aboveMinimum(held); got != want {
			t.Fatalf("AboveMinimum(%v) = %v, want %v\n%v", held, got, want, d)
		}
		all, _ := g.Units(held, math.MaxInt)
		for i, u := range all {
			if u.Tasks() <= 0 {
				t.Fatalf("unit %d adds nothing", i)
			}
			for s, n := range u.Add {
				if n < 0 || n > 0 && held[s]+n > d.sets[s].Submitted {
					t.Fatalf("unit %v of held %v exceeds what is submitted\n%v", u, held, d)
				}
			}
			for _, other := range all[:i] {
				if slices.Equal(other.Add, u.Add) {
					t.Fatalf("unit %v twice\n%vheld %v", u, d, held)
				}
			}
		}
		budget := rapid.IntRange(0, len(all)+1).Draw(t, "budget")
		some, cut := g.Units(held, budget)
		if diff := cmp.Diff(all[:min(budget, len(all))], some); diff != "" && len(some) > 0 {
			t.Fatalf("budget %d: %s", budget, diff)
		}
		if len(some) != min(budget, len(all)) || cut != (budget < len(all)) {
			t.Fatalf("budget %d of %d units: %d, cut %v", budget, len(all), len(some), cut)
		}
		first, verdict := g.First(held)
		if verdict.OK != (len(all) > 0) || verdict.OK && !slices.Equal(first.Add, all[0].Add) {
			t.Fatalf("First = %v %+v, units %v", first, verdict, all)
		}
		checkVerdict(t, d, held, verdict)
	})
}

// checkVerdict holds a verdict against the oracle.
func checkVerdict(t *rapid.T, d definition, held []int32, v gang.Verdict) {
	switch v.Kind {
	case gang.None:
	case gang.Complete:
		if !d.atMinimum(workload, held) {
			t.Fatalf("Complete below the minimum\n%vheld %v", d, held)
		}
	case gang.NotSubmitted:
		s := d.sets[v.Set]
		if d.reachable(workload, held) || v.Have != s.Submitted || v.Need != s.Min || v.Have >= v.Need {
			t.Fatalf("%+v\n%vheld %v", v, d, held)
		}
	default:
		t.Fatalf("First says %v", v.Kind)
	}
}

// TestMendingNotSubmitted (X1): submitting what each verdict names, again and
// again, makes the gang startable, and every step mends what was named.
func TestMendingNotSubmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := definitions(7).Draw(t, "gang")
		for i := range d.sets {
			d.sets[i].Submitted = int32(rapid.IntRange(0, int(d.sets[i].Count)).Draw(t, "submitted"))
		}
		held := make([]int32, len(d.sets))
		for range len(d.sets) + 1 {
			_, v := build(t, d).First(held)
			if v.Kind != gang.NotSubmitted {
				return
			}
			d.sets[v.Set].Submitted = v.Need
		}
		t.Fatalf("mended every set, still not submitted\n%v", d)
	})
}

// TestStartToTheEnd (G1, G2): taking First again and again goes through the
// minimum to every submitted task of a gang that can reach its minimum.
func TestStartToTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := definitions(7).Draw(t, "gang")
		held := drawHeld(t, d)
		g := build(t, d)
		for {
			unit, v := g.First(held)
			if !v.OK {
				break
			}
			if wasAt := g.AtMinimum(held); wasAt && !g.AtMinimum(plus(held, unit.Add)) {
				t.Fatalf("a unit takes the gang below its minimum\n%vheld %v", d, held)
			}
			held = plus(held, unit.Add)
			if !d.atMinimum(workload, held) {
				t.Fatalf("a unit does not reach the minimum\n%vheld %v", d, held)
			}
		}
		if d.reachable(workload, held) && !d.atMinimum(workload, held) {
			t.Fatalf("ended below a minimum that is in reach\n%vheld %v", d, held)
		}
	})
}
