package preempt_test

import (
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/preempt"
)

// Moves beside victims (M10), against brute force over who goes and who moves.

// movesBeside is C1, M1 and M6 for the movers, once the victims have gone.
func (r *harmRun) movesBeside() bool {
	if !r.admitted(r.gone) || !r.withinBudgets(r.gone|r.movers) {
		return false
	}
	for _, u := range unitsOf(r.movers) {
		if v := &r.units[u]; v.nonPreemptible || !v.still || v.work == r.unit.work || r.above[u]&^(r.gone|r.movers) != 0 {
			return false
		}
	}
	return r.relocates(r.movers, r.gone)
}

// beside replays victims, none of them protected, beside which these move.
func (c *harmCase) beside(victims, movers uint32, kind harmKind, order harmVariant) *harmRun {
	r := &harmRun{harmCase: c, kind: kind, order: order, all: victims, movers: movers}
	for r.gone != victims {
		u := r.next(victims)
		if u < 0 {
			return nil
		}
		r.take(u)
	}
	if victims == 0 || !c.withinCap(victims|movers) || !r.lawful() {
		return nil
	}
	return r
}

// besideBy is a lawful way with these victims and at most k movers, nil if there is
// none.
func (c *harmCase) besideBy(victims uint32, kind harmKind, k int) *harmRun {
	others := (uint32(1)<<len(c.units) - 1) &^ victims
	for movers := others; movers != 0; movers = (movers - 1) & others {
		for _, order := range kind.variants() {
			if bits.OnesCount32(movers) > k {
				break
			}
			if r := c.beside(victims, movers, kind, order); r != nil {
				return r
			}
		}
	}
	return nil
}

// movesBesideIn says whether what is disturbed are victims, none of them superfluous, and
// others that may move beside them: as many as the policy lets.
func (c *harmCase) movesBesideIn(disturbed uint32, policy *allot.Policy) bool {
	k := 2
	switch {
	case policy.NoConsolidation:
		return false
	case policy.MaxRelocations.Given():
		k = int(policy.MaxRelocations.Amount())
	}
	c.staying = true // that the others find places so is lawful, not the procedure
	defer func() { c.staying = false }()
	for movers := (disturbed - 1) & disturbed; movers != 0; movers = (movers - 1) & disturbed {
		victims, with := disturbed&^movers, movers
		for _, u := range unitsOf(movers) {
			with |= c.above[u] &^ victims // what is above it moves with it (M6), and may come to where it was
		}
		if bits.OnesCount32(with) > k {
			continue
		}
		for _, kind := range c.kinds() {
			if kind == harmConsolidate || kind == harmBoth || !slices.ContainsFunc(kind.variants(), func(order harmVariant) bool {
				return c.beside(victims, with, kind, order) != nil
			}) {
				continue
			}
			if !slices.ContainsFunc(unitsOf(victims), func(u int) bool { return c.besideBy(victims&^(1<<u), kind, k) != nil }) {
				return true
			}
		}
	}
	return false
}

// TestMovesBesideVictims: where victims alone serve nobody, whoever goes and whoever
// moves may, nobody goes for nothing, nobody who goes is protected, and where brute force
// knows a way one is found.
func TestMovesBesideVictims(t *testing.T) {
	counts, shown := make(map[string]int), make(map[string]int)
	for seed := range deep.Seeds(t, 6000) {
		source := rand.New(rand.NewPCG(seed, 31))
		mode, k := []preempt.Mode{byQuota, byShare, lower}[source.IntN(3)], 1+source.IntN(2)
		text := drawScene(source.IntN, mode)
		s := newScene(text)
		c := s.model(mode)
		c.staying = true
		if len(s.nodes) == 1 || c.starts(0) {
			continue
		}
		if victims, _, _ := s.find(t, mode); victims != nil {
			continue // without moves
		}
		s.preemptor.Relocations = k
		names, p, _ := s.find(t, mode)
		verdict := s.judgeBeside(c, names, &p, k)
		if counts[verdict]++; verdict != harmNothing && verdict != harmSame {
			if shown[verdict]++; shown[verdict] <= *harmShow {
				t.Logf("seed %d: %s: takes %v of at most %d movers\n%s", seed, verdict, names, k, text)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-40s %6d", name, counts[name])
	}
	rooms := counts[harmSame] + counts[harmMissed]
	if counts[harmUnlawful]+counts[harmSpare] > 0 || counts[harmMissed]*100 > rooms {
		t.Errorf("%d unlawful, %d superfluous, %d missed of %d", counts[harmUnlawful], counts[harmSpare], counts[harmMissed], rooms)
	}
	if rooms < 30 && !testing.Short() {
		t.Errorf("only %d with moves", rooms)
	}
}

// TestNothingProtectedGoesBesideMoves: where units may move, nothing that is protected
// goes, of the preemptor's own leaf neither (M10, R11).
func TestNothingProtectedGoesBesideMoves(t *testing.T) {
	s := newScene(`
		nodes 2 2 | queue a quota=2 | queue b quota=1 | queue c quota=1
		run a/l gpu=1 on=0 | run c/p gpu=1 on=0 | run b/x gpu=1 on=1 | run b/y gpu=1 on=1
		wait a/w gpu=2 priority=2`)
	s.preemptor.Relocations = 1
	if victims, _, _ := s.find(t, both); victims != nil {
		t.Errorf("takes %v", victims)
	}
}

// judgeBeside says what is to be said of an answer with moves.
func (s *scene) judgeBeside(c *harmCase, names []string, p *preempt.Proposal, k int) string {
	kind := c.only[0]
	var going, moving []string
	for i, one := range p.Justifications {
		if one.Moves {
			moving = append(moving, names[i])
		} else {
			going = append(going, names[i])
		}
	}
	victims, movers := s.set(c, going), s.set(c, moving)
	if len(names) == 0 {
		for set := uint32(1); set < 1<<len(c.units); set++ {
			if r := c.besideBy(set, kind, k); r != nil {
				return harmMissed
			}
		}
		return harmNothing
	}
	if victims == 0 {
		return "moves alone"
	}
	lawful := slices.ContainsFunc(kind.variants(), func(order harmVariant) bool {
		return c.beside(victims, movers, kind, order) != nil
	})
	switch {
	case movers == 0:
		return "without moves after all"
	case !lawful || len(moving) > k || bits.OnesCount32(victims|movers) != len(names):
		return harmUnlawful
	}
	for _, u := range unitsOf(victims) {
		if c.besideBy(victims&^(1<<u), kind, k) != nil {
			return harmSpare
		}
	}
	return harmSame
}
