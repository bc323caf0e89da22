package preempt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// drawGang is a scene of many nodes full of what runs in many queues, of one depth or not, and of
// a gang that reclaims.
func drawGang(draw func(n int) int) string {
	nodes := 7 + draw(5)
	var text strings.Builder
	fmt.Fprintf(&text, "nodes%s\nqueue a quota=%d\nqueue d\n", strings.Repeat(" 4", nodes), 6+draw(20))
	leaves := []string{"b", "c", "e", "f", "g", "h", "d/q", "d/r"}[:2+draw(7)]
	for _, leaf := range leaves {
		quota := draw(4)
		fmt.Fprintf(&text, "queue %s quota=%d share=%d\n", leaf, quota, quota+draw(2))
	}
	for n := range nodes {
		for at := 0; at < 3; at++ {
			if draw(9) == 0 {
				continue
			}
			gpu := []string{"1", "1", "1", "0.5", "2"}[draw(5)]
			if gpu == "2" {
				gpu = []string{"2", "2", "1"}[at]
			}
			unit := fmt.Sprintf("%s/j%d%d", leaves[draw(len(leaves))], n, at)
			fmt.Fprintf(&text, "run %s gpu=%s on=%d priority=%d admitted=%d lost=%d\n", unit, gpu, n, draw(3), draw(4), draw(3))
			if gpu == "2" {
				at++
			} else if at == 2 && draw(3) == 0 { // a step above it
				fmt.Fprintf(&text, "run %s+1 gpu=1 on=%d\n", unit, (n+1)%nodes)
			}
		}
	}
	if draw(3) == 0 {
		fmt.Fprintf(&text, "wait a/w gpu=%s", []string{"1", "2", "0.5"}[draw(3)])
	} else {
		fmt.Fprintf(&text, "wait a/w gpu=1 tasks=%d", nodes+draw(8))
	}
	return text.String()
}

// Whom a reclaim takes first on each node is found by looking at those who stand there (firsts),
// where no budget is shared; else by taking one after the other. A budget that is nobody's has the
// second be done, and changes nothing (M3).
func TestBudgetOfNobody(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		text := drawGang(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") })
		for _, mode := range []preempt.Mode{preempt.ReclaimByQuota, preempt.ReclaimByShare} {
			var names [2][]string
			for i, pool := range []string{"pool\n", "pool budgets=0\n"} {
				s := newScene(pool + text)
				p, _, ok := s.room.Find(s.preemptor, mode)
				if ok {
					found++
				}
				names[i] = namesOf(s, s.room, &p)
			}
			if !slices.Equal(names[0], names[1]) {
				t.Fatalf("mode %v takes %v, and with a budget of nobody %v\n%s", mode, names[0], names[1], text)
			}
		}
	})
	if found == 0 {
		t.Error("nobody was taken")
	}
}

// Whom a preemption takes on one node, and that all there are too few, is told by counting where nothing is leaving, else
// by taking one after the other, in the same steps (M8): that comes to the same, also where all may go that are of lower
// priority (E7), or queues are near their bounds (E8).
func TestOneNodeByCounting(t *testing.T) {
	found, vain := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		nodes := 2 + draw(7)
		var text strings.Builder
		fmt.Fprintf(&text, "nodes%s\nqueue a quota=%d share=%d\nqueue a/q quota=%d share=%d\n",
			strings.Repeat(" 4", nodes), draw(4*nodes), draw(4*nodes+4), draw(4*nodes), draw(4*nodes+4))
		for n := range nodes {
			for at := range 1 + draw(4) {
				gpu := []string{"1", "1", "1", "2", "0.5"}[draw(5)]
				if gpu == "2" && at == 3 {
					gpu = "1"
				}
				fmt.Fprintf(&text, "run a/q/j%d%d gpu=%s on=%d priority=%d admitted=%d lost=%d\n", n, at, gpu, n, draw(4), draw(4), draw(3))
				if gpu == "2" {
					break
				}
			}
		}
		fmt.Fprintf(&text, "wait a/q/w gpu=%d priority=%d", 1+draw(4), 1+draw(3))
		var told [2]string
		for i, still := range []bool{true, false} {
			s := newScene(text.String())
			s.preemptor.Still, s.room.Effort = still, placement.NewEffort(0)
			p, refusal, ok := s.room.Find(s.preemptor, preempt.Preempt)
			if ok {
				found++
			} else {
				vain++
			}
			told[i] = fmt.Sprint(namesOf(s, s.room, &p), refusal.Steps, s.room.Effort.Spent())
		}
		if told[0] != told[1] {
			t.Fatalf("takes %v, and by taking one after the other %v\n%s", told[0], told[1], text.String())
		}
	})
	if found == 0 || vain == 0 {
		t.Errorf("somebody was taken %d times, and nobody %d times", found, vain)
	}
}

// A node is not cleared where all on it would have to go in vain, which is counted (M8): neither who
// is enough alone is passed over for the others there, nor those who are just enough together (M3).
func TestWhoGoesOnOneNode(t *testing.T) {
	const singles = `
		run q/x1 gpu=1 on=4 admitted=5 | run q/x2 gpu=1 on=5 admitted=5
		run q/x3 gpu=1 on=6 admitted=5 | run q/x4 gpu=1 on=7 admitted=5`
	for _, c := range []struct {
		text   string
		others int // GPUs that others hold
		want   string
		why    string
	}{
		{`run q/y gpu=1 tasks=4 on=0,1,2,3 admitted=1 | run q/z gpu=1 tasks=4 on=0,1,2,3 admitted=1 priority=1`,
			0, "y", "one is enough, and fewer than four"},
		{`run q/y gpu=1 tasks=2 on=0,1 admitted=1 | run q/z gpu=1 tasks=2 on=0,2 admitted=2`,
			4, "z y", "two are just enough, and fewer than four"},
		{`run q/y gpu=1 tasks=2 on=0,1 admitted=1 | run q/z gpu=1 tasks=2 on=0,2 admitted=2 priority=1`,
			4, "x4 x3 x2 x1", "two of which one is of a higher priority"},
		{`run q/y gpu=1 on=0 admitted=1 | run q/z gpu=1 tasks=2 on=0,2 admitted=2`,
			5, "x4 x3 z", "two that are not enough, of whom one is with others"},
	} {
		var others strings.Builder
		for i := range c.others {
			fmt.Fprintf(&others, "\nrun other/o%d gpu=1", i)
		}
		s := newScene("nodes 2 2 2 2 1 1 1 1 | queue q quota=20 | queue other quota=4\n" + c.text + singles + others.String() +
			"\nwait q/w gpu=1 tasks=4 priority=2")
		if victims, _, _ := s.find(t, preempt.Preempt); strings.Join(victims, " ") != c.want {
			t.Errorf("%s: %v in place of %s", c.why, victims, c.want)
		}
	}
}
