package preempt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/allotsched/allot/placement"
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
