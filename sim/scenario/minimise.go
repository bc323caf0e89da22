package scenario

import (
	"errors"
	"slices"

	"github.com/allotsched/allot"
)

// A Predicate says whether a state and its plan show what somebody looks for.
// It must depend on nothing else, and change nothing of them.
type Predicate func(*allot.State, *allot.Plan) bool

// WaitsFor is shown where the workload waits and the code is among its reasons.
func WaitsFor(workload string, code allot.Code) Predicate {
	return waits(workload, func(reasons []allot.Reason) bool {
		return slices.ContainsFunc(reasons, func(r allot.Reason) bool { return r.Code == code })
	})
}

// WaitsOnlyFor is shown where the workload waits and has no reason of another
// code: what is left has no other obstacle then, such as too few nodes.
func WaitsOnlyFor(workload string, code allot.Code) Predicate {
	return waits(workload, func(reasons []allot.Reason) bool {
		return !slices.ContainsFunc(reasons, func(r allot.Reason) bool { return r.Code != code })
	})
}

func waits(workload string, why func([]allot.Reason) bool) Predicate {
	return func(_ *allot.State, p *allot.Plan) bool {
		return slices.ContainsFunc(p.Pending, func(w allot.Pending) bool { return w.Workload == workload && why(w.Reasons) })
	}
}

// Loses is shown where the workload is evicted, shrunk or moved, for a reason of
// one of the codes, or for any if none is given.
func Loses(workload string, codes ...allot.Code) Predicate {
	return func(_ *allot.State, p *allot.Plan) bool {
		return slices.ContainsFunc(p.Actions, func(a allot.Action) bool {
			takes := a.Kind == allot.Evict || a.Kind == allot.Shrink || a.Kind == allot.Move
			return takes && a.Workload == workload && (len(codes) == 0 || slices.Contains(codes, a.Reason.Code))
		})
	}
}

// A Minimal is what [Minimise] has come to.
type Minimal struct {
	// State still shows it, and Plan is what [allot.Solve] makes of it.
	State *allot.State
	Plan  *allot.Plan
	// Solves is how often a state was solved on the way.
	Solves int
	// Cut says that the limit ended it, so that something may be left to take
	// away.
	Cut bool
}

// defaultSolves is the limit where none is given.
const defaultSolves = 20_000

// ErrNotShown is the error of [Minimise] for a state that does not show what is
// looked for.
var ErrNotShown = errors.New("scenario: the state does not show what is looked for")

// Minimise takes away from a state all that it can while the predicate still
// holds for what is left and its plan: to find out what a surprising plan hangs
// on, and to report it in a few lines ([Report]). s stays as it is.
//
// What is left is minimal in the sense that no single step takes away any more:
// neither can a node, pool, queue, workload, budget, task, device, pod set,
// group, form, class, label or other entry of a list or map go (with what refers
// to it, or alone), nor a queue be replaced by those below it, a field be as if
// it were not given, or a number be smaller. It need not be the smallest of all
// states that show it, though some steps take away two things at once, such as
// a node and a task of a gang. Numbers go down to 0, to 1 in their unit, and by halves of
// what is left; amounts stay as round as they were, counts have the unit 1. Names
// stay.
//
// The steps have one order, so the same state and predicate come to the same
// end. The limit is the number of solves, 0 is 20,000; large parts go first, so
// that a limit leaves something readable. The error is that of [allot.Solve] for
// s, or [ErrNotShown].
func Minimise(s *allot.State, shows Predicate, limit int) (*Minimal, error) {
	plan, err := allot.Solve(s)
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = new(allot.State)
	}
	m := &minimiser{state: deepCopy(*s), plan: plan, shows: shows, limit: limit, solves: 1}
	if m.limit <= 0 {
		m.limit = defaultSolves
	}
	if !shows(&m.state, plan) {
		return nil, ErrNotShown
	}
	for again := true; again; {
		again = m.dropChunks()
		again = m.each(wholeSteps(&m.state)) || again
		again = m.each(fieldSteps(&m.state)) || again
		again = m.each(jointSteps(&m.state)) || again
	}
	return &Minimal{State: &m.state, Plan: m.plan, Solves: m.solves, Cut: m.cut}, nil
}

// A minimiser holds the smallest state found so far.
type minimiser struct {
	state  allot.State
	plan   *allot.Plan
	shows  Predicate
	limit  int
	solves int
	cut    bool
}

// A step tries to make the state smaller and says whether it did.
type step func(m *minimiser) bool

// try makes a change to a copy of the state, and keeps it if it is still shown.
// The change says whether it changed anything.
func (m *minimiser) try(change func(*allot.State) bool) bool {
	if m.cut {
		return false
	}
	smaller := deepCopy(m.state)
	if !change(&smaller) || allot.Check(&smaller) != nil {
		return false
	}
	if m.solves >= m.limit {
		m.cut = true
		return false
	}
	m.solves++
	plan, err := allot.Solve(&smaller)
	if err != nil || !m.shows(&smaller, plan) {
		return false
	}
	m.state, m.plan = smaller, plan
	return true
}

// each tries all steps, one after the other.
func (m *minimiser) each(steps []step) (changed bool) {
	for _, s := range steps {
		changed = s(m) || changed
	}
	return changed
}

// trying is the step that makes one change.
func trying(change func(*allot.State) bool) step {
	return func(m *minimiser) bool { return m.try(change) }
}

// A bulk is a list of things of which many may go at once.
type bulk struct {
	ids  func(*allot.State) []string
	drop func(*allot.State, []string) bool
}

// dropChunks drops pools, queues, nodes, workloads, budgets and reservations: a half of each,
// then quarters, and so on down to single ones.
func (m *minimiser) dropChunks() (changed bool) {
	bulks := []bulk{
		{func(s *allot.State) []string { return idsOf(s.Pools, poolID) }, dropPools},
		{func(s *allot.State) []string { return idsOf(s.Queues, queueID) }, dropQueues},
		{func(s *allot.State) []string { return idsOf(s.Nodes, nodeID) }, dropSlice},
		{func(s *allot.State) []string { return idsOf(s.Nodes, nodeID) }, dropNodes},
		{func(s *allot.State) []string { return idsOf(s.Workloads, workloadID) }, dropWorkloads},
		{func(s *allot.State) []string { return idsOf(s.Budgets, budgetOwner) }, dropBudgets},
		{func(s *allot.State) []string { return idsOf(s.Reservations, reservationID) }, dropReservations},
	}
	for parts, more := 1, true; more; parts *= 2 {
		more = false
		for _, b := range bulks {
			ids := b.ids(&m.state)
			more = more || len(ids) > parts
			size := max(1, (len(ids)+parts-1)/parts)
			for end := len(ids); end > 0; end -= size { // the last first, as they are mostly the newest
				some := ids[max(0, end-size):end]
				changed = m.try(func(s *allot.State) bool { return b.drop(s, some) }) || changed
			}
		}
	}
	return changed
}

func idsOf[T any](list []T, id func(*T) string) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = id(&list[i])
	}
	return ids
}

func workloadID(w *allot.Workload) string          { return w.ID }
func queueID(q *allot.Queue) string                { return q.ID }
func nodeID(n *allot.Node) string                  { return n.ID }
func poolID(p *allot.Pool) string                  { return p.ID }
func budgetOwner(b *allot.DisruptionBudget) string { return b.Owner }
func reservationID(r *allot.Reservation) string    { return r.ID }
