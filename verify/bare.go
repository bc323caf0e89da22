package verify

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
)

// asking says whether a form of a workload asks anything (F1): the workload holds something
// in it, or could start in it if nothing else were on the nodes. Where a whole unit finds
// places is the search's to say, so that what the plan tells is taken for it, as far as it
// is not plainly otherwise. Not told is of what still leaves, of which no more is said.
func asking(v *verifier, w *verifiedWorkload, form int) (asks, told bool) {
	f := &w.forms[form]
	if w.active > 0 && w.form == form || !f.chooses() && !f.submitted() {
		return true, true
	}
	told, impossible := toldImpossible(v, w, form)
	if !told || impossible && f.chooses() { // of one choice it is told so, others may lack quota alone
		could := f.couldBe()
		return could, !could || f.isSingle()
	}
	switch {
	case !impossible && !f.couldBe() && !slices.ContainsFunc(v.reasons[w.source.ID], func(r allot.Reason) bool {
		return (r.Code == allot.NotSubmitted || r.Code == allot.NotBefore) && r.Form == form
	}):
		v.fail("pending", ruleDemand, "no node would take a task of form %d of %q, and it is told otherwise", form, w.source.ID)
	case impossible && f.isSingle() && f.couldBe():
		v.fail("pending", ruleDemand, "a node would take form %d of %q, and it is told to be impossible", form, w.source.ID)
	}
	return !impossible, true
}

// An untoldDemand is a form that may ask, and what others of its workload ask in its leaf.
type untoldDemand struct {
	form   *verifiedForm
	beside map[string]int64
}

// addUntold adds what forms ask of which it is not told whether they do: those with which
// it comes to what the plan says that is asked. Where they are too many to find that out, the
// plan is believed as far as they ask so much.
func addUntold(v *verifier, sums verifiedDemands, forms []untoldDemand) {
	if len(forms) == 0 {
		return
	}
	left := make(map[*verifiedQueue]map[string]int64)
	for i := range v.plan.Shares {
		if row := &v.plan.Shares[i]; row.Class == "" {
			q := v.queueOfRow(row)
			if left[q] == nil {
				left[q] = make(map[string]int64)
			}
			left[q][row.Resource] = row.Demand - sums[q][row.Resource].all()
		}
	}
	// The largest of a workload alone may count, and of what may be asked by either the preemptible can be used (F1).
	slices.SortStableFunc(forms, func(a, b untoldDemand) int {
		switch {
		case a.form.nonPreemptible == b.form.nonPreemptible:
		case a.form.nonPreemptible:
			return 1
		default:
			return -1
		}
		return cmp.Compare(b.form.asks()[allot.GPU], a.form.asks()[allot.GPU])
	})
	for len(forms) > 0 {
		leaf := forms[0].form.queue
		u := &untold{left: left[leaf], capped: leaf.capsDemand(), steps: 1 << 14}
		elsewhere := forms[:0:0]
		for _, one := range forms {
			if one.form.queue == leaf {
				u.forms = append(u.forms, one)
			} else {
				elsewhere = append(elsewhere, one)
			}
		}
		if u.capped || !u.find(0) { // then as many as there is room for
			for i := range u.forms {
				u.take(&u.forms[i])
			}
		}
		u.note(leaf, sums)
		cut := u.steps < 0 && !u.capped
		if cut {
			u.believe(sums)
		}
		for _, c := range u.counted {
			if sums.add(c.form, c.more); c.more[allot.GPU] > 0 && !cut {
				sums.divide(c.form)
			} else {
				sums.doubt(c.form)
			}
		}
		forms = elsewhere
	}
}

// untold is a search for those forms of a leaf that ask what is left.
type untold struct {
	forms  []untoldDemand
	left   map[string]int64
	capped bool // whatever is left
	steps  int
	// counted are the forms that are counted, and what each asks beside others of its
	// workload.
	counted []countedForm
}

type countedForm struct {
	form *verifiedForm
	more map[string]int64
}

// find finds the forms from one on that ask exactly what is left. It ends after so many
// steps, and then has found none.
func (u *untold) find(from int) bool {
	if u.steps--; u.steps < 0 {
		return false
	}
	if from == len(u.forms) {
		for _, amount := range u.left { // all or not: order cannot matter
			if amount != 0 {
				return false
			}
		}
		return true
	}
	if u.take(&u.forms[from]) {
		if u.find(from + 1) {
			return true
		}
		u.giveBack(&u.forms[from])
	}
	return u.find(from + 1)
}

// note notes what of a leaf may be asked by preemptible work or by other, as far as is told.
func (u *untold) note(leaf *verifiedQueue, sums verifiedDemands) {
	kind := func(nonPreemptible bool) bool {
		return slices.ContainsFunc(u.forms, func(one untoldDemand) bool { return one.form.nonPreemptible == nonPreemptible })
	}
	if !kind(true) || !kind(false) {
		return
	}
	all := sums.of(leaf)
	for i := range u.forms {
		for resource := range u.forms[i].form.asks() { // each is noted: order cannot matter
			sum := all[resource]
			sum.mixed = true
			all[resource] = sum
		}
	}
}

// believe counts what is left beside the forms that are counted, of each resource as far as
// the others ask so much in all.
func (u *untold) believe(sums verifiedDemands) {
	for i := range u.forms {
		one := &u.forms[i]
		if slices.ContainsFunc(u.counted, func(c countedForm) bool { return c.form == one.form }) {
			continue
		}
		some := make(map[string]int64)
		for resource, amount := range one.form.asks() { // each by itself: order cannot matter
			if part := min(amount-one.beside[resource], u.left[resource]); part > 0 {
				some[resource] = part
				u.left[resource] -= part
			}
		}
		sums.add(one.form, some)
		sums.doubt(one.form)
	}
}

// take counts a form if no more than what is left is asked with it.
func (u *untold) take(one *untoldDemand) bool {
	more := make(map[string]int64)
	for resource, amount := range one.form.asks() { // each by itself: order cannot matter
		more[resource] = max(0, amount-one.beside[resource])
		if there, known := u.left[resource]; known && !u.capped && more[resource] > there {
			return false
		}
	}
	u.counted = append(u.counted, countedForm{one.form, more})
	u.change(one, more, 1)
	return true
}

// giveBack has the form that was counted last not be.
func (u *untold) giveBack(one *untoldDemand) {
	last := len(u.counted) - 1
	u.change(one, u.counted[last].more, -1)
	u.counted = u.counted[:last]
}

// change counts what a form asks n times more.
func (u *untold) change(one *untoldDemand, more map[string]int64, n int64) {
	for resource, amount := range more { // each by itself: order cannot matter
		one.beside[resource] += n * amount
		if _, known := u.left[resource]; known {
			u.left[resource] -= n * amount
		}
	}
}

// toldImpossible says whether the plan tells why a form of the workload waits, and whether
// that is that it can never start, whatever the quotas are.
func toldImpossible(v *verifier, w *verifiedWorkload, form int) (told, impossible bool) {
	if v.reasons == nil {
		v.reasons = make(map[string][]allot.Reason, len(v.plan.Pending))
		for i := range v.plan.Pending {
			v.reasons[v.plan.Pending[i].Workload] = v.plan.Pending[i].Reasons
		}
	}
	for i := range v.reasons[w.source.ID] {
		switch r := &v.reasons[w.source.ID][i]; r.Code {
		case allot.ImpossibleNode, allot.ImpossibleGang, allot.ImpossibleDomain:
			if r.Form == form {
				return true, true
			}
		case allot.Leaving, allot.ClaimHeld: // that is all that is told of it
		default:
			told = told || r.Form == form
		}
	}
	return told, false
}

// capsDemand says whether no more of the queue's workloads count than it may run at once (F8).
func (q *verifiedQueue) capsDemand() bool {
	return q.capped && q.pool.policy.Shares != fairshare.QuotaThenWeight
}

// submitted says whether of every set so many tasks were submitted as must start together.
func (f *verifiedForm) submitted() bool {
	for i := range f.PodSets {
		if ps := &f.PodSets[i]; ps.Count-ps.Missing < lowestOf(ps) {
			return false
		}
	}
	return true
}

// isSingle says whether the form starts with one task, in whatever domain.
func (f *verifiedForm) isSingle() bool {
	return len(f.PodSets) == 1 && len(f.Groups) == 0 && lowestOf(&f.PodSets[0]) == 1 && len(f.scopes()) == 0
}

// chooses says whether some of its sets may start without others.
func (f *verifiedForm) chooses() bool {
	return slices.ContainsFunc(f.Groups, func(g allot.Group) bool { return g.Min > 0 })
}

// couldBe says whether every task that must start finds a node that would take it, were that
// empty. Of nested groups some may start without the others.
func (f *verifiedForm) couldBe() bool {
	if f.chooses() {
		return true
	}
	for i := range f.PodSets {
		ps := &f.PodSets[i]
		if lowestOf(ps) > 0 && !slices.ContainsFunc(f.queue.pool.nodes, func(n *verifiedNode) bool { return n.wouldTake(f.queue, &ps.Request) }) {
			return false
		}
	}
	return true
}

// wouldTake says whether the node would take a task of the queue with nothing on it, not even
// foreign use, were it open and whole.
func (n *verifiedNode) wouldTake(q *verifiedQueue, r *allot.Request) bool {
	if n.source.Lost || !q.reaches(n) || !selects(r.Selector, n.source.Labels) ||
		slices.ContainsFunc(n.source.Taints, func(t placement.Taint) bool { return turnsAway(t, r.Tolerations) }) {
		return false
	}
	for resource, amount := range r.Resources { // all or not: order cannot matter
		if amount > n.source.Capacity[resource] {
			return false
		}
	}
	count, able := deviceCount(r.GPU), make(map[string][]int)
	for i := range n.source.Devices {
		d := &n.source.Devices[i]
		if (len(r.GPU.Models) == 0 || slices.Contains(r.GPU.Models, d.Model)) && d.Memory >= max(r.GPU.MinMemory, r.GPU.Memory) {
			able[d.Model] = append(able[d.Model], i)
		}
	}
	return count == 0 || n.missAlike(able, r.GPU, count, placement.DeviceCount, placement.IslandSize) == 0
}
