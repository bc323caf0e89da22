package allot

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// exact compares two States or Plans field by field.
var exact = cmp.Options{cmpopts.EquateComparable(quota.Bound{})}

// S1, V1: what genState draws is valid, and JSON keeps it exactly.
func TestStateRoundTrip(t *testing.T) {
	for name, gen := range generators {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			s := gen(t)
			before, _ := s.MarshalJSON()
			if err := Check(s); err != nil {
				t.Fatalf("the generator's state is invalid: %v", err)
			}
			if after, _ := s.MarshalJSON(); !bytes.Equal(before, after) {
				t.Fatalf("Check modified the state:\n%s\n%s", before, after)
			}
			roundTrip(t, s)
		}))
	}
}

type fataler interface{ Fatalf(string, ...any) }

func roundTrip(t fataler, s *State) {
	first, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	var read State
	if err := read.UnmarshalJSON(first); err != nil {
		t.Fatalf("unmarshal: %v\n%s", err, first)
	}
	if diff := cmp.Diff(s, &read, exact); diff != "" {
		t.Fatalf("the round trip changed the state:\n%s", diff)
	}
	second, err := read.MarshalJSON()
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("second marshal: %v\n%s\n%s", err, first, second)
	}
}

// jsonRows are JSON of a State and the whole line that reading it must answer.
var jsonRows = []struct {
	code FaultCode
	data string
	want string
}{
	{FaultSyntax, ``, `$: must be a value, is the end at offset 0`},
	{FaultSyntax, `{"version":1`, `$: must go on with ',' or '}', is the end at offset 12`},
	{FaultSyntax, `{"version":1,}`, `$: must have a name in quotes here, is '}' at offset 13`},
	{FaultSyntax, `{"version" 1}`, `$: must have ':' here, is '1' at offset 11`},
	{FaultSyntax, `{"version":1,"nodes":[{"id":"a" "b"}]}`, `nodes[0]: must go on with ',' or '}', is '"' at offset 32`},
	{FaultSyntax, `{"version":1,"nodes":[{"id":"a` + "\n" + `"}]}`, `nodes[0].id: must escape control characters, is '\n' at offset 30`},
	{FaultSyntax, `{"version":1,"nodes":[{"id":"\x"}]}`, `nodes[0].id: must be an escape of JSON, is '\\' at offset 29`},
	{FaultSyntax, `{"version":1,"nodes":[{"rank":01}]}`, `nodes[0]: must go on with ',' or '}', is '1' at offset 31`},
	{FaultSyntax, `{"version":1,"nodes":[{"rank":-}]}`, `nodes[0].rank: must be a digit, is '}' at offset 31`},
	{FaultSyntax, `{"version":1,"nodes":[{"lost":tru}]}`, `nodes[0].lost: must be true, is 't' at offset 30`},
	{FaultSyntax, "{\"version\":1,\"nodes\":\xff}", `nodes: must be a value, is byte 0xff at offset 21`},
	{FaultSyntax, `{"version":1,"x":` + nestedArrays + `}`, `x: must not nest deeper, is '[' at offset 82`},
	{FaultVersion, `{}`, `version: must be 1`},
	{FaultVersion, `{"version":2,"other":{"form":[]}}`, `version: must be 1, is 2`},
	{FaultUnknownField, `{"version":1,"node":[{"id":"a"}]}`, `node: must not be there: no such field, is [{"id":"a"}]`},
	{FaultUnknownField, `{"version":1,"nodes":[{"ID":"a"}]}`, `nodes[0].ID: must not be there: no such field, is "a"`},
	{FaultUnknownField, `{"version":1,"":0}`, `[""]: must not be there: no such field, is 0`},
	{FaultDuplicateKey, `{"version":1,"nodes":[],"nodes":[]}`, `nodes: must be there once, is []`},
	{FaultDuplicateKey, `{"version":1,"nodes":[{"capacity":{"cpu":1,"c\u0070u":2}}]}`, `nodes[0].capacity["cpu"]: must be there once, is 2`},
	{FaultType, `[]`, `$: must be an object, is []`},
	{FaultType, `null`, `$: must be an object, is null`},
	{FaultType, `{"version":1,"nodes":{}}`, `nodes: must be a list, is {}`},
	{FaultType, `{"version":1,"nodes":[null]}`, `nodes[0]: must be an object, is null`},
	{FaultType, `{"version":1,"nodes":[{"rank":1.0}]}`, `nodes[0].rank: must be a whole number, without fraction or exponent, is 1.0`},
	{FaultType, `{"version":1,"nodes":[{"rank":1e3}]}`, `nodes[0].rank: must be a whole number, without fraction or exponent, is 1e3`},
	{FaultType, `{"version":1,"nodes":[{"rank":"1"}]}`, `nodes[0].rank: must be a whole number, is "1"`},
	{FaultType, `{"version":1,"nodes":[{"id":7}]}`, `nodes[0].id: must be a string, is 7`},
	{FaultType, `{"version":1,"nodes":[{"lost":1}]}`, `nodes[0].lost: must be true or false, is 1`},
	{FaultType, `{"version":1,"nodes":[{"capacity":[]}]}`, `nodes[0].capacity: must be an object, is []`},
	{FaultFormat, `{"version":1,"nodes":[{"rank":9223372036854775808}]}`, `nodes[0].rank: must fit 64 bits, is 9223372036854775808`},
	{FaultFormat, `{"version":1,"workloads":[{"priority":2147483648}]}`, `workloads[0].priority: must fit 32 bits, is 2147483648`},
	{FaultFormat, `{"version":1,"now":"yesterday"}`, `now: must be a time such as 2026-01-31T12:00:00Z, is "yesterday"`},
	{FaultFormat, `{"version":1,"queues":[{"maxWorkloads":1.5}]}`, `queues[0].maxWorkloads: must be a whole number or "unlimited", is 1.5`},
	{FaultFormat, `{"version":1,"queues":[{"maxWorkloads":"many"}]}`, `queues[0].maxWorkloads: must be a whole number or "unlimited", is "many"`},
	{FaultUnknownValue, `{"version":1,"workloads":[{"preemption":"Preemptible"}]}`, `workloads[0].preemption: must be by-class, preemptible or non-preemptible, is "Preemptible"`},
	{FaultUnknownValue, `{"version":1,"pools":[{"id":"p","policy":{"scoring":{"mixFrom":"all"}}}]}`, `pools[0].policy.scoring.mixFrom: must be both, pending, running or given, is "all"`},
	{FaultUnknownValue, `{"version":1,"pools":[{"id":"p","policy":{"scoring":{"ties":"most"}}}]}`, `pools[0].policy.scoring.ties: must be least-gpu-left or least-cpu-left, is "most"`},
	{FaultUnknownValue, `{"version":1,"workloads":[{"topology":{"mode":"Spread"}}]}`, `workloads[0].topology.mode: must be pack, balance or spread, is "Spread"`},
	{FaultUnknownValue, `{"version":1,"workloads":[{"podSets":[{"request":{"gpu":{"island":"atoll"}}}]}]}`, `workloads[0].podSets[0].request.gpu.island: must be any, socket, switch or nvlink, is "atoll"`},
	{FaultUnknownValue, `{"version":1,"pools":[{"policy":{"fitting":""}}]}`, `pools[0].policy.fitting: must be any-nodes, whole-nodes or mixed-whole-nodes, is ""`},
	{FaultType, `{"version":1,"nodes":[{"domains":{"rack":1}}]}`, `nodes[0].domains["rack"]: must be a string, is 1`},
	{FaultUnknownField, `{"version":1,"nodes":[{"links":[{"NVLinks":1}]}]}`, `nodes[0].links[0].NVLinks: must not be there: no such field, is 1`},
	{FaultUnknownValue, `{"version":1,"workloads":[{"strategy":"worst"}]}`, `workloads[0].strategy: must be bin-pack, spread, first, fragmentation-gradient, dot-product, gpu-packing, gpu-clustering, best-fit, random or shadow-price, is "worst"`},
	{FaultText, `{"version":1,"nodes":[{"id":"\ud800x"}]}`, `nodes[0].id: must be UTF-8, without lone surrogates, is "` + "\ufffd" + `x"`},
	{FaultText, "{\"version\":1,\"nodes\":[{\"id\":\"\xff\"}]}", `nodes[0].id: must be UTF-8, is "\xff"`},
	{FaultTrailing, `{"version":1} {}`, `$: must end after the object, is more at offset 14`},
	{FaultTrailing, "{\"version\":1}\x00", `$: must end after the object, is more at offset 13`},
}

var nestedArrays = strings.Repeat("[", 70) + strings.Repeat("]", 70)

// V1: strict JSON, each fault with its path.
func TestStateJSONFaults(t *testing.T) {
	for _, row := range jsonRows {
		t.Run(row.data, func(t *testing.T) {
			s := State{Revision: "before"}
			err := s.UnmarshalJSON([]byte(row.data))
			var all *InvalidError
			if !errors.As(err, &all) || !errors.Is(err, row.code) {
				t.Fatalf("got %v, want code %v", err, row.code)
			}
			if len(all.Faults) != 1 || nameless(all.Faults[0]) != row.want {
				t.Errorf("got %v\nwant %s", err, row.want)
			}
			if s.Revision != "before" {
				t.Error("the receiver was changed")
			}
		})
	}
}

// V1: all faults at once; what follows the first one is read as well.
func TestStateJSONReportsAllFaults(t *testing.T) {
	data := `{"version":1,"nodes":[{"id":1,"rank":2.5,"x":{"y":[1]}},{"id":"b","capacity":{"cpu":"1","cpu":2}}],"queues":{},"z":0} !`
	want := []string{
		"nodes[0].id", "nodes[0].rank", "nodes[0].x", `nodes[1].capacity["cpu"]`, `nodes[1].capacity["cpu"]`, "queues", "z", "$",
	}
	var all *InvalidError
	if err := new(State).UnmarshalJSON([]byte(data)); !errors.As(err, &all) {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all.Faults {
		got = append(got, f.Path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What means the same is written the same.
func TestStateJSONCanonical(t *testing.T) {
	at := time.Date(2026, 1, 31, 13, 0, 0, 1999, time.FixedZone("", 3600))
	s := &State{
		Now: at, Queues: []Queue{}, Nodes: []Node{{ID: "<&>\u2028\"", Capacity: map[string]int64{}, Labels: map[string]string{"b": "", "a": ""}}},
		Workloads: []Workload{{ID: "w", PodSets: []PodSet{{Count: 1, Request: Request{
			GPU: GPURequest{Models: []string{}}, Resources: map[string]int64{},
		}}}}},
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"now":"2026-01-31T12:00:00.000001Z",` +
		`"nodes":[{"id":"\u003c\u0026\u003e\u2028\"","labels":{"a":"","b":""}}],` +
		`"workloads":[{"id":"w","podSets":[{"count":1}]}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	direct, err := s.MarshalJSON()
	if err != nil || string(direct) != want {
		t.Errorf("MarshalJSON itself: %s, %v", direct, err)
	}
	var back State
	if err := json.Unmarshal([]byte(`{"version":1,"nodes":null,"now":"2026-01-31T13:00:00.000001999+01:00","queues":[]}`), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(State{Now: time.Date(2026, 1, 31, 12, 0, 0, 1000, time.UTC)}, back, exact); diff != "" {
		t.Error(diff)
	}
}

// What JSON cannot hold is an error with its path.
func TestStateJSONRefusesToWrite(t *testing.T) {
	for want, s := range map[string]State{
		`nodes[0].id: must be UTF-8, is "\xff"`:                                           {Nodes: []Node{{ID: "\xff"}}},
		`workloads[0].preemption: must be by-class, preemptible or non-preemptible, is 9`: {Workloads: []Workload{{Preemption: 9}}},
		`now: must be a year of four digits, is 10000-01-01 00:00:00 +0000 UTC`:           {Now: time.Unix(endSecond, 0)},
		`nodes[0].capacity: must be UTF-8, is "\xff"`:                                     {Nodes: []Node{{Capacity: map[string]int64{"\xff": 1}}}},
		`workloads[0].podSets[0].request.selector.labels["k"]: must be UTF-8, is "\xff"`: {Workloads: []Workload{{PodSets: []PodSet{{Request: Request{
			Selector: placement.Selector{Labels: map[string]string{"k": "\xff"}}}}}}}},
	} {
		_, err := s.MarshalJSON()
		var all *InvalidError
		if !errors.As(err, &all) || len(all.Faults) != 1 || all.Faults[0].String() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Version 1 of the form, as it was written once, can be read for ever, and is
// still what is written.
func TestStateJSONGolden(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "json", "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := s.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sound(), &s, exact); diff != "" {
		t.Error(diff)
	}
	written, err := sound().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, written, "", "  "); err != nil {
		t.Fatal(err)
	}
	if got := indented.String() + "\n"; got != string(data) {
		t.Errorf("the form has changed:\n%s", cmp.Diff(string(data), got))
	}
}

// Every field of State and Plan has its place in the form; one that is new, or has
// gone, shows here. A plan of version 1 is read as the same value.
func TestJSONHasEveryField(t *testing.T) {
	s, p := new(State), new(Plan)
	fill(t, reflect.ValueOf(s).Elem(), "State")
	fill(t, reflect.ValueOf(p).Elem(), "Plan")
	everyField(t, "every-field-state.json", s, new(State))
	everyField(t, "every-field-plan.json", p, new(Plan))
	data, err := os.ReadFile(filepath.Join("testdata", "json", "every-field-plan-version-1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var old Plan
	if err := old.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, &old, exact); diff != "" {
		t.Errorf("version 1 is read as something else:\n%s", diff)
	}
}

// everyField compares what a value is written as with a file, and what the file
// is read as with the value.
func everyField(t *testing.T, file string, v, read json.Unmarshaler) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "json", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := read.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, read, exact); diff != "" {
		t.Errorf("%s is read as something else:\n%s", file, diff)
	}
	written, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), string(written)+"\n"); diff != "" {
		t.Errorf("%s is written otherwise:\n%s", file, diff)
	}
}

// A plan comes back from its JSON as it was.
func TestPlanRoundTrip(t *testing.T) {
	data, err := json.Marshal(storyPlan())
	if err != nil {
		t.Fatal(err)
	}
	var back Plan
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(storyPlan(), &back, exact); diff != "" {
		t.Error(diff)
	}
	if err := back.UnmarshalJSON([]byte(`{"version":1,"actions":[{"kind":"melt"}],"shares":[{"quota":null,"state":"rich"}]}`)); err == nil ||
		err.Error() != "allot: invalid: 2 faults\n\tactions[0].kind: must be start, resize, displace, unclaim, evict, shrink or move, is \"melt\"\n\tshares[0].state: must be in-quota, over-quota or over-fair-share, is \"rich\"" {
		t.Error(err)
	}
	if diff := cmp.Diff(storyPlan(), &back, exact); diff != "" {
		t.Errorf("an error changed the plan: %s", diff)
	}
}
