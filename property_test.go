package allot

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The properties hold for every state. Each is named by its rule.

// solved draws a state and solves it.
func solved(t *rapid.T) (*State, *Plan) {
	s := genState(t)
	return s, mustSolve(t, s)
}

func mustSolve(t *rapid.T, s *State) *Plan {
	t.Helper()
	p, err := Solve(s)
	if err != nil {
		t.Fatalf("Solve: %v\nof %s", err, asJSON(t, s))
	}
	if p.Work.Stopped {
		t.Fatalf("the solve came to no rest, of %s", asJSON(t, s))
	}
	return p
}

func asJSON(t *rapid.T, v any) string {
	text, err := json.MarshalIndent(v, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// same fails unless the two plans are equal, the counted work aside.
func same(t *rapid.T, what string, s *State, got, want *Plan) {
	t.Helper()
	a, b := *got, *want
	a.Work, b.Work = Work{}, Work{}
	if d := cmp.Diff(asJSON(t, &b), asJSON(t, &a)); d != "" {
		t.Fatalf("%s: the plan differs (-want +got):\n%s\nof %s", what, d, asJSON(t, s))
	}
}

// S1: the same state, the same plan, at every GOMAXPROCS, and nothing of the
// state is modified.
func TestS1SameStateSamePlan(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		before := asJSON(t, s)
		want := mustSolve(t, s)
		for _, procs := range []int{1, 3} {
			runtime.GOMAXPROCS(procs)
			got := mustSolve(t, s)
			same(t, fmt.Sprint("at GOMAXPROCS ", procs), s, got, want)
			if got.Work != want.Work {
				t.Fatalf("work differs: %+v, %+v", got.Work, want.Work)
			}
		}
		if asJSON(t, s) != before {
			t.Fatalf("Solve has changed its state:\n%s", cmp.Diff(before, asJSON(t, s)))
		}
	})
}

// S3: the order of input lists never matters.
func TestS3Permutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := solved(t)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		same(t, "permuted", s, mustSolve(t, permuted(s, random)), want)
	})
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
	}
	return &out
}

func shuffle[T any](list []T, random *rand.Rand) []T {
	out := slices.Clone(list)
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// S3: renaming IDs in an order-preserving way renames the plan.
func TestS3Renaming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := solved(t)
		renamed := renamedState(t, s)
		got := mustSolve(t, renamed)
		got.Warnings = nil
		same(t, "renamed", s, got, renamedPlan(t, want))
	})
}

// rename keeps the order of IDs and "" as it is.
func rename(id string) string {
	if id == "" {
		return ""
	}
	return "~" + id
}

func renamedState(t *rapid.T, s *State) *State {
	var out State
	if err := json.Unmarshal([]byte(asJSON(t, s)), &out); err != nil {
		t.Fatal(err)
	}
	renameFields(reflect.ValueOf(&out).Elem())
	return &out
}

func renamedPlan(t *rapid.T, p *Plan) *Plan {
	var out Plan
	if err := json.Unmarshal([]byte(asJSON(t, p)), &out); err != nil {
		t.Fatal(err)
	}
	out.Warnings = nil // their paths name IDs inside; dropped on the other side too
	renameFields(reflect.ValueOf(&out).Elem())
	return &out
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

// V1: JSON loses nothing that a plan depends on, and reads back to the same.
func TestV1RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := solved(t)
		var back State
		if err := json.Unmarshal([]byte(asJSON(t, s)), &back); err != nil {
			t.Fatal(err)
		}
		same(t, "of the state read back", s, mustSolve(t, &back), want)
		var plan Plan
		if err := json.Unmarshal([]byte(asJSON(t, want)), &plan); err != nil {
			t.Fatal(err)
		}
		same(t, "read back", s, &plan, want)
	})
}

// P1, P2, G1, Q2, Q3, Q5, Q8, Q10, S4, S5, S7, X1: what Verify re-checks from
// first principles, after every prefix of the actions.
func TestPlansAreLawful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, p := solved(t)
		if err := VerifyPlan(s, p); err != nil {
			t.Fatalf("Verify: %v\nof %s\n%s", err, asJSON(t, s), p.Text())
		}
	})
}

// mayBeCut says that a cap, a disruption budget or a budget of the search may
// have kept the plan from its end, so that the next one goes on (M5).
func mayBeCut(s *State, p *Plan) bool {
	for i := range s.Pools {
		if s.Pools[i].Policy.MaxEvictions > 0 {
			return true
		}
	}
	return len(s.Budgets) > 0 || searchCut(p)
}

// searchCut says that a search of the plan was cut.
func searchCut(p *Plan) bool {
	return slices.ContainsFunc(p.Pending, func(w Pending) bool {
		return slices.ContainsFunc(w.Reasons, func(r Reason) bool { return r.Code == SearchCut })
	})
}

// M5, X1: applying a plan and solving again gives no action, and the same
// reasons for everything that waits.
func TestM5Fixpoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, p := solved(t)
		after, err := Apply(s, p)
		if err != nil {
			t.Fatal(err)
		}
		again := mustSolve(t, after)
		if mayBeCut(s, p) {
			return
		}
		if len(again.Actions) > 0 {
			t.Fatalf("not at rest:\n%s\nafter\n%s\nof %s", again.Text(), p.Text(), asJSON(t, s))
		}
		if d := cmp.Diff(asJSON(t, &Plan{Pending: p.Pending}), asJSON(t, &Plan{Pending: again.Pending})); d != "" {
			t.Fatalf("reasons differ:\n%s\nof %s", d, asJSON(t, s))
		}
		if d := cmp.Diff(asJSON(t, &Plan{Shares: p.Shares}), asJSON(t, &Plan{Shares: again.Shares})); d != "" {
			t.Fatalf("shares differ:\n%s\nof %s", d, asJSON(t, s))
		}
	})
}
