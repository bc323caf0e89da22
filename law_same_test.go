package allot

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Laws that compare the plan with another of the same state, told otherwise.

// sameAs says how the plan of a state differs from one, the counted work aside.
func (j *Judged) sameAs(got *Plan, err error) error { return samePlans(got, j.Plan, err) }

func samePlans(got, want *Plan, err error) error {
	if err != nil {
		return err
	}
	a, b := *got, *want
	a.Work, b.Work = Work{}, Work{}
	if x, y := planText(&a), planText(&b); x != y {
		return fmt.Errorf("the plan differs (-want +got):\n%s", cmp.Diff(y, x))
	}
	return nil
}

// planText is all of a plan, line by line.
func planText(p *Plan) string {
	text, err := json.MarshalIndent(p, "", "")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func sameAtAnyThreads(j *Judged) error {
	before := compact(j.State)
	threads := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(threads)
	for _, n := range []int{1, 3} {
		runtime.GOMAXPROCS(n)
		got, err := Solve(j.State)
		if err := j.sameAs(got, err); err != nil {
			return fmt.Errorf("at GOMAXPROCS %d: %w", n, err)
		}
		if got.Work != j.Plan.Work {
			return fmt.Errorf("work differs: %+v, %+v", got.Work, j.Plan.Work)
		}
	}
	if compact(j.State) != before {
		return fmt.Errorf("Solve has changed its state from %s", before)
	}
	return nil
}

func samePermuted(j *Judged) error {
	return j.sameAs(Solve(permuted(j.State, rand.New(rand.NewPCG(j.Seed, 0)))))
}

func sameRenamed(j *Judged) error {
	renamed, err := renamedState(j.State)
	if err != nil {
		return err
	}
	got, err := Solve(renamed)
	if err != nil {
		return err
	}
	got.Warnings = nil
	want, err := renamedPlan(j.Plan)
	return samePlans(got, want, err)
}

func sameReadBack(j *Judged) error {
	var state State
	if err := json.Unmarshal([]byte(compact(j.State)), &state); err != nil {
		return err
	}
	if err := j.sameAs(Solve(&state)); err != nil {
		return err
	}
	var plan Plan
	err := json.Unmarshal([]byte(planText(j.Plan)), &plan)
	return j.sameAs(&plan, err)
}

// sameFromSnapshot asks a decision for its parts and for all of it.
func sameFromSnapshot(j *Judged) error {
	snapshot, err := NewSnapshot(j.State)
	if err != nil {
		return err
	}
	d, err := snapshot.Decide()
	if err != nil {
		return err
	}
	got := &Plan{Revision: j.State.Revision, Actions: d.Actions(), NextAt: d.NextAt(), Warnings: j.Plan.Warnings}
	for p, err := range d.Pending() {
		if err != nil {
			return err
		}
		if p.Reasons, err = d.Why(context.Background(), p.Workload); err != nil {
			return err
		}
		got.Pending = append(got.Pending, p)
	}
	for share, err := range d.Shares() {
		if err != nil {
			return err
		}
		got.Shares = append(got.Shares, share)
	}
	if err := j.sameAs(got, nil); err != nil {
		return err
	}
	return j.sameAs(d.Plan())
}

// sameAfterwards: applied, the plan leaves the same reasons for everything that
// waits, and the same shares.
func sameAfterwards(j *Judged) error {
	if mayBeCut(j.State, j.Plan) || evictsWithChoice(j.State, j.Plan) {
		return nil
	}
	after, err := j.After()
	if err != nil {
		return err
	}
	again, err := Solve(after)
	if err != nil {
		return err
	}
	if len(again.Actions) > 0 {
		return fmt.Errorf("not at rest:\n%s", again.String())
	}
	return samePlans(&Plan{Pending: again.Pending, Shares: again.Shares}, &Plan{Pending: j.Plan.Pending, Shares: j.Plan.Shares}, nil)
}

func sameWeightsTimes(j *Judged) error {
	k := int64(2 + j.Seed%5)
	times := *j.State
	times.Queues = slices.Clone(times.Queues)
	for i := range times.Queues {
		q := &times.Queues[i]
		q.Resources = slices.Clone(q.Resources)
		for n := range q.Resources {
			if w := q.Resources[n].Weight; w.Given() && !w.IsUnlimited() {
				q.Resources[n].Weight = quota.Of(k * w.Amount())
			}
		}
	}
	return j.samePlan(&times, func(Share) bool { return true })
}

func sameWithEmptyQueue(j *Judged) error {
	s := j.State
	if len(s.Queues) == 0 {
		return nil
	}
	for i := range s.Pools {
		if s.Pools[i].Policy.UsageStrengthMilli > 0 {
			return nil // the weights of all count, of those that want nothing too (F6)
		}
	}
	beside := s.Queues[j.Seed%uint64(len(s.Queues))]
	empty := Queue{ID: "~empty", Pool: beside.Pool, Parent: beside.Parent} // and it reaches nothing that others do not (F1)
	empty.Nodes.Selector = &placement.Selector{Labels: map[string]string{"~": "nowhere"}}
	for _, r := range beside.Resources {
		given := QueueResource{Resource: r.Resource}
		if r.Weight.Given() {
			given.Weight = quota.Of(0)
		}
		empty.Resources = append(empty.Resources, given)
	}
	more := *s
	more.Queues = append(slices.Clone(s.Queues), empty)
	return j.samePlan(&more, func(share Share) bool { return share.Queue != empty.ID })
}

// sameWithClosedNode: a node more that is closed to all, for ever, is of use to nobody, be it as large as
// another and in the same domains. So where one node alone is left of a pool the same is decided as where a closed one
// is beside it, and by a snapshot the same whether what it lost was there when it was made or not.
func sameWithClosedNode(j *Judged) error {
	s := j.State
	ofAll := func(strategy placement.Strategy) bool { // P4, P5
		return strategy == placement.Random || strategy == placement.ShadowPrice
	}
	if slices.ContainsFunc(s.Pools, func(p Pool) bool { return ofAll(p.Policy.GPUStrategy) || ofAll(p.Policy.CPUStrategy) }) ||
		slices.ContainsFunc(s.Workloads, func(w Workload) bool { return ofAll(w.Strategy) }) {
		return nil // places are chosen by the state of all nodes, be they closed
	}
	if len(s.Nodes) == 0 {
		return nil
	}
	more, node := *s, s.Nodes[j.Seed%uint64(len(s.Nodes))]
	beside := node.ID
	node.ID, node.Lost, node.Cordoned, node.Taints = "~closed", false, true, []placement.Taint{{Key: "~"}}
	more.Nodes, more.Pools = append(slices.Clone(s.Nodes), node), slices.Clone(s.Pools)
	for i := range more.Pools {
		if set := &more.Pools[i].Nodes; slices.Contains(set.IDs, beside) {
			set.IDs = append(slices.Clone(set.IDs), node.ID)
		}
	}
	got, err := Solve(&more)
	if err != nil {
		return err
	}
	return samePlans(&Plan{Actions: got.Actions, Shares: got.Shares}, &Plan{Actions: j.Plan.Actions, Shares: j.Plan.Shares}, nil)
}

// samePlan says whether another state has the plan, its cost and some shares
// aside.
func (j *Judged) samePlan(other *State, wanted func(Share) bool) error {
	got, err := Solve(other)
	if err != nil {
		return err
	}
	plain := func(p *Plan) string {
		q := Plan{Actions: p.Actions, Pending: p.Pending, Shares: slices.Clone(p.Shares)}
		q.Shares = slices.DeleteFunc(q.Shares, func(share Share) bool { return !wanted(share) })
		return q.String()
	}
	if plain(got) != plain(j.Plan) {
		return fmt.Errorf("another plan:\n%s", got.String())
	}
	return nil
}

func permuted(s *State, random *rand.Rand) *State {
	out := *s
	out.Nodes, out.Pools = shuffle(s.Nodes, random), shuffle(s.Pools, random)
	out.Queues, out.Workloads = shuffle(s.Queues, random), shuffle(s.Workloads, random)
	out.Budgets = shuffle(s.Budgets, random)
	for i := range out.Queues {
		out.Queues[i].Resources = shuffle(out.Queues[i].Resources, random)
		out.Queues[i].Nodes.IDs = shuffle(out.Queues[i].Nodes.IDs, random)
	}
	for i := range out.Pools {
		policy := &out.Pools[i].Policy
		policy.Classes, policy.ExitActions = shuffle(policy.Classes, random), shuffle(policy.ExitActions, random)
		policy.Scoring.Mix = shuffle(policy.Scoring.Mix, random)
		out.Pools[i].Nodes.IDs = shuffle(out.Pools[i].Nodes.IDs, random)
	}
	for i := range out.Workloads {
		k := &out.Workloads[i]
		k.Tasks = shuffle(k.Tasks, random)
		for j := range k.Tasks {
			k.Tasks[j].Devices = shuffle(k.Tasks[j].Devices, random)
		}
		k.Groups, k.ExitActions = shuffle(k.Groups, random), shuffle(k.ExitActions, random)
		if k.Reserved != nil {
			promise := clonePromise(*k.Reserved)
			promise.Tasks, promise.WaitsFor = shuffle(promise.Tasks, random), shuffle(promise.WaitsFor, random)
			for j := range promise.Tasks {
				promise.Tasks[j].Devices = shuffle(promise.Tasks[j].Devices, random)
			}
			k.Reserved = &promise
		}
	}
	return &out
}

func shuffle[T any](list []T, random *rand.Rand) []T {
	out := slices.Clone(list)
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// rename keeps the order of IDs and "" as it is.
func rename(id string) string {
	if id == "" {
		return ""
	}
	return "~" + id
}

func renamedState(s *State) (*State, error) {
	var out State
	if err := json.Unmarshal([]byte(compact(s)), &out); err != nil {
		return nil, err
	}
	renameFields(reflect.ValueOf(&out).Elem())
	return &out, nil
}

func renamedPlan(p *Plan) (*Plan, error) {
	var out Plan
	text, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	out.Warnings = nil // their paths name IDs inside; dropped on the other side too
	renameFields(reflect.ValueOf(&out).Elem())
	return &out, nil
}

// idFields are the fields that hold IDs of nodes, pools, queues or workloads.
var idFields = map[string]bool{
	"ID": true, "Pool": true, "Queue": true, "Parent": true, "Node": true, "Workload": true, "IDs": true,
	"After": true,
}

func renameFields(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			renameFields(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			renameFields(v.Index(i))
		}
	case reflect.Struct:
		_, group := v.Interface().(Group) // a group's parent is no ID of S3
		for i := range v.NumField() {
			field, value := v.Type().Field(i), v.Field(i)
			switch {
			case !field.IsExported() || group:
			case field.Name == "Domain" && value.Kind() == reflect.String && v.FieldByName("Level").String() == NodeLevel:
				value.SetString(rename(value.String())) // the domains of this level are nodes
			case idFields[field.Name] && value.Kind() == reflect.String:
				value.SetString(rename(value.String()))
			case idFields[field.Name] && value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.String:
				for j := range value.Len() {
					value.Index(j).SetString(rename(value.Index(j).String()))
				}
			default:
				renameFields(value)
			}
		}
	}
}

// Laws of what time alone changes.

// stillUntilNext: once a plan is applied nothing is done or promised otherwise before NextAt, if nothing
// but time passes (B10). Where something leaves or is claimed nothing can be told: it is as if claims began
// now, and what is past its limit ended soon, whenever that is.
func stillUntilNext(j *Judged) error {
	if mayBeCut(j.State, j.Plan) || evictsWithChoice(j.State, j.Plan) {
		return nil
	}
	after, err := j.After()
	if err != nil {
		return err
	}
	plan, err := Solve(after)
	if err != nil || after.Now.IsZero() || len(plan.Actions) > 0 || slices.ContainsFunc(after.Workloads, func(w Workload) bool { return endsByNow(&w, after.Now) }) {
		return err
	}
	for _, at := range instantsBefore(after.Now, plan.NextAt) {
		then := *after
		then.Now = at
		later, err := Solve(&then)
		if err != nil {
			return err
		}
		if len(later.Actions) > 0 {
			return fmt.Errorf("next at %v, and at %v\n%s", plan.NextAt, at, later.String())
		}
		if was, is := promisesOf(plan), promisesOf(later); !reflect.DeepEqual(was, is) {
			return fmt.Errorf("next at %v, and at %v is promised %+v, before %+v", plan.NextAt, at, is, was)
		}
	}
	return nil
}

// endsByNow says whether when some task of a workload is predicted to end depends on what time it is, at
// any time.
func endsByNow(w *Workload, now time.Time) bool {
	return slices.ContainsFunc(w.Tasks, func(t Task) bool {
		begun := t.began()
		limit := w.TimeLimit
		past := !t.Until.IsZero() && !t.Until.After(now) ||
			limit.Given() && !limit.IsUnlimited() && begun.Unix()+limit.Amount() <= now.Unix()
		return t.Phase != Running || past
	})
}

// instantsBefore are some instants from one up to another, which may be none.
func instantsBefore(now, next time.Time) []time.Time {
	if next.IsZero() {
		return []time.Time{now.Add(time.Hour), now.Add(1000 * time.Hour)}
	}
	return []time.Time{now.Add(next.Sub(now) / 2).Truncate(time.Microsecond), next.Add(-time.Microsecond)}
}

// promisesOf are the promises that stand after a plan, by workload.
func promisesOf(p *Plan) map[string]Promise {
	out := make(map[string]Promise)
	for i := range p.Reservations {
		if r := &p.Reservations[i]; r.Change != PromiseWithdrawn {
			out[r.Workload] = r.Promise
		}
	}
	return out
}
