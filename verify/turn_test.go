package verify

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// No victim of a plan may, in the state after it, be entitled to what it was
// evicted for: they would take turns for ever. Whether it is, is judged here
// from RULES.md and the page of package preempt alone (R1, R2, R4, R5, R8, R9,
// E1, E7, E8), one unit for one unit, and without asking whether that one would
// be enough or whether it has run for its minimum: a right that only lacks a
// place today has one tomorrow. But it must stand where it is of use.

// couldTurn says whether the victim, which waits in that state, would be
// entitled to a unit of the preemptor, which runs.
func couldTurn(after *allot.State, victim, preemptor string) bool {
	return newTurns(after).could(victim, preemptor)
}

// turns are the rights in a state.
type turns struct {
	*verifier
	byName map[*verifiedQueue]map[string]turnLines
}

// turnLines are LQ and LF of a queue for a resource, and its fair share.
type turnLines struct{ quota, share, fair int64 }

// A turnUnit is what is taken or started at once.
type turnUnit struct {
	w        *verifiedWorkload
	form     *verifiedForm
	step     int
	charge   map[string]int64
	admitted time.Time
	pending  bool // admitted after everything else
	nodes    []string
}

func newTurns(s *allot.State) *turns {
	p, err := allot.Solve(s)
	if err != nil {
		panic(err)
	}
	t := &turns{verifier: newVerifier(s, &allot.Plan{Shares: p.Shares, Pending: p.Pending}), byName: make(map[*verifiedQueue]map[string]turnLines)}
	t.judge() // reads the shares
	demand := t.demands()
	for _, pool := range t.poolOrder {
		for _, resource := range pool.dividedResources() {
			t.lines(pool, nil, pool.top, resource, demand)
		}
	}
	return t
}

func (p *verifiedPool) dividedResources() (list []string) {
	for key := range p.governed { // sorted below
		if key.class == "" {
			list = append(list, key.resource)
		}
	}
	if p.divided(allot.GPU) && !slices.Contains(list, allot.GPU) {
		list = append(list, allot.GPU)
	}
	slices.Sort(list)
	return list
}

// lines works out the lines of a group of siblings and of those below (R8).
func (t *turns) lines(p *verifiedPool, parent *verifiedQueue, group []*verifiedQueue, resource string, demand verifiedDemands) {
	var sum int64
	claims := make([]fairshare.Claim, len(group))
	for i, q := range group {
		own := q.quotaOf(verifiedKey{resource, ""})
		if p.policy.Shares != fairshare.QuotaThenWeight {
			own = 0
		}
		claims[i] = fairshare.Claim{Requestable: min(own, q.requestable(resource, demand)), Weight: own}
		for k := range t.state.Queues {
			if t.state.Queues[k].ID == q.id {
				claims[i].Created = max(0, t.state.Queues[k].Created.UnixMicro())
			}
		}
		sum += claims[i].Requestable
	}
	unit, _ := granule(group, resource, demand)
	partOf := func(whole int64) []int64 {
		parts, err := fairshare.Divide(nil, whole, claims, fairshare.Options{Granule: unit})
		if err != nil {
			panic(err)
		}
		return parts
	}
	byQuota, byShare := make([]int64, len(group)), make([]int64, len(group))
	for i, q := range group {
		byQuota[i] = claims[i].Requestable
		byShare[i] = max(byQuota[i], t.room.fair[q][resource])
	}
	if parent != nil {
		if above := t.byName[parent][resource]; sum > above.quota {
			byQuota = partOf(above.quota)
		}
		for i, q := range group {
			byShare[i] = max(byQuota[i], t.room.fair[q][resource])
		}
		if above := t.byName[parent][resource]; sum > above.share {
			for i, part := range partOf(above.share) {
				byShare[i] = max(byQuota[i], part)
			}
		}
	}
	for i, q := range group {
		if t.byName[q] == nil {
			t.byName[q] = make(map[string]turnLines)
		}
		t.byName[q][resource] = turnLines{byQuota[i], byShare[i], t.room.fair[q][resource]}
		if len(q.children) > 0 {
			t.lines(p, q, q.children, resource, demand)
		}
	}
}

// could is couldTurn.
func (t *turns) could(victim, preemptor string) bool {
	v, b := t.workloads[victim], t.workloads[preemptor]
	if v == nil || b == nil || v.source.Ending || v.total().terminating > 0 {
		return false
	}
	for i := range v.forms {
		if v.places > 0 && v.form != i {
			continue
		}
		next, ok := t.next(v, i)
		for _, taken := range t.unitsOf(b) {
			if ok && t.entitled(next, taken) {
				return true
			}
		}
	}
	return false
}

// next is the unit that w would start next in that form: the least that starts
// together, or one task above it.
func (t *turns) next(w *verifiedWorkload, form int) (turnUnit, bool) {
	f := &w.forms[form]
	u := turnUnit{w: w, form: f, charge: make(map[string]int64), pending: true}
	root, counts := f.tree(), make([]verifiedCounts, len(f.PodSets))
	if w.places > 0 {
		counts = w.counts
	}
	if len(f.Groups) > 0 {
		return u, false // which of the children is not told
	}
	for i := range f.PodSets {
		ps := &f.PodSets[i]
		held, tasks := heldTasks(counts[i]), 0
		switch {
		case !root.reached(counts, heldTasks):
			tasks = max(0, lowestOf(ps)-held)
		case u.step == 0 && held < ps.Count-ps.Missing && ps.Step == gang.ByOne:
			u.step, tasks = 1, 1
		}
		if held+tasks > ps.Count-ps.Missing {
			return u, false
		}
		t.add(&u, &ps.Request, int64(tasks))
	}
	return u, u.step == 1 || !root.reached(counts, heldTasks)
}

func (t *turns) add(u *turnUnit, r *allot.Request, tasks int64) {
	u.charge[allot.GPU] += tasks * chargedGPU(r.GPU, u.form.queue.pool)
	for name, amount := range r.Resources { // into sums: order cannot matter
		u.charge[name] += tasks * amount
	}
}

// unitsOf are the units that w holds, the minimum first (R8).
func (t *turns) unitsOf(w *verifiedWorkload) (units []turnUnit) {
	f := &w.forms[w.source.Form]
	tasks := slices.DeleteFunc(slices.Clone(w.source.Tasks), func(t allot.Task) bool { return t.Phase == allot.Terminating })
	if len(tasks) == 0 {
		return nil
	}
	slices.SortFunc(tasks, func(a, b allot.Task) int {
		return cmp.Or(cmp.Compare(f.set(a.PodSet), f.set(b.PodSet)), cmp.Compare(a.Index, b.Index))
	})
	least := turnUnit{w: w, form: f, charge: make(map[string]int64), admitted: tasks[0].Since}
	counts := make([]int, len(f.PodSets))
	for _, task := range tasks {
		k := f.set(task.PodSet)
		ps := &f.PodSets[k]
		counts[k]++
		if task.Since.Before(least.admitted) {
			least.admitted = task.Since
		}
		if counts[k] <= lowestOf(ps) || len(f.Groups) > 0 || !w.atMinimum(heldTasks) {
			t.add(&least, &ps.Request, 1)
			least.nodes = append(least.nodes, task.Node)
			continue
		}
		step := turnUnit{w: w, form: f, charge: make(map[string]int64), admitted: task.Since, step: len(units) + 1, nodes: []string{task.Node}}
		t.add(&step, &ps.Request, 1)
		if ladder := ladderOf(ps); ladder != nil && len(units) > 0 && !slices.Contains(ladder, counts[k]-1) {
			t.add(&units[len(units)-1], &ps.Request, 1) // of the same rung
			units[len(units)-1].nodes = append(units[len(units)-1].nodes, task.Node)
			continue
		}
		units = append(units, step)
	}
	return append([]turnUnit{least}, units...)
}

// compare is R8's order of standing, the best first.
func (t *turns) compare(a, b turnUnit) int {
	p := a.form.queue.pool.policy
	yes := func(b bool) int {
		if b {
			return 0
		}
		return 1
	}
	admitted := func(u turnUnit) int64 {
		switch {
		case u.pending:
			return math.MaxInt64
		case u.admitted.IsZero():
			return -1
		}
		return u.admitted.UnixMicro()
	}
	return cmp.Or(
		cmp.Compare(yes(a.form.nonPreemptible), yes(b.form.nonPreemptible)),
		cmp.Compare(priorityOf(b.w.source, p), priorityOf(a.w.source, p)),
		cmp.Compare(min(a.step, 1), min(b.step, 1)),
		cmp.Compare(admitted(a), admitted(b)),
		a.w.source.Submitted.Compare(b.w.source.Submitted),
		strings.Compare(a.w.source.ID, b.w.source.ID),
		cmp.Compare(a.step, b.step),
	)
}

const (
	unprotected = iota
	protectedByShare
	protectedByQuota
)

// protection is that of one of the units of a leaf (R8), with one of them gone
// and another added.
func (t *turns) protection(leaf *verifiedQueue, of turnUnit, gone, added *turnUnit) int {
	var units []turnUnit
	for _, w := range t.workOrder {
		if len(w.source.Tasks) > 0 && w.forms[w.source.Form].queue == leaf {
			units = append(units, t.unitsOf(w)...)
		}
	}
	same := func(a turnUnit, b *turnUnit) bool {
		return b != nil && a.w == b.w && a.step == b.step && a.pending == b.pending
	}
	units = slices.DeleteFunc(units, func(u turnUnit) bool { return same(u, gone) })
	if added != nil {
		units = append(units, *added)
	}
	slices.SortFunc(units, t.compare)
	use, found := make(map[string]int64), make(map[int]int)
	for _, kind := range [...]int{protectedByQuota, protectedByShare} {
		for i, u := range units {
			fits := found[i] == unprotected
			for _, r := range leaf.pool.dividedResources() {
				line := t.byName[leaf][r].quota
				if kind == protectedByShare {
					line = t.byName[leaf][r].share
				}
				fits = fits && (u.charge[r] == 0 || use[r]+u.charge[r] <= line)
			}
			if fits {
				found[i] = kind
				for name, amount := range u.charge { // into sums: order cannot matter
					use[name] += amount
				}
			}
		}
	}
	k := slices.IndexFunc(units, func(u turnUnit) bool { return same(u, &of) })
	return found[k]
}

// finalVictims are the pairs of victim and preemptor of a plan, of those that
// wait again.
func finalVictims(p *allot.Plan) (pairs [][2]string) {
	for _, a := range p.Actions {
		if entitles(a.Reason.Code) && a.Kind != allot.Move && !a.Ending.Final {
			pairs = append(pairs, [2]string{a.Workload, a.Reason.Workload})
		}
	}
	return pairs
}

// TestCouldTurn: who is entitled to what, by hand.
func TestCouldTurn(t *testing.T) {
	for name, c := range map[string]struct {
		scene             scene
		change            func(s *allot.State)
		victim, preemptor string
		could             bool
	}{
		"reclaimed within the quota": {reclaimScene, nil, "wf3", "wf5", false},
		"the quota has been raised": {reclaimScene, func(s *allot.State) {
			s.Queues[0].Resources[0].Quota, s.Queues[1].Resources[0].Quota = quota.Of(4000), quota.Of(4000)
			s.Queues[3].Resources[0].Quota = quota.Of(0)
			s.Queues[2].Resources[0].Quota = quota.Of(0)
		}, "wf3", "wf5", true},
		"by share":                    {shareScene, nil, "big", "want", false},
		"preempted":                   {preemptScene, nil, "young", "high", false},
		"the priorities have changed": {preemptScene, func(s *allot.State) { workload(s, "young").Priority = 9 }, "young", "high", true},
		"non-preemptible": {preemptScene, func(s *allot.State) {
			workload(s, "young").Priority = 9
			workload(s, "high").Preemption = allot.NonPreemptible
		}, "young", "high", false},
		"no preemption": {preemptScene, func(s *allot.State) {
			workload(s, "young").Priority = 9
			s.Pools[0].Policy.Preempt = preempt.NoPreemption
		}, "young", "high", false},
		"shrunk": {shrinkScene, nil, "elastic", "want", false},
		"shrunk below a raised quota": {shrinkScene, func(s *allot.State) {
			s.Queues[0].Resources[0].Quota, s.Queues[1].Resources[0].Quota = quota.Of(3000), quota.Of(0)
		}, "elastic", "want", true},
		"a ladder":        {ladderScene, nil, "down", "new", false},
		"a claim taken":   {claimScene, nil, "claims", "want", false},
		"within the pool": {scopeScene, nil, "young", "high", false},
		"within the pool, turned over": {scopeScene, func(s *allot.State) {
			workload(s, "young").Priority = 9
			s.Queues[0], s.Queues[1] = gpuQueue("q", "", 2), gpuQueue("other", "", 0)
		}, "young", "high", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := c.scene()
			after, err := allot.Apply(s, p)
			if err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(after)
			}
			if could := couldTurn(after, c.victim, c.preemptor); could != c.could {
				t.Errorf("could turn: %t", could)
			}
		})
	}
}

// TestNoVictimTurns: of no plan could a victim, in the state after it, evict in
// turn what it was evicted for.
func TestNoVictimTurns(t *testing.T) {
	states, pairs, failures := 0, 0, 0
	for seed := range deep.Seeds(t, 2000) {
		states++
		s := churned(t, int(seed))
		p, err := allot.Solve(s)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		victims := finalVictims(p)
		if len(victims) == 0 {
			continue
		}
		after, err := allot.Apply(s, p)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, pair := range victims {
			if pairs++; couldTurn(after, pair[0], pair[1]) {
				t.Errorf("seed %d: %q could evict %q in turn\n%s\nof %s", seed, pair[0], pair[1], p.String(), describe(s))
				if failures++; failures == 3 {
					t.Fatal("that is enough")
				}
			}
		}
	}
	t.Logf("%d victims in %d states", pairs, states)
	if pairs < states/100 {
		t.Errorf("only %d victims in %d states", pairs, states)
	}
}
