package preempt_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/preempt"
)

// rest is how far everything that is journaled was.
type rest struct {
	alive                     []preempt.UnitID
	works                     int
	preemptor                 *preempt.Preemptor
	undoIndex, undoTree, undo func()
}

func (l *life) mark() rest {
	index, tree, units := l.index.Mark(), l.tree.Mark(), l.room.Mark()
	return rest{
		alive: slices.Clone(l.alive), works: len(l.works), preemptor: l.preemptor,
		undoIndex: func() { l.index.Undo(index) }, undoTree: func() { l.tree.Undo(tree) }, undo: func() { l.room.Undo(units) },
	}
}

func (l *life) back(r rest) {
	r.undoIndex()
	r.undoTree()
	r.undo()
	l.alive, l.works, l.preemptor = r.alive, l.works[:r.works], r.preemptor
}

// churn has units be evicted, and the preemptor start, some times; questions are asked
// in between, so that there is something to be remembered.
func (l *life) churn(t *rapid.T, draw func(int) int) {
	for range draw(6) {
		if !l.starts(l.request, l.preemptor.Add.Tasks()) {
			l.room.Find(l.preemptor, modes[draw(len(modes))])
		}
		if draw(2) == 0 && len(l.alive) > 0 {
			l.evict(t, l.alive[draw(len(l.alive))])
		} else {
			l.startWhoWaits(t)
		}
	}
}

// An Evaluator that has been brought back to a mark, whatever came and went since,
// answers as a new one of the units that it had then; and it does so again and again,
// with one mark inside another.
func TestUndoComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		mode := modes[draw(len(modes))]
		l, text := newLife(draw, mode)
		for range 4 {
			outer := l.mark()
			l.churn(t, draw)
			inner := l.mark()
			l.churn(t, draw)
			l.back(inner)
			l.churn(t, draw)
			l.back(outer)
			if draw(2) == 0 && len(l.alive) > 0 { // the world goes on
				l.evict(t, l.alive[draw(len(l.alive))])
			}
			if l.starts(l.request, l.preemptor.Add.Tasks()) {
				continue // a question is asked where it does not start
			}
			units := slices.Clone(l.alive)
			for _, mode := range modes {
				p, _, _ := l.room.Find(l.preemptor, mode)
				want, _ := l.afresh(mode)
				if got := namesOf(l.scene, l.room, &p); !slices.Equal(got, want) {
					t.Fatalf("mode %v takes %v, a new evaluator of %v %v\n%s", mode, got, units, want, text)
				}
			}
		}
	})
}

// What a minimum runtime bars, time frees, and the oldest loses the most.
func TestSetNow(t *testing.T) {
	s := newScene(`nodes 1 1 | queue a | queue b quota=1
		run a/x gpu=1 on=0 reclaim-from=2000 lost=1 | run a/y gpu=1 on=1 reclaim-from=3000 lost=9 | wait b/w gpu=1`)
	for _, step := range []struct {
		now     int64
		changed bool
		victims []string
	}{{1000, false, nil}, {1999, false, nil}, {2000, true, []string{"x"}}, {2000, false, []string{"x"}}, {3000, true, []string{"x"}}, {1500, true, nil}} {
		if changed := s.room.SetNow(step.now); changed != step.changed {
			t.Errorf("at %d something changed: %t", step.now, changed)
		}
		if victims, _, _ := s.find(t, byQuota); !slices.Equal(victims, step.victims) {
			t.Errorf("at %d: %v, not %v", step.now, victims, step.victims)
		}
	}
}
