package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// inOrder checks strict queueing (O4): nothing has started past what stands
// before it in its queue (O1), waits, and is not impossible. What the plan itself
// has taken, or what holds or claims something, may have come to wait later, and
// what has started and lost its place again to another that starts (M9).
func (v *verifier) inOrder() {
	for i := range v.plan.Pending {
		p := &v.plan.Pending[i]
		w := v.workloads[p.Workload]
		if w == nil || len(w.forms) > 1 || len(w.source.Tasks) > 0 || w.places > 0 || !v.blocks(p) {
			continue
		}
		f := &w.forms[0]
		policy := f.queue.pool.policy
		if !f.queue.isStrict() || policy.Order == queue.ShareThenAge || policy.CPUOnlyApart && f.asks()[allot.GPU] == 0 {
			continue
		}
		for _, key := range slices.SortedFunc(maps.Keys(f.queue.last), verifiedTurn.compare) {
			past := f.queue.last[key]
			if policy.CPUOnlyApart && past.forms[0].asks()[allot.GPU] == 0 || !standsBefore(w.source, past.source, policy) {
				continue
			}
			if policy.BlockAlikeOnly && !mayMeet(f, &past.forms[0]) || v.mayHaveLost(w, f) {
				continue
			}
			v.fail("actions", ruleStrict, "%q starts past %q, which waits before it in queue %q", past.source.ID, p.Workload, f.queue.id)
		}
	}
}

// blocks says whether what waits for these reasons blocks those behind it: it
// could run one day, and its tasks are there.
func (v *verifier) blocks(p *allot.Pending) bool {
	return !slices.ContainsFunc(p.Reasons, func(r allot.Reason) bool {
		q := v.queues[r.Queue]
		if q != nil && (r.Code == allot.OverBorrowingLimit && r.Need > q.borrowingOf(verifiedKey{r.Resource, r.Class}) || r.Code == allot.MaxWorkloads && r.Need == 0) {
			return true // for ever, though it is told as it stands now
		}
		return r.Code <= allot.ImpossibleLimit || r.Code == allot.NotSubmitted || r.Code == allot.NotBefore || r.Code == allot.Leaving || r.Code == allot.ClaimHeld
	})
}

// standsBefore is O1 for two workloads that hold nothing.
func standsBefore(a, b *allot.Workload, p *allot.Policy) bool {
	if byPriority := cmp.Compare(priorityOf(b, p), priorityOf(a, p)); byPriority != 0 {
		return byPriority < 0
	}
	if p.DeadlinesFirst && (a.Deadline != allot.Deadline{} || b.Deadline != allot.Deadline{}) {
		return startsFirst(a, b) // before any without one, whose time has no end
	}
	return compareAge(a, b) < 0
}

// compareAge is O1 for two workloads of one priority that hold nothing, the older
// first.
func compareAge(a, b *allot.Workload) int {
	return cmp.Or(cmp.Compare(micros(a.Submitted), micros(b.Submitted)), strings.Compare(a.ID, b.ID))
}

// noteStarted remembers, for its queue, a workload that starts and held nothing:
// of those with GPUs and those without the one that stands last.
func (v *verifier) noteStarted(w *verifiedWorkload) {
	f := &w.forms[w.form]
	if len(w.forms) > 1 || len(w.source.Tasks) > 0 {
		return
	}
	key := verifiedTurn{gpus: f.asks()[allot.GPU] > 0}
	if f.queue.pool.policy.BlockAlikeOnly {
		key.asks = w.tasksText()
	}
	if f.queue.last == nil {
		f.queue.last = make(map[verifiedTurn]*verifiedWorkload)
	}
	if last := f.queue.last[key]; last == nil || standsBefore(last.source, w.source, f.queue.pool.policy) {
		f.queue.last[key] = w
	}
}

func (t verifiedTurn) compare(u verifiedTurn) int {
	switch {
	case t.gpus == u.gpus:
		return strings.Compare(t.asks, u.asks)
	case u.gpus:
		return -1
	}
	return 1
}

// ownQueueing is what a queue's own word says; none is that of the pool.
var ownQueueing = map[queue.OwnQueueing]queue.Queueing{
	queue.OwnBestEffort: queue.BestEffort, queue.OwnStrict: queue.StrictQueue,
	queue.OwnBackfillPreemptible: queue.BackfillPreemptible, queue.OwnBackfillSingles: queue.BackfillSingles,
}

// queueing is what heads of the queue stop (O4): as the queue says, else the nearest above it, else the pool; own is that
// some queue says so, which stops none of other queues.
func (q *verifiedQueue) queueing() (how queue.Queueing, own bool) {
	for at := q; at != nil; at = at.parent {
		if at.says {
			return at.how, true
		}
	}
	return q.pool.policy.Queueing, false
}

// isStrict says whether what cannot start stops those behind it in the queue (O4).
func (q *verifiedQueue) isStrict() bool {
	how, _ := q.queueing()
	return how == queue.StrictQueue || how == queue.StrictPool
}

// mayMeet says whether the tasks of two forms could use a device or, where one of
// them asks for none, a node in common, were the nodes empty (O4).
func mayMeet(a, b *verifiedForm) bool {
	for _, n := range a.queue.pool.nodes {
		if n.source.Lost {
			continue
		}
		for _, one := range a.usesOn(n) {
			for _, other := range b.usesOn(n) {
				if one == nil || other == nil || slices.ContainsFunc(one, func(d int) bool { return slices.Contains(other, d) }) {
					return true
				}
			}
		}
	}
	return false
}

// usesOn are, of each of the form's sets of which a task could stand on the node, the
// devices that it could use; nil of one that asks for none.
func (f *verifiedForm) usesOn(n *verifiedNode) (out [][]int) {
	for i := range f.PodSets {
		r := &f.PodSets[i].Request
		if f.PodSets[i].Count == 0 || n.missLasting(f, r).predicate != 0 || n.slots.usable < 1 || deviceCount(r.GPU) == 0 && n.cpuOnly.usable < 1 {
			continue
		}
		var devices []int
		for d := range n.devices {
			if g := r.GPU; deviceCount(g) > 0 && n.devices[d].serves(g) {
				devices = append(devices, d)
			}
		}
		out = append(out, devices)
	}
	return out
}

// mayHaveLost says whether a workload starts that could take from this one what
// it might have started with.
func (v *verifier) mayHaveLost(w *verifiedWorkload, f *verifiedForm) bool {
	if f.nonPreemptible {
		return false
	}
	p := f.queue.pool
	for q, b := range v.firstStarted()[p] { // one is enough: order cannot matter
		if b != w && (v.mayTake(b, q, w, f.queue, allot.Preempted) || v.mayTake(b, q, w, f.queue, allot.ReclaimedByQuota)) {
			return true
		}
	}
	return false
}

// firstStarted are, by pool and queue, those of highest priority that the plan
// starts or has grow: what none of them may take no other of the queue may.
func (v *verifier) firstStarted() map[*verifiedPool]map[*verifiedQueue]*verifiedWorkload {
	if v.started != nil {
		return v.started
	}
	v.started = make(map[*verifiedPool]map[*verifiedQueue]*verifiedWorkload)
	for i := range v.plan.Actions {
		a := &v.plan.Actions[i]
		b := v.workloads[a.Workload]
		if b == nil || a.Kind != allot.Start && a.Kind != allot.Resize || a.Form < 0 || a.Form >= len(b.forms) {
			continue
		}
		q := b.forms[a.Form].queue
		if v.started[q.pool] == nil {
			v.started[q.pool] = make(map[*verifiedQueue]*verifiedWorkload)
		}
		if have := v.started[q.pool][q]; have == nil || priorityOf(have.source, q.pool.policy) < priorityOf(b.source, q.pool.policy) {
			v.started[q.pool][q] = b
		}
	}
	return v.started
}

// A turnKey is what workloads that are alike have in common, but for their tasks.
type turnKey struct {
	queue          *verifiedQueue
	priority       int64
	nonPreemptible bool
	duration       quota.Bound // where anything is promised (B5)
	limit          quota.Bound
	least          int64
	fixed          bool // it ends when its work is done (B1), of which this is left
	rest           int64
	closed         string // what is reserved for others, and what of it is lent (B9)
}

// inTurn checks that no workload waits for a place that one alike and younger of its queue
// got in this plan (M9). A start for which others go is another matter, as not all may take
// the same victims (R9), and so is a workload that holds something. Who claims more tasks' places than the
// younger got waits for none of those: it is tried with more tasks before it is with fewer (L2).
func inTurn(v *verifier) {
	oldest := make(map[turnKey]*verifiedWorkload) // of those that wait
	for i := range v.plan.Pending {
		if w := v.workloads[v.plan.Pending[i].Workload]; w != nil && w.isWhole() && !isEarly(w.source, v.state) {
			if key := w.turnKey(); oldest[key] == nil || olderThan(w, oldest[key]) {
				oldest[key] = w
			}
		}
	}
	paid := make(map[string]bool) // claims were taken for them, which nothing has to leave
	for i := range v.plan.Actions {
		if a := &v.plan.Actions[i]; a.Kind == allot.Unclaim {
			paid[a.Reason.Workload] = true
		}
	}
	placed := make(map[string]int)                             // how many tasks a workload starts or claims
	youngest := make(map[turnKey]map[string]*verifiedWorkload) // of those that start, by their tasks
	for i := range v.plan.Actions {
		a := &v.plan.Actions[i]
		w := v.workloads[a.Workload]
		if a.Kind == allot.Start {
			placed[a.Workload] += len(a.Tasks)
		}
		if a.Kind != allot.Start || len(a.After) > 0 || paid[a.Workload] || w == nil || !w.isWhole() || w.source.Reserved != nil {
			continue // what was promised a place goes by the time of that (B4)
		}
		key := w.turnKey()
		if oldest[key] == nil || !olderThan(oldest[key], w) {
			continue
		}
		if youngest[key] == nil {
			youngest[key] = make(map[string]*verifiedWorkload)
		}
		if text := w.tasksText(); youngest[key][text] == nil || olderThan(youngest[key][text], w) {
			youngest[key][text] = w
		}
	}
	for i := range v.plan.Pending {
		w := v.workloads[v.plan.Pending[i].Workload]
		if w == nil || !w.isWhole() || isEarly(w.source, v.state) || youngest[w.turnKey()] == nil {
			continue
		}
		if other := youngest[w.turnKey()][w.tasksText()]; other != nil && olderThan(w, other) && placed[w.source.ID] <= placed[other.source.ID] {
			v.fail("actions", ruleTurns, "%q waits, and %q, which is alike and younger, has a place", w.source.ID, other.source.ID)
		}
	}
}

// isWhole says whether the workload has one form and held nothing before the plan.
func (w *verifiedWorkload) isWhole() bool {
	byDeadline := len(w.forms) > 0 && w.forms[0].queue.pool.policy.DeadlinesFirst && w.source.Deadline != allot.Deadline{} // (B11)
	return len(w.forms) == 1 && len(w.source.Tasks) == 0 && !byDeadline
}

func (w *verifiedWorkload) turnKey() turnKey {
	f := &w.forms[0]
	key := turnKey{queue: f.queue, priority: int64(priorityOf(w.source, f.queue.pool.policy)), nonPreemptible: f.nonPreemptible}
	if f.queue.pool.policy.Reserve.Backfill != queue.NoBackfill {
		key.duration, key.limit = w.source.Duration, w.source.TimeLimit
		key.least = w.source.MinDuration
		key.fixed, key.rest = w.source.FixedWork > 0, w.source.FixedWork-w.source.WorkDone
	}
	if len(f.closed)+len(f.lent) > 0 {
		key.closed = fmt.Sprint(f.closed, f.lent)
	}
	return key
}

// tasksText is the same only for workloads that ask the same.
func (w *verifiedWorkload) tasksText() string {
	s := w.source
	return fmt.Sprint(s.PodSets, s.Groups, s.Topology, s.Strategy)
}

// olderThan is O1 for two workloads of one priority.
func olderThan(a, b *verifiedWorkload) bool { return compareAge(a.source, b.source) < 0 }
