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

// drawMixedLife is a pool that is mostly full, of units of one device and of two, of several queues, some
// of them below one, some with steps above their minimum or with minimum runtimes.
func drawMixedLife(draw func(n int) int) string {
	var text strings.Builder
	nodes, size := 4+draw(6), 2+2*draw(2)
	text.WriteString("nodes" + strings.Repeat(fmt.Sprintf(" %d", size), nodes))
	if draw(5) == 0 {
		text.WriteString(" | pool spare")
	}
	text.WriteString("\n")
	leaves := []string{"a", "b", "c", "e", "d/q", "d/r"}
	for _, q := range slices.Insert(slices.Clone(leaves), 4, "d") {
		quota := draw(4)
		if q == "a" {
			quota = 3 + draw(6)
		}
		fmt.Fprintf(&text, "queue %s quota=%d share=%d\n", q, quota, quota+draw(3))
	}
	some, mixed := 2+draw(len(leaves)-1), draw(3)
	for n := range nodes {
		for k, left := 0, size; left > 0; k++ {
			gpu := 1
			if mixed > 0 && left >= 2 && draw(3) == 0 {
				gpu = 2
			}
			if left -= gpu; draw(10) == 0 {
				continue
			}
			work := fmt.Sprintf("%s/j%d%d", leaves[draw(some)], n, k)
			fmt.Fprintf(&text, "run %s gpu=%d on=%d priority=%d admitted=%d lost=%d", work, gpu, n, draw(3), draw(4), draw(3))
			if mixed > 1 && draw(12) == 0 {
				fmt.Fprintf(&text, " reclaim-from=%d preempt-from=%d", 998+draw(8), 998+draw(8))
			}
			if text.WriteString("\n"); mixed > 1 && left > 0 && draw(6) == 0 {
				left--
				fmt.Fprintf(&text, "run %s+1 gpu=1 on=%d priority=1 admitted=%d lost=%d\n", work, n, draw(4), draw(3))
			}
		}
	}
	fmt.Fprintf(&text, "wait a/w gpu=%d priority=%d like=4 tasks=%d", 1+draw(2), 1+draw(3), 1+draw(4))
	return text.String()
}

// decide asks a question that is a decision of its own: the answer is that of a new Evaluator, and
// counts no fewer steps.
func (l *life) decide(t fataler, mode preempt.Mode, text string) preempt.Proposal {
	want, steps := l.afresh(mode)
	l.room.Effort.Resume(0, true)
	mark := l.room.Mark()
	p, _, _ := l.room.Find(l.preemptor, mode)
	l.room.Undo(mark)
	if got := namesOf(l.scene, l.room, &p); !slices.Equal(got, want) {
		t.Fatal(fmt.Sprintf("mode %v takes %v, a new room %v\n%s", mode, got, want, text))
	}
	if spent := l.room.Effort.Spent(); spent < steps {
		t.Fatal(fmt.Sprintf("mode %v counts %d steps, a new room %d\n%s", mode, spent, steps, text))
	}
	return p
}

// tryWithout asks the question while somebody is gone, and takes that back.
func (l *life) tryWithout(t fataler, id preempt.UnitID, mode preempt.Mode, text string) {
	nodes, use, room, alive := l.index.Mark(), l.tree.Mark(), l.room.Mark(), slices.Clone(l.alive)
	if l.evict(t, id); !l.starts(l.request, l.preemptor.Add.Tasks()) {
		l.decide(t, mode, text)
	}
	l.index.Undo(nodes)
	l.tree.Undo(use)
	l.room.Undo(room)
	l.alive = alive
}

// An Evaluator answers as a new one whatever has happened since its last decision: victims have gone and
// others started, lines are drawn anew, time has passed, a unit is entered anew or gone, or that was only tried.
func TestMemoryOfWhatHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		mode, text := modes[draw(len(modes))], drawMixedLife(draw)
		l := lifeOf(text)
		l.room.Effort = placement.NewEffort(0)
		for range 12 {
			for l.starts(l.request, l.preemptor.Add.Tasks()) { // a question is asked where it does not start
				l.startWhoWaits(t)
			}
			p := l.decide(t, mode, text)
			if len(l.alive) == 0 {
				return
			}
			switch id := l.alive[draw(len(l.alive))]; draw(7) {
			case 0:
				l.redraw(draw)
			case 1:
				l.config.Now += int64(draw(3))
				l.room.SetNow(l.config.Now)
			case 2:
				u := *l.room.Unit(id)
				l.room.Forget(id)
				l.alive[slices.Index(l.alive, id)] = l.room.Add(u)
			case 3:
				l.tryWithout(t, id, mode, text)
			case 4:
				l.evict(t, id)
			default:
				for _, c := range p.Justifications {
					if mode != move {
						l.evict(t, c.Victim)
					}
				}
			}
		}
	})
}
