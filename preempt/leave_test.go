package preempt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// What goes nowhere makes no room: of a cluster full of gangs none is tried that no node
// takes, nor where too few do, and a question that finds no room costs no more than a look
// at the nodes.
func TestGangsThatGoNowhere(t *testing.T) {
	const gangs, full = 14, 2*14 + 2
	for free := range 3 {
		text := "nodes" + strings.Repeat(" 2", full+free) + " | queue a quota=58 | queue b | queue c quota=58"
		for g := range gangs {
			text += fmt.Sprintf(" | run c/g%d gpu=2 tasks=2 on=%d,%d", g, 2*g, 2*g+1)
		}
		for n := 2 * gangs; n < full; n++ {
			text += fmt.Sprintf(" | run b/x%d gpu=1 on=%d | run c/f%d gpu=1 on=%d fixed", n, n, n, n)
		}
		l := lifeOf(text + fmt.Sprintf(" | wait a/w gpu=2 tasks=%d", free+1))
		l.preemptor.Relocations = 2
		effort := placement.NewEffort(0)
		l.room.Effort = effort
		if _, _, found := l.room.Find(l.preemptor, byQuota); found {
			t.Fatalf("%d free nodes: somebody moves", free)
		}
		if spent := effort.Spent(); spent > 1000 {
			t.Errorf("%d free nodes: %d steps", free, spent)
		}
	}
}

// A gang that has a node to itself leaves it where victims make room for its tasks, one by one
// on other nodes, and of many that might move nobody else does (M10): no bound has it stay (M8).
func TestGangThatGoesSomewhere(t *testing.T) {
	const others = 14
	text := "nodes" + strings.Repeat(" 2", 3+others) + " | queue a quota=2 | queue b | queue c quota=60 | run c/g gpu=1 tasks=2 on=0,0"
	for n := 1; n < 3+others; n++ {
		text += fmt.Sprintf(" | run c/f%d gpu=1 on=%d fixed", n, n)
		if n < 3 {
			text += fmt.Sprintf(" | run b/x%d gpu=1 on=%d", n, n)
		} else {
			text += fmt.Sprintf(" | run c/m%d gpu=1 on=%d", n, n)
		}
	}
	l := lifeOf(text + " | wait a/w gpu=2")
	l.preemptor.Relocations = 1
	proposal, _, found := l.room.Find(l.preemptor, byQuota)
	if !found || len(proposal.Justifications) != 3 || !proposal.Justifications[2].Moves {
		t.Fatalf("found %t, %+v", found, proposal.Justifications)
	}
}

// Who finds nothing since the search has cost too much is told so, beside moves too (M8).
func TestCutIsTold(t *testing.T) {
	told := 0
	for seed := range uint64(3000) {
		source := rand.New(rand.NewPCG(seed, 37))
		mode := []preempt.Mode{byQuota, byShare, lower}[source.IntN(3)]
		s := newScene(drawScene(source.IntN, mode))
		s.preemptor.Relocations = source.IntN(3)
		effort := placement.NewEffort(1)
		s.room.Effort = effort
		_, refusal, found := s.room.Find(s.preemptor, mode)
		if refusal.Cut {
			told++
		}
		if !found && effort.Cut() != refusal.Cut {
			t.Errorf("seed %d: cut %t, told %t", seed, effort.Cut(), refusal.Cut)
		}
	}
	if told < 20 {
		t.Errorf("only %d were cut", told)
	}
}
