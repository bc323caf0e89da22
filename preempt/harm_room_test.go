package preempt_test

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// The search against brute force, on what an Evaluator itself is told: whoever it names
// may lawfully go, nobody of them is superfluous, and by M3 nobody better would
// have done.

// model reads a scene into the model of least harm, for one way to make room.
func (s *scene) model(mode preempt.Mode) *harmCase {
	c := &harmCase{uses: make(map[uint32]*harmUse), starting: make(map[uint32]bool), only: map[preempt.Mode][]harmKind{
		move: {harmConsolidate}, byQuota: {harmByQuota}, byShare: {harmByShare}, lower: {harmPreempt, harmWithinLines}, both: {harmBoth},
	}[mode]}
	c.policy = harmPolicy{scope: s.config.Scope, straddle: s.config.Straddle, margin: s.config.MarginMilli,
		moved: s.config.MaxMovedPercent, cap: math.MaxInt}
	if s.preemptor.Cap != nil {
		c.policy.cap = s.preemptor.Cap.Left
	}
	c.empty.nodes = len(s.nodes)
	for i, n := range s.nodes {
		c.empty.count[i] = int16(len(n.Devices))
		c.capacity[0] += 1000 * int64(len(n.Devices))
		if s.resources > 1 {
			c.empty.cpu[i] = n.Capacity[0]
			c.capacity[1] += n.Capacity[0]
		}
	}
	for q, path := range s.queues {
		h := harmQueue{name: path, parent: int(s.bounds[q].Parent), leaf: true, most: math.MaxInt64,
			kept: harmAmounts{-1, -1}, limit: harmAmounts{math.MaxInt64, math.MaxInt64}}
		for r := range s.resources {
			at := q*s.resources + r
			h.quota[r], h.share[r] = s.config.Quotas[at], s.config.Shares[at]
			h.LQ[r], h.LF[r], h.fixed[r] = s.config.Entitlements.Guaranteed[at], s.config.Entitlements.Fair[at], s.config.Quotas[at]
			if limit := s.bounds[q].Bounds[r].Limit; limit.Given() {
				h.limit[r] = limit.Amount()
			}
			c.divided[r], c.governed[r] = true, true
		}
		if h.parent >= 0 {
			c.queues[h.parent].leaf = false
		}
		c.queues = append(c.queues, h)
	}
	for _, name := range s.works {
		c.works = append(c.works, harmWork{name: name})
	}
	for i := range s.units {
		s.modelUnit(c, i)
	}
	c.finishUnits()
	for owner, left := range s.minRunning {
		c.addBudget(strconv.Itoa(owner), int(-left))
	}
	b := s.preemptor
	c.want = []harmWant{{s.modelShape(s.request), int(b.Add.Tasks())}}
	c.unit = modelStanding(b.EvictionRank, b.Leaf)
	c.unit.amount = c.asked()
	c.step = b.Step > 0
	c.prepare()
	return c
}

func modelStanding(s preempt.EvictionRank, leaf int32) harmUnit {
	return harmUnit{work: int(s.Work), step: int(s.Step), leaf: int(leaf), priority: int64(s.Priority),
		nonPreemptible: s.NonPreemptible, admitted: s.Admitted, submitted: s.Submitted}
}

func (s *scene) modelShape(r placement.Request) *harmShape {
	shape := &harmShape{devices: int(r.Devices), milli: r.Milli}
	if r.Devices == 0 {
		shape.milli = 1000
	}
	for _, a := range r.Amounts {
		shape.cpu = a.Value
	}
	for n := range s.nodes {
		shape.accepts[n] = true
	}
	return shape
}

func (s *scene) modelUnit(c *harmCase, i int) {
	u := &s.units[i]
	h, shape := modelStanding(u.EvictionRank, u.Leaf), s.modelShape(s.requests[i])
	for index, t := range u.Tasks {
		task := harmTask{shape: shape, node: int(t.Place.Node), name: taskName{s.works[u.Work], "s", index}}
		for d := t.Place.Devices; d != 0; d &= d - 1 {
			task.devices = append(task.devices, bits.TrailingZeros64(d))
		}
		h.add(c, task)
	}
	h.lost, h.free, h.still = s.lost[i], u.ReclaimFrom <= s.config.Now, u.PreemptFrom <= s.config.Now
	c.works[u.Work] = harmWork{name: s.works[u.Work], leaf: int(u.Leaf), priority: h.priority,
		nonPreemptible: u.NonPreemptible, holds: true, owner: strconv.Itoa(int(u.Owner))}
	c.units = append(c.units, h)
}

// set are the victims as the model names them.
func (s *scene) set(c *harmCase, victims []string) (set uint32) {
	for i := range c.units {
		name := c.works[c.units[i].work].name
		if c.units[i].step > 0 {
			name += "+" + strconv.Itoa(c.units[i].step)
		}
		if slices.Contains(victims, name) {
			set |= 1 << i
		}
	}
	return set
}

// drawScene draws a small pool that is nearly full, as text; draw names a number
// below its argument. Moves want holes.
func drawScene(draw func(n int) int, mode preempt.Mode) string {
	var text strings.Builder
	free := make([]int, 1+draw(3))
	if mode == move {
		free = make([]int, 2+draw(3))
	}
	text.WriteString("nodes")
	largest := 0
	for n := range free {
		free[n] = 1 + draw(3)
		largest = max(largest, free[n])
		fmt.Fprint(&text, " ", free[n])
	}
	cpus := draw(3) == 0
	if cpus {
		text.WriteString(" | cpus")
		for n := range free {
			fmt.Fprint(&text, " ", 2*free[n])
		}
	}
	fmt.Fprintf(&text, "\npool margin=%d", 1+draw(4)/3)
	if draw(8) == 0 {
		text.WriteString(" spare")
	}
	if mode == lower && draw(3) == 0 {
		text.WriteString(" priority")
	}
	owned := draw(6) == 0
	if owned {
		fmt.Fprintf(&text, " budgets=-%d", 1+draw(3))
	}
	text.WriteString("\n")
	leaves := []string{"a", "b", "d/q", "d/r"}[:2+draw(3)]
	if len(leaves) == 3 {
		leaves[2] = "c"
	}
	for _, q := range append([]string{"a", "b", "c", "d"}, leaves...) {
		isLeaf := slices.Contains(leaves, q)
		if !isLeaf && (q != "d" || len(leaves) < 4) || strings.Contains(text.String(), "queue "+q+" ") {
			continue
		}
		quota, more := draw(3), draw(2)
		if q == leaves[0] { // it waits
			quota = 1 + draw(4)
			if mode == move {
				quota += 2
			}
			more = draw(3)
		}
		if mode == byShare {
			quota, more = quota/2, more+quota/2
		}
		if mode == both {
			more = 0
			if quota = draw(2); q == leaves[0] {
				quota = 2 + draw(2)
			}
		}
		fmt.Fprintf(&text, "queue %s quota=%d,%d share=%d,%d\n", q, quota, 2*quota, quota+more, quota+more+draw(3))
	}
	runs, most := 0, 7
	if mode == move {
		most = 2 + draw(4)
	}
	for i := 0; runs < most && i < most; i++ {
		leaf := leaves[max(0, draw(len(leaves)+2)-2)] // half of them in the queue that waits
		if mode == byQuota || mode == byShare {
			leaf = leaves[min(len(leaves)-1, draw(len(leaves)+3))]
		}
		runs += drawRunning(draw, &text, free, string(rune('g'+i)), leaf, cpus, owned)
	}
	if mode == both {
		fmt.Fprintf(&text, "wait %s/w gpu=%d priority=5", leaves[0], min(largest, 2+draw(2)))
		return text.String()
	}
	fmt.Fprintf(&text, "wait %s/w gpu=%d tasks=%d priority=%d", leaves[0], min(largest, 1+draw(3)), 1+draw(3)*draw(2)*draw(2), 2+draw(3))
	if cpus {
		fmt.Fprint(&text, " cpu=", 1+draw(4))
	}
	if draw(6) == 0 {
		text.WriteString(" fixed")
	}
	if draw(8) == 0 {
		fmt.Fprint(&text, " cap=", 1+draw(2))
	}
	return text.String()
}

// drawRunning draws a workload that runs, with steps above its minimum in some,
// and says how many units there are.
func drawRunning(draw func(n int) int, text *strings.Builder, free []int, name, leaf string, cpus, owned bool) (units int) {
	gpus, tasks, steps := 1+draw(5)/4, 1+draw(6)/4, max(0, draw(6)-3)
	common := fmt.Sprintf("gpu=%d priority=%d submitted=%d", gpus, 1+draw(3), draw(3))
	if draw(10) == 0 {
		common += " fixed"
	}
	if owned && draw(3) > 0 {
		common += " owner=0"
	}
	admitted := 1 + draw(8)
	for step := 0; step <= steps; step++ {
		var on []string
		for len(on) < tasks {
			n := draw(len(free))
			for k := range free {
				if at := (n + k) % len(free); free[at] >= gpus {
					free[at] -= gpus
					on = append(on, strconv.Itoa(at))
					break
				}
			}
			if len(on) == 0 {
				return units
			}
			tasks = min(tasks, len(on)+1)
			if !slices.ContainsFunc(free, func(f int) bool { return f >= gpus }) {
				tasks = len(on)
			}
		}
		unit := name
		if step > 0 {
			unit = fmt.Sprintf("%s+%d", name, step)
		}
		fmt.Fprintf(text, "run %s/%s %s tasks=%d on=%s admitted=%d lost=%d", leaf, unit, common, len(on), strings.Join(on, ","), admitted+step, draw(3))
		if cpus {
			fmt.Fprint(text, " cpu=", gpus)
		}
		if draw(10) == 0 {
			fmt.Fprintf(text, " reclaim-from=%d preempt-from=%d", 900+draw(3)*100, 900+draw(3)*100)
		}
		text.WriteString("\n")
		units, tasks = units+1, 1
	}
	return units
}

// harmSpare: of what goes somebody need not.
const harmSpare = "somebody is superfluous"

var modes = []preempt.Mode{byQuota, byShare, lower, move}

// wrong says what is wrong with an answer beside that it may not be the best:
// somebody may not go, or is superfluous (M1 to M7, R1 to R9, E1 to E8, C1 to C3).
func (s *scene) wrong(c *harmCase, victims []string) string {
	if len(victims) == 0 {
		return ""
	}
	set := s.set(c, victims)
	if bits.OnesCount32(set) != len(victims) {
		return "somebody goes twice"
	}
	switch r, superfluous := c.judge(set); {
	case r == nil:
		return harmUnlawful
	case superfluous:
		return harmSpare
	}
	return ""
}

// Whoever is named may lawfully go, and nobody of them is superfluous. A question
// leaves the world as it was, and has the same answer again.
func TestVictimsAreLawful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		mode := append(modes, both)[draw(len(modes)+1)]
		text := drawScene(draw, mode)
		s := newScene(text)
		c := s.model(mode)
		if c.starts(0) {
			return // nothing has to go
		}
		before := s.world()
		var first []string
		for range 2 {
			p, _, _ := s.room.Find(s.preemptor, mode)
			var victims []string
			for _, one := range p.Justifications {
				victims = append(victims, s.name(one.Victim))
			}
			if first == nil {
				first = victims
			}
			if problem := s.wrong(c, victims); problem != "" && (mode != move || problem == harmUnlawful) || s.world() != before || !slices.Equal(victims, first) {
				t.Fatalf("mode %v takes %v, then %v: %s; the oracle %v\n%s", mode, first, victims, problem, c.best(), text)
			}
		}
	})
}

// On a fixed lot of small pools the victims are those of brute force: nothing is
// unlawful, and misses and worse choices are counted.
func TestVictimsAreTheLeastHarm(t *testing.T) {
	states, counts, shown := 0, make(map[string]int), make(map[string]int)
	for seed := range deep.Seeds(t, 3000) {
		states++
		source := rand.New(rand.NewPCG(seed, 29))
		mode := modes[source.IntN(len(modes))]
		if seed%5 == 4 {
			mode = both
		}
		text := drawScene(source.IntN, mode)
		s := newScene(text)
		c := s.model(mode)
		if c.starts(0) {
			continue
		}
		victims, _, _ := s.find(t, mode)
		best := c.best()
		verdict := s.wrong(c, victims)
		switch {
		case verdict != "":
		case best == nil && len(victims) == 0:
			verdict = harmNothing
		case best == nil:
			verdict = harmFound
		case len(victims) == 0:
			verdict = harmMissed
		case s.set(c, victims) == best.gone:
			verdict = harmSame
		default:
			verdict = harmBetter
			if r, _ := c.judge(s.set(c, victims)); best.less(r) {
				verdict = harmWorse
			}
		}
		verdict = fmt.Sprintf("%v %s", c.only[0], verdict)
		counts[verdict]++
		if !strings.HasSuffix(verdict, harmSame) && !strings.HasSuffix(verdict, harmNothing) {
			if shown[verdict]++; shown[verdict] <= *harmShow {
				t.Logf("seed %d: %s: takes %v, the oracle %v\n%s", seed, verdict, victims, best, text)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-50s %d", name, counts[name])
	}
	for _, kind := range []harmKind{harmByQuota, harmByShare, harmPreempt, harmConsolidate, harmBoth} {
		count := func(verdict string) int { return counts[fmt.Sprintf("%v %s", kind, verdict)] }
		rooms := count(harmSame) + count(harmBetter) + count(harmFound) + count(harmWorse) + count(harmMissed)
		// A short run looks at too few for a share to say much.
		if !testing.Short() && rooms*100 < 5*states/(len(modes)+1) {
			t.Errorf("%v: only %d of %d questions make room", kind, rooms, states/(len(modes)+1))
		}
		missed, worse := 1, 1 // in a thousand, in a hundred
		if kind == harmConsolidate {
			missed, worse = 5, 6 // of equal cost the first that is found is kept
		}
		if count(harmUnlawful)+count(harmSpare) > 0 || count(harmMissed)*1000 > missed*rooms || count(harmWorse)*100 > worse*rooms {
			t.Errorf("%v: %d unlawful, %d superfluous, %d missed, %d worse of %d", kind,
				count(harmUnlawful), count(harmSpare), count(harmMissed), count(harmWorse), rooms)
		}
	}
}
