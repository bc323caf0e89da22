package allot

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Every field of Change has its place in version 1 of the form.
func TestChangeJSONHasEveryField(t *testing.T) {
	c := new(Change)
	fill(t, reflect.ValueOf(c).Elem(), "Change")
	everyField(t, "every-field-change.json", c, new(Change))
}

// V1: what differs between any two states comes back from JSON as it was, with
// what goes, and makes of the one the other.
func TestChangeJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := genState(t), genState(t)
		c := changeBetween(from, to)
		first, err := json.Marshal(&c)
		if err != nil {
			t.Fatal(err)
		}
		var back Change
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if diff := cmp.Diff(c, back, exact); diff != "" {
			t.Fatalf("the round trip changed it:\n%s", diff)
		}
		second, err := back.MarshalJSON()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("second marshal: %v\n%s\n%s", err, first, second)
		}
		snapshot, err := NewSnapshot(from)
		if err != nil {
			t.Fatal(err)
		}
		// What a state has of these cannot be taken away.
		if to.Revision == "" {
			to.Revision = from.Revision
		}
		if to.Now.IsZero() {
			to.Now = from.Now
		}
		want, err := NewSnapshot(to)
		if err != nil {
			t.Fatal(err)
		}
		got, err := snapshot.With(back)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := jsonOf(t, got.State()), jsonOf(t, want.State()); a != b {
			t.Fatalf("the change makes\n%s\nnot\n%s", a, b)
		}
	})
}

// changeBetween removes all of one state and puts all of the other.
func changeBetween(from, to *State) Change {
	c := Change{Now: to.Now, Revision: to.Revision, Levels: to.Levels, Nodes: to.Nodes, Pools: to.Pools, Queues: to.Queues, Workloads: to.Workloads, Budgets: to.Budgets}
	c.Remove = Removal{
		Levels: idsOf(from.Levels, func(l *Level) string { return l.Name }),
		Nodes:  idsOf(from.Nodes, nodeID), Pools: idsOf(from.Pools, poolID), Queues: idsOf(from.Queues, queueID),
		Workloads: idsOf(from.Workloads, workloadID), Budgets: idsOf(from.Budgets, budgetOwner),
	}
	return c
}

func idsOf[T any](list []T, id func(*T) string) (ids []string) {
	for i := range list {
		ids = append(ids, id(&list[i]))
	}
	return ids
}

// V1: strict JSON, each fault with its path.
func TestChangeJSONFaults(t *testing.T) {
	for _, row := range []struct {
		code FaultCode
		data string
		want string
	}{
		{FaultVersion, `{}`, `version: must be 1`},
		{FaultVersion, `{"version":2}`, `version: must be 1, is 2`},
		{FaultUnknownField, `{"version":1,"delete":{}}`, `delete: must not be there: no such field, is {}`},
		{FaultUnknownField, `{"version":1,"remove":{"node":["a"]}}`, `remove.node: must not be there: no such field, is ["a"]`},
		{FaultUnknownField, `{"version":1,"workloads":[{"ID":"a"}]}`, `workloads[0].ID: must not be there: no such field, is "a"`},
		{FaultDuplicateKey, `{"version":1,"nodes":[],"nodes":[]}`, `nodes: must be there once, is []`},
		{FaultDuplicateKey, `{"version":1,"remove":{},"remove":{}}`, `remove: must be there once, is {}`},
		{FaultType, `[]`, `$: must be an object, is []`},
		{FaultType, `{"version":1,"remove":["a"]}`, `remove: must be an object, is ["a"]`},
		{FaultType, `{"version":1,"remove":{"workloads":"a"}}`, `remove.workloads: must be a list, is "a"`},
		{FaultType, `{"version":1,"remove":{"workloads":["a",1]}}`, `remove.workloads[1]: must be a string, is 1`},
		{FaultType, `{"version":1,"levels":["rack"]}`, `levels[0]: must be an object, is "rack"`},
		{FaultType, `{"version":1,"nodes":[null]}`, `nodes[0]: must be an object, is null`},
		{FaultFormat, `{"version":1,"now":"soon"}`, `now: must be a time such as 2026-01-31T12:00:00Z, is "soon"`},
		{FaultUnknownValue, `{"version":1,"workloads":[{"preemption":"x"}]}`, `workloads[0].preemption: must be by-class, preemptible or non-preemptible, is "x"`},
		{FaultText, "{\"version\":1,\"revision\":\"\xff\"}", `revision: must be UTF-8, is "\xff"`},
		{FaultSyntax, `{"version":1,}`, `$: must have a name in quotes here, is '}' at offset 13`},
		{FaultTrailing, `{"version":1} {}`, `$: must end after the object, is more at offset 14`},
	} {
		c := Change{Revision: "before"}
		err := c.UnmarshalJSON([]byte(row.data))
		var all *InvalidError
		if !errors.As(err, &all) || !errors.Is(err, row.code) || len(all.Faults) != 1 || all.Faults[0].String() != row.want {
			t.Errorf("%s: got %v\nwant %s", row.data, err, row.want)
		}
		if c.Revision != "before" || c.Nodes != nil {
			t.Errorf("%s: the receiver was changed", row.data)
		}
	}
}

// What means the same is written the same, and the zero Change as nothing.
func TestChangeJSONCanonical(t *testing.T) {
	for want, c := range map[string]Change{ // each by itself: order cannot matter
		`{"version":1}`: {Nodes: []Node{}, Remove: Removal{Queues: []string{}}},
		`{"version":1,"now":"2026-01-31T12:00:00Z","revision":"r","remove":{"nodes":["a"],"budgets":["ann"]},"workloads":[{"id":"w"}]}`: {
			Now: time.Date(2026, 1, 31, 13, 0, 0, 0, time.FixedZone("", 3600)), Revision: "r",
			Remove: Removal{Nodes: []string{"a"}, Budgets: []string{"ann"}}, Workloads: []Workload{{ID: "w"}},
		},
	} {
		got, err := json.Marshal(c)
		if err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
		var back Change
		if err := back.UnmarshalJSON(got); err != nil {
			t.Error(err)
		}
		if again, err := back.MarshalJSON(); err != nil || string(again) != want {
			t.Errorf("comes back as %s, %v", again, err)
		}
	}
	_, err := json.Marshal(Change{Remove: Removal{Nodes: []string{"a", "\xff"}}})
	if all := new(InvalidError); !errors.As(err, &all) || all.Faults[0].String() != `remove.nodes[1]: must be UTF-8, is "\xff"` {
		t.Errorf("got %v", err)
	}
}
