package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/allotsched/allot"
)

// What the queues let in of promises when they begin is judged here (Q2, Q3, Q10).

// An entry is what uses something of queues: what stands at a place, or a promise.
type entry struct {
	workload *verifiedWorkload
	form     *verifiedForm
	promise  *promised // nil for what stands
	charged  []verifiedCharge
	until    int64 // it is expected to have ended then
}

// noEntry is the number of those that use nothing of queues that bound anything.
const noEntry = -1

// A ledger is what queues use at some time, of those of its entries that are in it.
type ledger struct {
	entries []entry
	in      []bool
	pages   map[*verifiedQueue]*ledgerPage
	// counts says of a workload whether it is one more that runs (Q10): where the ledger has only what the plan starts,
	// none is that ran before.
	counts func(*verifiedWorkload) bool
}

// A ledgerPage is what one queue uses, and by how many entries of each workload.
type ledgerPage struct {
	use     map[verifiedKey]verifiedUse
	running map[*verifiedWorkload]int
}

// ledgerOf is the ledger of such as stands and of some promises.
func (v *promising) ledgerOf(stands func(*standing) bool, promised func(*promised) bool) *ledger {
	l := &ledger{v.entries, make([]bool, len(v.entries)), make(map[*verifiedQueue]*ledgerPage), func(*verifiedWorkload) bool { return true }}
	for _, list := range v.stands { // into sums: order cannot matter
		for i := range list {
			l.set(list[i].entry, stands(&list[i]))
		}
	}
	for _, p := range v.list {
		l.set(p.entry, promised(p))
	}
	return l
}

// readEntries reads what uses something of queues, in pools of which some queue bounds anything.
func (v *promising) readEntries() {
	bounded := make(map[*verifiedPool]bool)
	for _, pool := range v.poolOrder {
		bounded[pool] = len(pool.governed) > 0 || slices.ContainsFunc(pool.queues, func(q *verifiedQueue) bool { return len(q.given) > 0 || q.cap.Given() })
	}
	v.entriesOf = make(map[*verifiedWorkload][]int)
	add := func(e entry) int {
		v.ends = append(v.ends, len(v.entries))
		v.entriesOf[e.workload] = append(v.entriesOf[e.workload], len(v.entries))
		v.entries = append(v.entries, e)
		return len(v.entries) - 1
	}
	for i := range v.state.Nodes {
		list := v.stands[v.nodes[v.state.Nodes[i].ID]]
		for k := range list {
			if one := &list[k]; bounded[one.form.queue.pool] {
				one.entry = add(entry{one.workload, one.form, nil, charges(one.request, one.form.queue.pool, one.node, one.task.devices), one.until.predicted})
			}
		}
	}
	for _, p := range v.list {
		if bounded[p.form.queue.pool] {
			p.entry = add(entry{p.workload, &p.form, p, p.charged, p.to})
		}
	}
	slices.SortStableFunc(v.ends, func(a, b int) int { return cmp.Compare(v.entries[a].until, v.entries[b].until) })
}

// set has an entry be in the ledger or not; noEntry is none.
func (l *ledger) set(k int, in bool) {
	if k == noEntry || l.in[k] == in {
		return
	}
	l.in[k] = in
	e, times := &l.entries[k], int64(1)
	if !in {
		times = -1
	}
	for q := e.form.queue; q != nil; q = q.parent {
		page := l.pages[q]
		if page == nil {
			page = &ledgerPage{make(map[verifiedKey]verifiedUse), make(map[*verifiedWorkload]int)}
			l.pages[q] = page
		}
		for _, c := range e.charged {
			use := page.use[c.key]
			use.all += times * c.amount
			if e.form.nonPreemptible {
				use.nonPreemptible += times * c.amount
			}
			page.use[c.key] = use
		}
		if page.running[e.workload] += int(times); page.running[e.workload] == 0 {
			delete(page.running, e.workload)
		}
	}
}

// outOfBounds says which bounds of its queue, and those above it, a promise breaks when it begins, beside those
// that are in a ledger and do not go when its time comes, nor have gone for others that are in use then: of these
// those of one workload besides do not, 0 is none.
func (v *promising) outOfBounds(l *ledger, p *promised, besides int) (list []objection) {
	if p.entry == noEntry {
		return nil
	}
	gone := v.serve(l, p, 0)
	for _, other := range v.list {
		if other != p && !other.gathers && other.entry != noEntry && l.in[other.entry] && other.from <= p.from && other.to > p.from {
			gone = append(gone, v.serve(l, other, besides)...)
		}
	}
	was := l.in[p.entry]
	l.set(p.entry, true)
	for q := p.form.queue; q != nil; q = q.parent {
		list = append(list, p.outOfBoundsOf(q, l.pages[q].use)...)
		if running := l.running(q); q.cap.Given() && !q.cap.IsUnlimited() && int64(running) > q.cap.Amount() {
			list = append(list, objection{rule: ruleMaxWorkloads, message: fmt.Sprintf("queue %q would run %d workloads at %s, cap %d", q.id, running, text(p.from), q.cap.Amount())})
		}
	}
	l.set(p.entry, was)
	for _, k := range gone {
		l.set(k, true)
	}
	return list
}

// serve has those leave a ledger who go when the time of a promise comes, but for one workload, 0 is none; it returns
// their entries.
func (v *promising) serve(l *ledger, p *promised, but int) (gone []int) {
	for _, n := range p.nodes {
		for i := range v.stands[n] {
			one := &v.stands[n][i]
			if one.entry != noEntry && l.in[one.entry] && (but == 0 || one.workload.waitedFor != but) && p.isServedBy(one) {
				l.set(one.entry, false)
				gone = append(gone, one.entry)
			}
		}
	}
	return gone
}

// running is how many workloads of the ledger count as running in a queue.
func (l *ledger) running(q *verifiedQueue) (n int) {
	for w := range l.pages[q].running { // into a sum: order cannot matter
		if l.counts(w) {
			n++
		}
	}
	return n
}

// outOfBoundsOf says which bounds of a queue its use breaks when a promise begins, in what that is charged.
func (p *promised) outOfBoundsOf(q *verifiedQueue, use map[verifiedKey]verifiedUse) (list []objection) {
	for _, c := range p.charged {
		if limit := min(q.limitOf(c.key), q.borrowingOf(c.key)); use[c.key].all > limit {
			list = append(list, objection{rule: ruleLimit, message: fmt.Sprintf("queue %q would use %d %s at %s, limit %d", q.id, use[c.key].all, c.key.resource, text(p.from), limit)})
		}
		if !p.form.nonPreemptible || q.pool.policy.NonPreemptibleOverQuota {
			continue
		}
		if quota := q.bindingQuotaOf(c.key); use[c.key].nonPreemptible > quota {
			list = append(list, objection{rule: ruleQuota, message: fmt.Sprintf("queue %q would use %d non-preemptible %s at %s, quota %d", q.id, use[c.key].nonPreemptible, c.key.resource, text(p.from), quota)})
		}
	}
	return list
}

// letIn checks that the queue of each promise, and those above it, let it in when it begins: beside what has not
// ended by then and is promised (Q2, Q3, Q10). One that gathers waits for whatever must have (B8). The promises are
// taken in the order in which they begin.
func (v *promising) letIn() {
	l := v.ledgerOf(func(*standing) bool { return true }, func(*promised) bool { return false })
	order := slices.Clone(v.list)
	slices.SortStableFunc(order, func(a, b *promised) int { return cmp.Compare(a.from, b.from) })
	begun, ended := 0, 0
	for _, p := range order {
		for ; begun < len(order) && order[begun].from <= p.from; begun++ {
			l.set(order[begun].entry, true)
		}
		for ; ended < len(v.ends) && l.entries[v.ends[ended]].until <= p.from; ended++ {
			l.set(v.ends[ended], false)
		}
		switch {
		case p.unsettled:
		case p.gathers:
			p.objections = v.besideUsed(p, func(one *standing) bool { return one.workload == p.workload })
		default:
			p.objections = v.outOfBounds(l, p, 0)
		}
	}
}

// besideUsed says which bounds one that gathers breaks now, beside what is promised now and such as stands.
func (v *promising) besideUsed(p *promised, stands func(*standing) bool) []objection {
	l := v.ledgerOf(stands, func(other *promised) bool { return other.from <= p.from && other.to > p.from })
	l.counts = func(w *verifiedWorkload) bool {
		return !slices.ContainsFunc(w.source.Tasks, func(t allot.Task) bool { return t.Phase != allot.Terminating })
	}
	return v.outOfBounds(l, p, 0)
}
