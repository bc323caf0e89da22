package preempt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot/internal/deep"
)

// What nodes cost one preemption is known to the next of another priority where the same units are below both, and it
// is known where none serves: whoever asks next, of whatever priority, is answered as by a new Evaluator. Its queue
// is mostly within what is guaranteed to it, so that E7 and E8 ask of it for nothing else.
func TestMemoryOfPriorities(t *testing.T) {
	for seed := range deep.Seeds(t, 600) {
		random := rand.New(rand.NewPCG(seed, 18))
		text := drawPriorities(random)
		l := lifeOf(text)
		for range 14 {
			for l.starts(l.request, l.preemptor.Add.Tasks()) { // a question is asked where it does not start
				l.startWhoWaits(t)
			}
			next := *l.preemptor
			next.Priority = int32(random.IntN(6))
			l.preemptor = &next
			want, _ := l.afresh(lower)
			p, _, ok := l.room.Find(l.preemptor, lower)
			if got := namesOf(l.scene, l.room, &p); !slices.Equal(got, want) {
				t.Fatalf("seed %d: of priority %d it takes %v, in a new room %v\n%s", seed, next.Priority, got, want, text)
			}
			switch {
			case ok && random.IntN(4) > 0:
				for _, c := range p.Justifications {
					l.evict(t, c.Victim)
				}
			case len(l.alive) > 0 && random.IntN(4) == 0:
				l.evict(t, l.alive[random.IntN(len(l.alive))])
			}
		}
	}
}

// drawPriorities is a pool of nodes full of units of a few priorities.
func drawPriorities(random *rand.Rand) string {
	var text strings.Builder
	nodes := 6 + random.IntN(4)
	text.WriteString("nodes" + strings.Repeat(" 2", nodes))
	if random.IntN(2) == 0 {
		text.WriteString(" | pool priority")
	}
	guaranteed := 2 * nodes
	if random.IntN(4) == 0 {
		guaranteed = 2 + random.IntN(6)
	}
	fmt.Fprintf(&text, " | queue a quota=%d share=%d | queue b\n", guaranteed, guaranteed)
	for n := range nodes {
		for half := range 2 {
			fmt.Fprintf(&text, "run %s/j%d%d gpu=1 on=%d priority=%d admitted=%d lost=%d\n",
				[]string{"a", "a", "b"}[random.IntN(3)], n, half, n, 2*random.IntN(3), random.IntN(4), random.IntN(3))
		}
	}
	fmt.Fprintf(&text, "wait a/w gpu=%d priority=%d like=4", 1+random.IntN(2), 1+random.IntN(3))
	return text.String()
}
