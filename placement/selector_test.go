package placement

import (
	"encoding"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// P1: expressions with the meaning of Kubernetes.
func TestExpressionMatches(t *testing.T) {
	for _, test := range []struct {
		reason  string
		e       Expression
		value   string
		present bool
		want    bool
	}{
		{"in", Expression{"k", In, []string{"a", "b"}}, "b", true, true},
		{"not among", Expression{"k", In, []string{"a", "b"}}, "c", true, false},
		{"in nothing where absent", Expression{"k", In, []string{""}}, "", false, false},
		{"not in", Expression{"k", NotIn, []string{"a"}}, "b", true, true},
		{"not in, but is", Expression{"k", NotIn, []string{"a"}}, "a", true, false},
		{"not in holds where absent", Expression{"k", NotIn, []string{"a"}}, "", false, true},
		{"exists", Expression{"k", Exists, nil}, "", true, true},
		{"exists not", Expression{"k", Exists, nil}, "", false, false},
		{"does not exist", Expression{"k", DoesNotExist, nil}, "", false, true},
		{"exists after all", Expression{"k", DoesNotExist, nil}, "x", true, false},
		{"greater as integers", Expression{"k", Gt, []string{"9"}}, "10", true, true},
		{"not greater than itself", Expression{"k", Gt, []string{"9"}}, "9", true, false},
		{"less", Expression{"k", Lt, []string{"-1"}}, "-2", true, true},
		{"no integer", Expression{"k", Lt, []string{"5"}}, "4.5", true, false},
		{"less where absent", Expression{"k", Lt, []string{"5"}}, "", false, false},
		{"a faulty bound", Expression{"k", Gt, []string{"x"}}, "4", true, false},
		{"two bounds", Expression{"k", Gt, []string{"1", "2"}}, "4", true, false},
		{"no such operator", Expression{"k", 99, nil}, "4", true, false},
	} {
		if got := test.e.Matches(test.value, test.present); got != test.want {
			t.Errorf("%s: %v", test.reason, got)
		}
	}
}

// P1: tolerations with the meaning of Kubernetes.
func TestTaintTurnsAway(t *testing.T) {
	taint := Taint{Key: "gpu", Value: "yes"}
	for _, test := range []struct {
		reason string
		taint  Taint
		by     Toleration
		want   bool
	}{
		{"key and value", taint, Toleration{Key: "gpu", Value: "yes"}, false},
		{"another value", taint, Toleration{Key: "gpu", Value: "no"}, true},
		{"exists", taint, Toleration{Key: "gpu", Operator: TolerationExists}, false},
		{"another key", taint, Toleration{Key: "cpu", Operator: TolerationExists}, true},
		{"everything", taint, Toleration{Operator: TolerationExists}, false},
		{"the default effect is NoSchedule", taint, Toleration{Operator: TolerationExists, Effect: NoSchedule}, false},
		{"another effect", taint, Toleration{Operator: TolerationExists, Effect: NoExecute}, true},
		{"NoExecute turns away too", Taint{Key: "k", Effect: NoExecute}, Toleration{Key: "x"}, true},
		{"PreferNoSchedule never does", Taint{Key: "k", Effect: PreferNoSchedule}, Toleration{Key: "x"}, false},
		{"no such operator", taint, Toleration{Key: "gpu", Value: "yes", Operator: 9}, true},
	} {
		if got := test.taint.TurnsAway([]Toleration{test.by}); got != test.want {
			t.Errorf("%s: %v", test.reason, got)
		}
	}
}

// V1: every fault at once, each with its path.
func TestValidate(t *testing.T) {
	s := &Selector{
		Labels: map[string]string{"": "x", "ok": ""},
		Expressions: []Expression{
			{"", In, nil},
			{"k", Exists, []string{"v"}},
			{"k", Gt, []string{"x", "2"}},
			{"k", Lt, nil},
			{"k", 42, nil},
			{"k", NotIn, []string{"a", "b"}},
		},
	}
	want := []Fault{
		{`labels[""]`, EmptyKey, "x"},
		{"expressions[0].key", EmptyKey, ""},
		{"expressions[0].values", MissingValue, ""},
		{"expressions[1].values[0]", UnexpectedValue, "v"},
		{"expressions[2].values[0]", NotAnInteger, "x"},
		{"expressions[2].values[1]", UnexpectedValue, "2"},
		{"expressions[3].values", MissingValue, ""},
		{"expressions[4].operator", UnknownOperator, "operator(42)"},
	}
	if diff := cmp.Diff(want, s.Validate()); diff != "" {
		t.Error(diff)
	}
	wantToleration := []Fault{{"value", UnexpectedValue, "v"}, {"effect", UnknownEffect, "effect(9)"}}
	if diff := cmp.Diff(wantToleration, Toleration{Operator: TolerationExists, Value: "v", Effect: 9}.Validate()); diff != "" {
		t.Error(diff)
	}
	if f := (Toleration{Operator: 7}).Validate(); len(f) != 1 || f[0].Kind != UnknownOperator {
		t.Error(f)
	}
	if f := (Toleration{}).Validate(); len(f) != 1 || f[0].Kind.String() != "empty-key" {
		t.Error(f)
	}
	if f := (Taint{Effect: 9}).Validate(); len(f) != 2 {
		t.Error(f)
	}
	if f := (*Selector)(nil).Validate(); f != nil {
		t.Error(f)
	}
}

// Text forms are stable, exact and refuse everything else.
func TestTextForms(t *testing.T) {
	type text interface {
		encoding.TextMarshaler
		String() string
	}
	roundTrip := func(v text, into encoding.TextUnmarshaler, want string) {
		t.Helper()
		got, err := v.MarshalText()
		if err != nil || string(got) != want || v.String() != want || into.UnmarshalText(got) != nil {
			t.Errorf("%q %v, want %q", got, err, want)
		}
		if into.UnmarshalText([]byte(want+"x")) == nil {
			t.Errorf("%q reads", want+"x")
		}
	}
	for i, want := range []string{"", "bin-pack", "spread", "first"} {
		roundTrip(Strategy(i), new(Strategy), want)
	}
	for i, want := range []string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"} {
		roundTrip(Effect(i), new(Effect), want)
	}
	for i, want := range []string{"Equal", "Exists"} {
		roundTrip(TolerationOperator(i), new(TolerationOperator), want)
	}
	for i, want := range []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"} {
		roundTrip(Operator(i), new(Operator), want)
	}
	for i, want := range []string{
		"", "node-set", "reserved", "cordoned", "class", "labels", "taints", "model", "device-memory", "device-count", "island-size",
		"capacity", "slots", "cpu-only-slots", "resources", "free-devices", "fragmented", "free-island",
	} {
		roundTrip(Predicate(i), new(Predicate), want)
		if Predicate(i).Valid() != (i > 0) {
			t.Errorf("Predicate %d: Valid", i)
		}
	}
	if _, err := Strategy(99).MarshalText(); err == nil || Strategy(99).Valid() || Predicate(99).Valid() {
		t.Error("Strategy 99 has a text")
	}
}

// The JSON form is camel case, leaves out what is absent, and reads back.
func TestJSON(t *testing.T) {
	type all struct {
		Strategy    Strategy     `json:"strategy,omitzero"`
		Selector    Selector     `json:"selector,omitzero"`
		Taints      []Taint      `json:"taints,omitempty"`
		Tolerations []Toleration `json:"tolerations,omitempty"`
	}
	for _, test := range []struct {
		value all
		want  string
	}{
		{all{}, `{}`},
		{
			all{
				Spread, Selector{map[string]string{"a": "b"}, []Expression{{"k", NotIn, []string{"v"}}}},
				[]Taint{{"k", "v", NoExecute}, {Key: "l"}}, []Toleration{{"k", TolerationExists, "", NoSchedule}, {Key: "l"}},
			},
			`{"strategy":"spread","selector":{"labels":{"a":"b"},"expressions":[{"key":"k","operator":"NotIn","values":["v"]}]},` +
				`"taints":[{"key":"k","value":"v","effect":"NoExecute"},{"key":"l"}],` +
				`"tolerations":[{"key":"k","operator":"Exists","effect":"NoSchedule"},{"key":"l"}]}`,
		},
	} {
		got, err := json.Marshal(test.value)
		if err != nil || string(got) != test.want {
			t.Errorf("got %s %v, want %s", got, err, test.want)
		}
		var back all
		if err := json.Unmarshal(got, &back); err != nil || !cmp.Equal(back, test.value) {
			t.Errorf("reads back as %+v %v", back, err)
		}
	}
}
