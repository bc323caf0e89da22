package allot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/verify"
)

// A hostMode is how a host carries plans out.
type hostMode uint8

const (
	applies     hostMode = iota // in full and at once
	begins                      // in full, while victims take their time
	appliesPart                 // the first plans only in part, at once
	beginsPart                  // the first plans only in part, and victims take their time
	hostModes
)

var hostModeNames = [...]string{"apply", "begin", "apply a part", "begin a part"}

// A schedule is all that a host decides between two causes: with the state it
// reproduces what happens.
type schedule struct {
	mode hostMode
	seed uint64
	// rounds ends it early, with claims in flight; 0 goes on until rest.
	rounds int
	// mixed asks snapshots too what they decide, and what is promised at rest.
	mixed bool
}

// A restError is a broken promise of stability.
type restError struct {
	kind string // what is broken; the shrinker keeps it
	text string
	log  []string // the plans and what the host did with them
}

func (e *restError) Error() string { return e.kind + ": " + e.text }

// A resting is a stretch of time without a new cause: a host solves, carries
// out and sees victims leave, until nothing happens any more.
type resting struct {
	chance
	schedule
	s     *allot.State
	first *allot.Plan // the first plan
	next  time.Time   // when the last plan says that it could be another
	// calm: s came from a plan carried out in full that nothing had cut, and
	// only what that plan evicted has left since. Then nothing is left to do but
	// to start what is claimed (M5, S4).
	calm bool
	// parts is how many more plans are carried out in part.
	parts int
	// foreign are the tasks that were leaving before the plan that made it calm:
	// that they leave is a cause.
	foreign map[string]bool
	// anew are who was evicted and may start in another form, or with other
	// tasks: once it has left, not before (S5). That it has left is news, once.
	anew map[string]bool
	// touched counts by workload the plans since the last cause that evicted,
	// shrank or moved it; hurting counts all plans that did.
	touched map[string]int
	hurting int
	stats   *stabilityStats
	log     []string
}

// rest lets the host go on with s until nothing happens, and returns the state
// then; s stays as it is.
func rest(s *allot.State, how schedule, stats *stabilityStats) (*allot.State, *restError) {
	r := &resting{chance: rand.New(rand.NewPCG(how.seed, 5)), schedule: how, stats: stats}
	r.s, r.foreign, r.touched, r.anew = copyState(s), leavingTasks(s), make(map[string]int), make(map[string]bool)
	if how.mode == appliesPart || how.mode == beginsPart {
		r.parts = 1 + r.IntN(3)
	}
	const most = 200 // beyond all doubt
	for round := 0; round < most; round++ {
		if how.rounds > 0 && round == how.rounds {
			return r.s, nil
		}
		r.log = append(r.log, fmt.Sprintf("round %d:", round))
		if done, err := r.round(); err != nil || done {
			return r.s, err
		}
	}
	return nil, r.broken("no rest", "not within %d rounds", most)
}

func (r *resting) broken(kind, format string, args ...any) *restError {
	return &restError{kind: kind, text: fmt.Sprintf(format, args...), log: r.log}
}

// round solves once and does what the plan says; done says that all is at rest.
func (r *resting) round() (done bool, broken *restError) {
	p, broken := r.solve(r.s)
	if broken != nil {
		return false, broken
	}
	if r.first == nil {
		r.first = p
		r.stats.decision(r.s, p)
		if broken := r.risen(p); broken != nil {
			return false, broken
		}
	}
	if len(p.Actions) == 0 {
		if r.leave() {
			return false, nil
		}
		return true, r.later()
	}
	if broken := r.judge(p); broken != nil {
		return false, broken
	}
	if broken := r.carryOut(p); broken != nil {
		return false, broken
	}
	if (r.mode == begins || r.mode == beginsPart) && r.IntN(3) == 0 {
		r.leave()
	}
	return false, nil
}

// verifyPlan is a variable so that a hunt may look past it.
var verifyPlan = verify.Plan

// solve solves, and has Verify look at the plan.
func (r *resting) solve(s *allot.State) (*allot.Plan, *restError) {
	p, err := solveOrPanic(s)
	r.stats.solves++
	if err != nil {
		return nil, r.broken("solve", "%v", err)
	}
	r.log = append(r.log, strings.TrimSpace(actionsText(p)))
	if p.Work.Stopped {
		return nil, r.broken("stopped", "the solve came to no rest")
	}
	if err := verifyPlan(s, p); err != nil {
		return nil, r.broken("verify", "%v", err)
	}
	if r.next = p.NextAt; r.mixed {
		if err := decidesAlike(s, p); err != nil {
			return nil, r.broken("snapshot", "%v", err)
		}
		if moved := anyMoved(p); r.calm && s == r.s && len(p.Actions) == 0 && moved != "" {
			return nil, r.broken("promise", "%s with no new cause", moved)
		}
	}
	return p, nil
}

// solveLimit is more than ten thousand times what a solve takes here: the race detector
// on a machine that has much else to do takes some hundred times as long.
var solveLimit = 20 * time.Second

// solveOrPanic makes an error of a panic and of a solve without end, so that
// they can be shrunk.
func solveOrPanic(s *allot.State) (*allot.Plan, error) {
	type answer struct {
		p   *allot.Plan
		err error
	}
	answers := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(context.Background(), solveLimit)
	defer cancel()
	go func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				answers <- answer{nil, fmt.Errorf("panic: %v", panicked)}
			}
		}()
		p, err := allot.SolveContext(ctx, s)
		answers <- answer{p, err}
	}()
	late := time.NewTimer(2 * solveLimit)
	defer late.Stop()
	select {
	case a := <-answers:
		return a.p, a.err
	case <-late.C:
		return nil, errors.New("no end")
	}
}

func actionsText(p *allot.Plan) string {
	plain := allot.Plan{Actions: p.Actions}
	if len(p.Actions) == 0 {
		return "no action"
	}
	return plain.String()
}

// hurts says that the action disturbs what runs.
func hurts(a allot.Action) bool {
	return a.Kind == allot.Evict || a.Kind == allot.Shrink || a.Kind == allot.Move
}

// judge asks whether the plan may do what it does, after all that was done
// since the last cause.
func (r *resting) judge(p *allot.Plan) *restError {
	hurt, begun, begunSets := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	r.leftIsNews(p)
	for _, a := range p.Actions {
		if hurts(a) {
			hurt[a.Workload] = true
		}
		if a.Kind == allot.Evict && begun[a.Workload] || a.Kind == allot.Shrink && slices.ContainsFunc(a.Tasks, func(t allot.Placement) bool {
			return begunSets[a.Workload+" "+t.PodSet] // of other sets some may go while others start
		}) {
			return r.broken("in vain", "%s starts and is evicted by one plan", a.Workload)
		}
		claimed := startsClaims(r.s, a)
		// Who waited for its claims alone may grow once they run.
		grows := a.Kind == allot.Resize && begun[a.Workload]
		begun[a.Workload] = begun[a.Workload] || a.Kind == allot.Start
		for _, t := range a.Tasks {
			begunSets[a.Workload+" "+t.PodSet] = begunSets[a.Workload+" "+t.PodSet] || a.Kind == allot.Start
		}
		if r.calm && !claimed && !grows && !startsBesideClaims(r.s, a) {
			return r.broken("not calm", "%v of %s with no new cause", a.Kind, a.Workload)
		}
	}
	if len(hurt) > 0 {
		r.hurting++
	}
	twice := ""
	for id := range hurt { // the least name of them, whatever the order
		if r.touched[id]++; r.touched[id] > 1 && (twice == "" || id < twice) {
			twice = id
		}
	}
	if cut := mayBeCut(r.s, p); twice != "" && !cut {
		return r.broken("twice", "%s is disturbed again with no new cause", twice)
	}
	if most := len(r.s.Workloads) + 4; r.hurting > most {
		return r.broken("rounds", "more than %d plans evict, with no new cause", most)
	}
	return nil
}

// startsClaims says that the action only starts tasks where they are claimed.
func startsClaims(s *allot.State, a allot.Action) bool {
	if a.Kind != allot.Start && a.Kind != allot.Resize {
		return false
	}
	w := s.Workloads[slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == a.Workload })]
	for _, t := range a.Tasks {
		if !slices.ContainsFunc(w.Tasks, func(claim allot.Task) bool {
			return claim.Phase == allot.Claimed && claim.PodSet == t.PodSet && claim.Index == t.Index && claim.Node == t.Node
		}) {
			return false
		}
	}
	return true
}

// startsBesideClaims says that the action starts something at once on nodes of which places are claimed and others are
// being left, and where not all of that has room at once: it is free beside the ones and beside the others, which overlap
// (S4). The plan that gave the claims could not start it, as what it starts itself stands beside what is leaving.
func startsBesideClaims(s *allot.State, a allot.Action) bool {
	if a.Kind != allot.Start && a.Kind != allot.Resize || len(a.After) > 0 {
		return false
	}
	own := s.Workloads[slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == a.Workload })]
	return !slices.ContainsFunc(a.Tasks, func(t allot.Placement) bool { return !overlapsOn(s, t.Node, requestOf(&own, t.PodSet)) })
}

// overlapsOn says whether what stands on a node, leaves it and claims it, and one request more, ask more of some amount
// than the node has.
func overlapsOn(s *allot.State, node string, more *allot.Request) bool {
	sum, phases := maps.Clone(more.Resources), make(map[allot.Phase]bool)
	for i := range s.Workloads {
		w := &s.Workloads[i]
		for _, t := range w.Tasks {
			if t.Node != node {
				continue
			}
			phases[t.Phase] = true
			for name, amount := range requestOf(w, t.PodSet).Resources { // into sums: order cannot matter
				if _, asked := sum[name]; asked {
					sum[name] += amount
				}
			}
		}
	}
	n := s.Nodes[slices.IndexFunc(s.Nodes, func(n allot.Node) bool { return n.ID == node })]
	for name, amount := range sum { // any: order cannot matter
		if amount > n.Capacity[name]-n.Foreign[name] {
			return phases[allot.Claimed] && phases[allot.Terminating]
		}
	}
	return false
}

// requestOf is what a task of a workload asks for, of its own form or of another that has the pod set.
func requestOf(w *allot.Workload, podSet string) *allot.Request {
	for _, sets := range append([][]allot.PodSet{w.PodSets}, podSetsOf(w.Alternatives)...) {
		if at := slices.IndexFunc(sets, func(set allot.PodSet) bool { return set.Name == podSet }); at >= 0 {
			return &sets[at].Request
		}
	}
	return new(allot.Request)
}

// podSetsOf are those of each form.
func podSetsOf(forms []allot.Form) (out [][]allot.PodSet) {
	for i := range forms {
		out = append(out, forms[i].PodSets)
	}
	return out
}

// mayBeCut says that a cap or a budget may have kept the plan from its end, so
// that the next one goes on (M5).
func mayBeCut(s *allot.State, p *allot.Plan) bool {
	for i := range s.Pools {
		if s.Pools[i].Policy.MaxEvictions > 0 || s.Pools[i].Policy.SearchBudget > 0 {
			return true
		}
	}
	return len(s.Budgets) > 0 || slices.ContainsFunc(p.Pending, func(w allot.Pending) bool {
		return slices.ContainsFunc(w.Reasons, func(r allot.Reason) bool { return r.Code == allot.SearchCut })
	})
}

// carryOut does what the plan says, or a part of it.
func (r *resting) carryOut(p *allot.Plan) *restError {
	some, full := allot.ApplySome, true
	if r.mode == begins || r.mode == beginsPart {
		some = allot.BeginSome
	}
	var keep func(int, allot.Action) bool
	if r.parts > 0 {
		r.parts--
		kept := r.part(p)
		full = !slices.Contains(kept, false)
		keep = func(i int, _ allot.Action) bool { return kept[i] }
		r.log = append(r.log, fmt.Sprint("of which are carried out: ", kept))
	}
	next, err := some(r.s, p, keep)
	if !full && (err != nil || allot.Check(next) != nil) {
		// What is left out was needed; but the beginning of a plan never needs its end.
		first := slices.IndexFunc(p.Actions, func(a allot.Action) bool { return a.Kind == allot.Start || a.Kind == allot.Resize })
		next, err = some(r.s, p, func(i int, _ allot.Action) bool { return i < first })
		r.log = append(r.log, fmt.Sprintf("no, only the first %d", max(0, first)))
	}
	if err != nil {
		return r.broken("carry out", "%v", err)
	}
	r.stats.hostSteps++
	sweepEnded(next)
	if !full {
		r.cause()
	}
	if calm := full && !mayBeCut(r.s, p); calm != r.calm {
		r.calm, r.foreign = calm, leavingTasks(r.s)
	}
	r.noteAnew(p)
	r.s = next
	return nil
}

// noteAnew notes who is evicted by the plan and has a choice of what to start with.
func (r *resting) noteAnew(p *allot.Plan) {
	for _, a := range p.Actions {
		w := r.s.Workloads[slices.IndexFunc(r.s.Workloads, func(w allot.Workload) bool { return w.ID == a.Workload })]
		if _, known := r.anew[w.ID]; !known && a.Kind == allot.Evict && len(w.Alternatives)+len(w.PodSets) > 1 {
			r.anew[w.ID] = true
		}
	}
}

// leftIsNews notes a cause where one of those starts.
func (r *resting) leftIsNews(p *allot.Plan) {
	for _, a := range p.Actions {
		if a.Kind == allot.Start && r.anew[a.Workload] {
			r.anew[a.Workload] = false
			r.cause()
		}
	}
}

// part draws which actions of a plan are carried out: those that a later kept
// one rests on are kept too.
func (r *resting) part(p *allot.Plan) []bool {
	kept := make([]bool, len(p.Actions))
	for i := len(p.Actions) - 1; i >= 0; i-- {
		a := &p.Actions[i]
		kept[i] = kept[i] || r.IntN(3) > 0
		if !kept[i] {
			continue
		}
		for k := range p.Actions[:i] {
			b := &p.Actions[k]
			if b.Workload == a.Workload || b.Kind == allot.Unclaim || slices.Contains(a.After, b.Workload) {
				kept[k] = true
			}
		}
	}
	return kept
}

// leavingTasks names what is terminating.
func leavingTasks(s *allot.State) map[string]bool {
	names := make(map[string]bool)
	for i := range s.Workloads {
		for _, t := range s.Workloads[i].Tasks {
			if t.Phase == allot.Terminating {
				names[fmt.Sprint(s.Workloads[i].ID, " ", t.PodSet, " ", t.Index)] = true
			}
		}
	}
	return names
}

// leave has some of what terminates leave; it says whether there was any.
func (r *resting) leave() bool {
	before := leavingTasks(r.s)
	if !leave(r, r.s) {
		return false
	}
	r.stats.hostSteps++
	after := leavingTasks(r.s)
	var left []string
	for name := range before { // sorted below
		if !after[name] {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	r.log = append(r.log, "left: "+strings.Join(left, ", "))
	if slices.ContainsFunc(left, func(name string) bool { return r.foreign[name] }) {
		r.cause()
	}
	return true
}

// cause notes that something has happened that may change what is right.
func (r *resting) cause() {
	r.calm, r.hurting = false, 0
	clear(r.touched)
}

// later: where nothing is protected for a time, time alone is no cause.
func (r *resting) later() *restError {
	if !r.calm || !timeless(r.s) || r.s.Now.IsZero() || r.IntN(4) > 0 {
		return nil
	}
	late := *r.s
	if late.Now = late.Now.Add(time.Hour); !r.next.IsZero() && !r.next.After(late.Now) {
		late.Now = r.next.Add(-time.Second) // until when nothing is decided otherwise (B10)
	}
	if !late.Now.After(r.s.Now) {
		return nil
	}
	p, broken := r.solve(&late)
	if broken == nil && len(p.Actions) > 0 {
		broken = r.broken("later", "%v of %s, only because time passed", p.Actions[0].Kind, p.Actions[0].Workload)
	}
	return broken
}

// timeless says that nothing in the state depends on the time.
func timeless(s *allot.State) bool {
	for i := range s.Queues {
		if s.Queues[i].MinRuntime != (allot.MinRuntime{}) {
			return false
		}
	}
	for i := range s.Pools {
		if p := &s.Pools[i].Policy; p.MinRuntime != (allot.MinRuntime{}) || p.StaleGangGrace.Given() {
			return false
		}
	}
	return true
}

// risen asks for the potential of the first plan.
func (r *resting) risen(p *allot.Plan) *restError {
	counted, fallen := risen(r.s, p)
	if fallen != "" {
		return r.broken("potential", "%s", fallen)
	}
	if counted {
		r.stats.features["potential asked"]++
		if slices.ContainsFunc(p.Actions, hurts) {
			r.stats.features["potential asked of evictions"]++
		}
	}
	return nil
}

// TestPromiseLateAgain: a promise that is tried at the time that the state has, where it then yields once more to one
// that is laid elsewhere for it, is not tried again and again (B7). The state is of a replay of 40,000 jobs.
func TestPromiseLateAgain(t *testing.T) {
	text, err := os.ReadFile("testdata/promises/late-again.json")
	if err != nil {
		t.Fatal(err)
	}
	var s allot.State
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	plan, err := allot.Solve(&s)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Work.Stopped {
		t.Error("the solve came to no rest")
	}
	for i := range plan.Reservations {
		r := &plan.Reservations[i]
		if r.Change == allot.PromiseLater && r.Cause.Code == 0 {
			t.Errorf("%s is later without a cause", r.Workload)
		}
	}
}
