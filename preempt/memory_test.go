package preempt_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// What an Evaluator remembers from one question to the next must never show: at any time
// it answers as one that was made just now, from the same queues and nodes.

// A fataler is a test, drawn or not.
type fataler interface{ Fatal(args ...any) }

// A life is a scene to which things happen.
type life struct {
	*scene
	alive []preempt.UnitID
}

// afresh asks a new Evaluator of the units that are alive, and says what that costs.
func (l *life) afresh(mode preempt.Mode) (victims []string, steps int64) {
	c := l.config
	c.Effort = placement.NewEffort(0)
	room := preempt.NewEvaluator(c)
	for _, id := range l.alive {
		room.Add(*l.room.Unit(id))
	}
	p, _, _ := room.Find(l.preemptor, mode)
	return namesOf(l.scene, room, &p), c.Effort.Spent()
}

// infeasible says whether the bound for who has entered no units yet refuses.
func (l *life) infeasible(mode preempt.Mode) bool {
	return l.room.Infeasible(l.preemptor, mode, func(leaf, res int32) (most int64) {
		for _, id := range l.alive {
			if u := l.room.Unit(id); u.Leaf == leaf {
				most = max(most, u.Charge.Of(res))
			}
		}
		return most
	})
}

func namesOf(s *scene, room *preempt.Evaluator, p *preempt.Proposal) (victims []string) {
	for _, c := range p.Justifications {
		u := room.Unit(c.Victim)
		victims = append(victims, fmt.Sprintf("%s+%d", s.works[u.Work], u.Step))
	}
	return victims
}

// evict takes a unit for good.
func (l *life) evict(t fataler, id preempt.UnitID) {
	if err := l.room.Take(id); err != nil {
		t.Fatal(err)
	}
	l.alive = slices.DeleteFunc(l.alive, func(other preempt.UnitID) bool { return other == id })
}

// evictNamed takes units for good, by the names of their workloads.
func (l *life) evictNamed(t fataler, names ...string) {
	for _, id := range slices.Clone(l.alive) {
		if slices.Contains(names, l.works[l.room.Unit(id).Work]) {
			l.evict(t, id)
		}
	}
}

// findsMoves says whether those move for the preemptor, whose names are sorted.
func (l *life) findsMoves(want ...string) error {
	p, _, _ := l.room.Find(l.preemptor, move)
	if got := slices.Sorted(slices.Values(namesOf(l.scene, l.room, &p))); !slices.Equal(got, want) {
		return fmt.Errorf("%v move, not %v", got, want)
	}
	return nil
}

// startWhoWaits lets the preemptor run, and another that asks the same wait.
func (l *life) startWhoWaits(t fataler) {
	b := l.preemptor
	shape := b.Shapes[0]
	u := preempt.Unit{EvictionRank: b.EvictionRank, Leaf: b.Leaf, Charge: b.Asks, GPUs: b.GPUs, Owner: -1, Running: b.Add.Tasks(), PreemptFrom: math.MinInt64, ReclaimFrom: math.MinInt64}
	if _, ok := l.tree.Check(int(b.Leaf), b.Asks, b.NonPreemptible); !ok {
		return
	}
	m := l.index.Mark()
	for range b.Add.Tasks() {
		place, ok := l.index.Find(shape, placement.Default)
		if !ok || l.index.Take(shape, place) != nil {
			l.index.Undo(m)
			return
		}
		u.Tasks = append(u.Tasks, preempt.Task{Shape: shape, Place: place})
	}
	l.index.Commit(m)
	if err := l.tree.Charge(int(b.Leaf), b.Asks, b.NonPreemptible); err != nil {
		t.Fatal(err)
	}
	l.alive = append(l.alive, l.room.Add(u))
	next := *b
	next.Work = int32(len(l.works))
	l.works = append(l.works, fmt.Sprintf("z%03d", next.Work))
	l.preemptor = &next
}

// redraw has the lines of all queues be others, each of some half GPUs.
func (l *life) redraw(draw func(n int) int) {
	c := &l.config
	quotas := make([]int64, len(l.queues))
	for q := range quotas {
		quotas[q] = 500 * int64(draw(8))
	}
	quotas[slices.Index(l.queues, "a")] += 3000
	c.Quotas, c.Shares, c.Entitlements = quotas, quotas, preempt.Entitlements{Guaranteed: quotas, Fair: quotas}
	l.room.Redraw(*c)
}

// drawLife is a pool of enough nodes that answers are kept, full of small jobs.
//
// An Evaluator remembers what a node costs as never more than now, which is not so where
// somebody else of the node comes to go first: as a disruption budget is spent, or as
// another queue becomes the more saturated. So nobody has a budget here, on each node a reclaim takes
// from one queue, and only between moves and preemptions somebody leaves for other reasons.
func drawLife(draw func(n int) int, mode preempt.Mode) string {
	var text strings.Builder
	nodes := 6 + draw(5)
	text.WriteString("nodes" + strings.Repeat(" 2", nodes))
	if mode == lower && draw(3) == 0 {
		text.WriteString(" | pool priority")
	}
	text.WriteString("\n")
	leaves := []string{"a", "b", "c", "e", "f", "g", "h", "i", "d/q", "d/r"}
	for _, q := range slices.Insert(slices.Clone(leaves), 8, "d") {
		quota := draw(3)
		if q == "a" {
			quota = 3 + draw(6)
		}
		fmt.Fprintf(&text, "queue %s quota=%d share=%d\n", q, quota, quota+draw(2))
	}
	some := 2 + draw(len(leaves)-1)
	gang := (mode == byQuota || mode == byShare) && draw(2) == 0 // of which is remembered who goes first on each node
	single := (mode == byQuota || mode == byShare) && !gang
	for n := range nodes {
		others := "" // of whom a reclaim takes
		for half := range 2 {
			if draw(12) == 0 {
				continue
			}
			leaf := leaves[draw(some)]
			if some == 2 && draw(5) > 0 {
				leaf = "b"
			}
			if single && others != "" && leaf != "a" {
				leaf = others
			}
			if leaf != "a" {
				others = leaf
			}
			gpu := "1"
			if mode == move && draw(3) == 0 {
				gpu = "0.5"
			}
			if single && half == 0 && draw(3) == 0 {
				gpu = "2"
			}
			fmt.Fprintf(&text, "run %s/j%d%d gpu=%s on=%d priority=%d admitted=%d lost=%d\n", leaf, n, half, gpu, n, draw(3), draw(4), draw(3))
			if gpu == "2" {
				break
			}
		}
	}
	fmt.Fprintf(&text, "wait a/w gpu=%d priority=%d like=4", 1+draw(2), 1+draw(3))
	if gang {
		fmt.Fprintf(&text, " tasks=%d", 2+draw(4))
	}
	return text.String()
}

// newLife is a drawn scene at its beginning, and its text.
func newLife(draw func(n int) int, mode preempt.Mode) (*life, string) {
	text := drawLife(draw, mode)
	return lifeOf(text), text
}

// lifeOf is a scene at its beginning.
func lifeOf(text string) *life {
	l := &life{scene: newScene(text)}
	for id := range l.units {
		l.alive = append(l.alive, preempt.UnitID(id))
	}
	return l
}

// An Evaluator that has been asked before, and to which things have happened, new lines among them,
// answers as a new one; what the first bound refuses finds nobody (M8); and with what it remembers from
// one decision to the next it counts no fewer steps than that takes anew, so that who is cut by
// them is cut in time. Within a decision prices are remembered, too, by a solve from scratch as
// by one that goes on: of nodes that need not be weighed anew no step is counted.
func TestMemoryNeverShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		mode := modes[draw(len(modes))]
		l, text := newLife(draw, mode)
		effort := placement.NewEffort(0)
		l.room.Effort = effort
		decisions := draw(2) == 0 // each question is one of its own
		for range 12 {
			if draw(6) == 0 {
				l.redraw(draw)
			}
			for l.starts(l.request, l.preemptor.Add.Tasks()) { // a question is asked where it does not start
				l.startWhoWaits(t)
			}
			bound := l.infeasible(mode)
			want, steps := l.afresh(mode)
			effort.Resume(0, true)
			var mark preempt.Mark
			if decisions {
				mark = l.room.Mark()
			}
			p, _, ok := l.room.Find(l.preemptor, mode)
			if decisions {
				l.room.Undo(mark)
			}
			if got := namesOf(l.scene, l.room, &p); !slices.Equal(got, want) {
				t.Fatalf("mode %v takes %v, a new room %v\n%s", mode, got, want, text)
			}
			if spent := effort.Spent(); decisions && spent < steps {
				t.Fatalf("mode %v counts %d steps, a new room %d\n%s", mode, spent, steps, text)
			}
			switch {
			case bound && ok:
				t.Fatalf("mode %v: the bound refuses, and %v may go\n%s", mode, want, text)
			case ok && mode != move && draw(4) > 0:
				for _, c := range p.Justifications {
					l.evict(t, c.Victim)
				}
			case (mode == move || mode == lower) && len(l.alive) > 0:
				l.evict(t, l.alive[draw(len(l.alive))])
			}
		}
	})
}

// What clearing a node costs depends on more than the node where a preemption has to take
// what stands elsewhere, as the preemptor's queue would be beyond its quota otherwise (E8).
// The first question finds that clearing node 4 costs k0, k1, and p1 of node 6. Then p1 is
// gone, so that p0 would go instead, and leave room enough on node 6 that k1 may stay. On
// node 4 nothing has changed, but it has become the place that costs least.
func TestMemoryOfWhatGoesElsewhere(t *testing.T) {
	l := lifeOf(`nodes 2 2 2 2 2 2 2 | pool priority | queue a quota=5 | queue b
		run b/e gpu=1 on=0 | run b/f0 gpu=1 on=1 | run b/f1 gpu=1 on=1
		run a/h gpu=1 on=2 priority=2 admitted=1 lost=1
		run b/i0 gpu=1 on=3 | run b/i1 gpu=1 on=3
		run a/k0 gpu=1 on=4 priority=2 | run b/k1 gpu=1 on=4 priority=1
		run a/m0 gpu=1 on=5 | run b/m1 gpu=1 on=5
		run a/p0 gpu=1 on=6 priority=1 | run a/p1 gpu=1 on=6
		wait a/w gpu=2 priority=3 like=4`)
	l.alikeTake(t, lower, []string{"p1+0", "m1+0", "m0+0"}, []string{"p0+0", "k0+0"})
}

// What clearing a node costs depends on what the preemptor's quota leaves to it (E8). The
// first question finds that clearing node 4 costs k0 and k1. Then the queue is at its quota,
// so that two of its own have to go: with p0, node 6 is free, and k1 may stay.
func TestMemoryOfLeeway(t *testing.T) {
	l := lifeOf(`nodes 2 2 2 2 2 2 2 | pool priority | queue a quota=7 | queue b
		run b/e gpu=1 on=0 | run b/f0 gpu=1 on=1 | run b/f1 gpu=1 on=1
		run a/h gpu=1 on=2 priority=2 admitted=1 lost=1
		run b/i0 gpu=1 on=3 | run b/i1 gpu=1 on=3
		run a/k0 gpu=1 on=4 priority=2 | run b/k1 gpu=1 on=4 priority=1 lost=5
		run a/m0 gpu=1 on=5 priority=3 | run a/m1 gpu=1 on=5 priority=3
		run a/p0 gpu=1 on=6 priority=1
		wait a/w gpu=2 priority=3 like=4`)
	l.alikeTake(t, lower, []string{"e+0"}, []string{"p0+0", "k0+0"})
}

// Which of two queues is the more saturated turns with a start (R3): with j5 and j3 gone that is c. Of c's, j7 stands worse
// than j6, and is the one, though j6 came before it beside b's as long as that was b.
func TestMemoryOfSeveralQueues(t *testing.T) {
	text := "nodes" + strings.Repeat(" 1", 8) + " | queue a quota=9 | queue b quota=1 | queue c quota=1"
	for n, leaf := range "bbbbcbcc" {
		text += fmt.Sprintf(" | run %c/j%d gpu=1 on=%d", leaf, n, n)
	}
	lifeOf(text+" | wait a/w gpu=1 like=4").alikeTake(t, byQuota, []string{"j5+0"}, []string{"j3+0"}, []string{"j7+0"})
}

// Either-or (R9) counts by what is taken for the place at hand: weighing node 2 anew, from which x
// has gone, takes q of b, which is protected and excess; c, which is neither and of the lowest
// priority, may go for its own node all the same.
func TestMemoryOfEitherOr(t *testing.T) {
	text := "nodes" + strings.Repeat(" 2", 9) + ` | queue a quota=9 | queue b quota=4 share=4 | queue e
		run b/p gpu=1 on=0 priority=3 | run b/r gpu=1 on=0 priority=3
		run b/c gpu=2 on=1 lost=5
		run e/x gpu=1 on=2 | run b/q gpu=1 on=2 priority=2`
	for n := 3; n < 9; n++ {
		text += fmt.Sprintf(" | run e/j%d gpu=1 on=%d priority=9 | run e/l%d gpu=1 on=%d priority=9", n, n, n, n)
	}
	lifeOf(text+" | wait a/w gpu=1 like=4").alikeTake(t, byQuota, []string{"x+0"}, []string{"c+0"})
}

// Nobody plans what may move from a node that would not take the task with all of it gone that
// some node takes (M8), until some node takes more. At first none takes anything, though enough
// is free in all. Once k1 and m1
// have gone two take h0 and h1, and no more than is asked is free on the node of these, of which
// nothing has changed.
func TestMemoryOfBarredNodes(t *testing.T) {
	text := "nodes" + strings.Repeat(" 2", 9) + ` | queue a quota=9 | queue b quota=9
		run b/h0 gpu=0.4 on=0 | run b/h1 gpu=0.4 on=0 | run b/i gpu=1 on=0
		run b/k0 gpu=0.6 on=7 | run b/k1 gpu=0.4 on=7 | run b/k2 gpu=1 on=7
		run b/m0 gpu=0.6 on=8 | run b/m1 gpu=0.4 on=8 | run b/m2 gpu=1 on=8`
	for n := 1; n < 7; n++ {
		text += fmt.Sprintf(" | run b/j%d gpu=0.9 on=%d | run b/l%d gpu=0.9 on=%d", n, n, n, n)
	}
	l := lifeOf(text + " | wait a/w gpu=1 like=4")
	for _, step := range []struct {
		goes string
		want []string
	}{{"", nil}, {"k1", nil}, {"m1", []string{"h0+0", "h1+0"}}} {
		l.evictNamed(t, step.goes)
		if err := l.findsMoves(step.want...); err != nil {
			t.Errorf("after %q: %v", step.goes, err)
		}
	}
}

// What is judged of a node stands as long as the same shapes find a place, and again when they do: h0 and h1 find
// one while k1 and m1 are gone, as often as they are. So it is, too, with more shapes than are told apart, of which
// that of s always finds one.
func TestMemoryOfTurns(t *testing.T) {
	for _, others := range []int{0, 64} {
		from := others / 2
		text := "nodes" + strings.Repeat(" 2", from+9) + " | queue a quota=9 | queue b quota=9"
		for n := range others {
			text += fmt.Sprintf(" | run b/o%d gpu=%.3f on=%d", n, 0.9+float64(n)/1000, n/2)
		}
		if others > 0 {
			text += fmt.Sprintf(" | run b/s gpu=0.03 on=%d", from-1)
		}
		text += fmt.Sprintf(" | run b/h0 gpu=0.4 on=%d | run b/h1 gpu=0.4 on=%[1]d | run b/i gpu=1 on=%[1]d", from)
		for n, name := range []string{"k", "m"} {
			text += fmt.Sprintf(" | run b/%s0 gpu=0.6 on=%d | run b/%[1]s1 gpu=0.4 on=%[2]d | run b/%[1]s2 gpu=1 on=%[2]d", name, from+7+n)
		}
		for n := from + 1; n < from+7; n++ {
			text += fmt.Sprintf(" | run b/j%d gpu=0.9 on=%d | run b/l%d gpu=0.9 on=%d", n, n, n, n)
		}
		l := lifeOf(text + " | wait a/w gpu=1 like=4")
		for turn := range 3 {
			if err := l.findsMoves(); err != nil {
				t.Errorf("%d others, turn %d: %v", others, turn, err)
			}
			before := l.mark()
			l.evictNamed(t, "k1", "m1")
			if err := l.findsMoves("h0+0", "h1+0"); err != nil {
				t.Errorf("%d others, turn %d with k1 and m1 gone: %v", others, turn, err)
			}
			l.back(before)
		}
	}
}

// What came of units that moved from one node tells of units like them on others: not of those that go to that
// node itself. x finds no place, as the hole beside it is on its own node; h goes there, and q where y was.
func TestMemoryOfDeadEnds(t *testing.T) {
	text := "nodes" + strings.Repeat(" 2", 9) + ` | queue a quota=9 | queue b quota=99
		run b/h gpu=0.5 on=0 | run b/q gpu=0.3 on=0 admitted=9 | run b/i gpu=1 on=0
		run b/k gpu=0.95 on=7 | run b/e gpu=0.01 on=7 | run b/x gpu=0.5 on=7
		run b/m gpu=0.7 on=8 | run b/y gpu=0.3 on=8 | run b/o gpu=1 on=8`
	for n := 1; n < 7; n++ {
		text += fmt.Sprintf(" | run b/j%d gpu=0.9 on=%d | run b/l%d gpu=0.9 on=%d", n, n, n, n)
	}
	l := lifeOf(text + " | wait a/w gpu=1 like=4")
	for _, step := range []struct {
		goes []string
		want []string
	}{{nil, nil}, {[]string{"e", "y"}, []string{"h+0", "q+0"}}} {
		l.evictNamed(t, step.goes...)
		if err := l.findsMoves(step.want...); err != nil {
			t.Errorf("without %v: %v", step.goes, err)
		}
	}
}

// Units that are like others are tried in vain from one node instead of many, and nobody sees it: who moves is who
// would move if none were like another, by as many steps.
func TestMemoryOfDeadEndsNeverShows(t *testing.T) {
	for seed := range deep.Seeds(t, 100) {
		draw := rand.New(rand.NewPCG(seed, 41)).IntN
		nodes := 10 + draw(8)
		text := "nodes" + strings.Repeat(" 2", nodes) + " | queue a quota=9 | queue b quota=99 | queue c quota=99"
		for device := range 2 * nodes {
			for k, hundredths := range [][]int{{60, 35, 5}, {55, 40, 5}, {50, 45, 5}}[max(0, draw(6)-3)] {
				if draw(4*nodes) > 0 { // else there is a hole
					text += fmt.Sprintf(" | run %c/j%d_%d gpu=%.2f on=%d admitted=%d", 'b'+draw(8)/7, device, k, float64(hundredths)/100, device/2, draw(8)/7)
				}
			}
		}
		text += " | wait a/w gpu=1 like=4"
		alike, apart := lifeOf(text), lifeOf(text)
		for at, id := range apart.alive {
			u := *apart.room.Unit(id)
			u.Like = 0
			apart.room.Forget(id)
			apart.alive[at] = apart.room.Add(u)
		}
		for step := 0; step < 12 && !alike.starts(alike.request, 1); step++ {
			got, spent := alike.asksOnce()
			if want, steps := apart.asksOnce(); !slices.Equal(got, want) || spent != steps {
				t.Fatalf("seed %d: %v move by %d steps, not %v by %d\n%s", seed, got, spent, want, steps, text)
			}
			goes := draw(len(alike.alive))
			if draw(4) > 0 { // the hole that the next small one leaves changes little
				goes += max(0, slices.IndexFunc(alike.alive[goes:], func(id preempt.UnitID) bool { return alike.room.Unit(id).GPUs == 50 }))
			}
			alike.evict(t, alike.alive[goes])
			apart.evict(t, apart.alive[goes])
		}
	}
}

// asksOnce says who would move, and by how many steps that is found.
func (l *life) asksOnce() (names []string, steps int64) {
	l.room.Effort = placement.NewEffort(0)
	p, _, _ := l.room.Find(l.preemptor, move)
	return namesOf(l.scene, l.room, &p), l.room.Effort.Spent()
}

// Of a node the smallest move where who stands worst and the largest find no other place (C1).
func TestSmallestMove(t *testing.T) {
	text := "nodes" + strings.Repeat(" 4", 16) + ` | queue a quota=9 | queue b quota=99
		run b/x1 gpu=1 on=0 | run b/x2 gpu=1 on=0 | run b/y gpu=2 on=0 admitted=9 | run b/h1 gpu=3 on=1 | run b/h2 gpu=3 on=2`
	for n := 3; n < 16; n++ {
		text += fmt.Sprintf(" | run b/f%d gpu=4 on=%d", n, n)
	}
	l := lifeOf(text + " | wait a/w gpu=2 like=4")
	p, _, _ := l.room.Find(l.preemptor, move)
	if got := slices.Sorted(slices.Values(namesOf(l.scene, l.room, &p))); !slices.Equal(got, []string{"x1+0", "x2+0"}) {
		t.Errorf("%v move", got)
	}
}

// alikeTake has preemptors that are alike start one after the other, and says whom each
// has to take.
func (l *life) alikeTake(t *testing.T, mode preempt.Mode, wants ...[]string) {
	t.Helper()
	for _, want := range wants {
		p, _, _ := l.room.Find(l.preemptor, mode)
		if got := namesOf(l.scene, l.room, &p); !slices.Equal(got, want) {
			t.Fatalf("takes %v, not %v", got, want)
		}
		for _, c := range p.Justifications {
			l.evict(t, c.Victim)
		}
		l.startWhoWaits(t)
	}
}

// Who goes first on a node changes with the leaves of those who stand there, though nobody comes or goes on
// it: with b0 and b1 gone c is the more saturated queue, and where the least is lost its c6 and c7 go first.
func TestMemoryOfWhoIsFirst(t *testing.T) {
	text := "nodes" + strings.Repeat(" 2", 8) + " | queue a quota=9 | queue b quota=4 share=4 | queue c quota=5 share=5"
	for n, lost := range []int{1, 1, 2, 2, 2, 2, 2, 2} {
		text += fmt.Sprintf(" | run b/b%d gpu=1 on=%d lost=%d", n, n, lost)
	}
	for n, lost := range []int{9, 9, 9, 9, 9, 9, 1, 1} {
		text += fmt.Sprintf(" | run c/c%d gpu=1 on=%d lost=%d", n, n, lost)
	}
	lifeOf(text+" | wait a/w gpu=1 tasks=2 like=4").alikeTake(t, byQuota, []string{"b1+0", "b0+0"}, []string{"c7+0", "c6+0"})
}

// Who goes first on a node changes with who of a leaf may go: p is protected and excess as long as b uses so much that it
// stays at its line without p (R9), and once b3 and b4 are gone it does not any more.
func TestMemoryOfWhoMayGo(t *testing.T) {
	text := "nodes 10" + strings.Repeat(" 5", 14) + " | queue a quota=20 | queue b quota=15.5 share=15.5 | queue c quota=1 share=1 | queue d quota=0.9 share=0.9"
	text += " | run b/p gpu=9 on=0 admitted=1 lost=1 | run d/o gpu=1 on=0 lost=99"
	for n, lost := range []int{9, 9, 1, 1, 5, 5} {
		text += fmt.Sprintf(" | run b/b%d gpu=3 on=%d admitted=%d lost=%d", n+1, n+1, n+2, lost)
	}
	for n := range 8 {
		text += fmt.Sprintf(" | run c/c%d gpu=3 on=%d admitted=1 lost=50", n, n+7)
	}
	lifeOf(text+" | wait a/w gpu=5 tasks=2 like=4").alikeTake(t, byQuota, []string{"b4+0", "b3+0"}, []string{"b6+0", "b5+0"})
}

// That those on a node are too few is kept only where they were so with all of them gone: p1 and p2 would be just enough, and
// as long as y is out b is one GPU beyond its line, so that only one of them may go (R9); once y runs both may.
func TestMemoryOfWhoAreTooFew(t *testing.T) {
	l := lifeOf(`nodes 2 1 1 | queue a quota=2 | queue b quota=2 share=2
		run b/p1 gpu=1 on=0 admitted=1 | run b/p2 gpu=1 on=0 admitted=2 | run b/x gpu=1 on=1 admitted=3
		run b/y gpu=1 on=2 admitted=4 | wait a/w gpu=2`)
	y := *l.room.Unit(l.alive[3])
	l.evict(t, l.alive[3])
	if p, _, found := l.room.Find(l.preemptor, byQuota); found {
		t.Fatalf("takes %v", namesOf(l.scene, l.room, &p))
	}
	if err := l.index.Take(y.Tasks[0].Shape, y.Tasks[0].Place); err != nil {
		t.Fatal(err)
	}
	if err := l.tree.Charge(int(y.Leaf), y.Charge, y.NonPreemptible); err != nil {
		t.Fatal(err)
	}
	l.alive = append(l.alive, l.room.Add(y))
	p, _, _ := l.room.Find(l.preemptor, byQuota)
	if got := slices.Sorted(slices.Values(namesOf(l.scene, l.room, &p))); !slices.Equal(got, []string{"p1+0", "p2+0"}) {
		t.Errorf("takes %v", got)
	}
}

// Of what is found out anew again and again the steps are counted once.
func TestMemoryCountsOnce(t *testing.T) {
	text := "nodes" + strings.Repeat(" 3", 14) + " | queue a quota=9 | queue b quota=9"
	for n := range 14 {
		text += fmt.Sprintf(" | run b/j%d gpu=2 on=%d", n, n)
	}
	l := lifeOf(text + " | wait a/w gpu=2 like=4")
	effort := placement.NewEffort(0)
	l.room.Effort = effort
	ask := func() int64 {
		effort.Resume(0, true)
		if _, _, found := l.room.Find(l.preemptor, move); found {
			t.Fatal("somebody moves")
		}
		return effort.Spent()
	}
	first := ask()
	for range 100 {
		last := l.alive[len(l.alive)-1]
		u := *l.room.Unit(last)
		l.room.Forget(last)
		l.alive[len(l.alive)-1] = l.room.Add(u)
		if now := ask(); first == 0 || now > 2*first {
			t.Fatalf("%d steps, and %d the first time", now, first)
		}
	}
}
