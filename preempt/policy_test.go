package preempt_test

import (
	"encoding"
	"fmt"
	"testing"

	"github.com/allotsched/allot/preempt"
)

// A knob is an enumeration of a policy.
type knob interface {
	encoding.TextMarshaler
	fmt.Stringer
	Valid() bool
}

// knobs are all values, by their texts, and the first that is none.
var knobs = []struct {
	values map[string]knob
	beyond knob
	read   func(text string) (knob, error)
}{
	{
		map[string]knob{"quota-and-share": preempt.ByQuotaAndShare, "quota": preempt.ByQuota, "off": preempt.NoReclaim},
		preempt.Reclaim(3),
		func(text string) (knob, error) {
			r := preempt.Reclaim(7)
			err := r.UnmarshalText([]byte(text))
			return r, err
		},
	},
	{
		map[string]knob{"take": preempt.Take, "spare": preempt.Spare},
		preempt.Straddle(2),
		func(text string) (knob, error) {
			s := preempt.Straddle(7)
			err := s.UnmarshalText([]byte(text))
			return s, err
		},
	},
	{
		map[string]knob{"queue": preempt.WithinQueue, "pool": preempt.WithinPool, "off": preempt.NoPreemption},
		preempt.Scope(3),
		func(text string) (knob, error) {
			s := preempt.Scope(7)
			err := s.UnmarshalText([]byte(text))
			return s, err
		},
	},
}

// The texts of the knobs are stable and come back; the zero value is the
// sensible one.
func TestKnobTexts(t *testing.T) {
	for _, k := range knobs {
		for want, value := range k.values {
			text, err := value.MarshalText()
			if err != nil || string(text) != want || value.String() != want || !value.Valid() {
				t.Errorf("%T: %q, %v, %v, valid %v", value, text, value, err, value.Valid())
			}
			if back, err := k.read(want); err != nil || back != value {
				t.Errorf("%T: %q comes back as %v, %v", value, want, back, err)
			}
		}
	}
	var reclaim preempt.Reclaim
	var straddle preempt.Straddle
	var scope preempt.Scope
	if got := fmt.Sprint(reclaim, straddle, scope); got != "quota-and-share take queue" {
		t.Error(got)
	}
}

// What is no value has no text, and no other text is one.
func TestKnobsRefuse(t *testing.T) {
	want := map[string]string{
		"preempt.Reclaim": "Reclaim(3)", "preempt.Straddle": "Straddle(2)", "preempt.Scope": "Scope(3)",
	}
	for _, k := range knobs {
		kind := fmt.Sprintf("%T", k.beyond)
		if k.beyond.Valid() || k.beyond.String() != want[kind] {
			t.Errorf("%v is a valid %s", k.beyond, kind)
		}
		if text, err := k.beyond.MarshalText(); err == nil {
			t.Errorf("%v has the text %q", k.beyond, text)
		}
		for _, text := range []string{"", "Quota", "take ", "none"} {
			value, err := k.read(text)
			if err == nil || fmt.Sprintf("%d", value) != "7" {
				t.Errorf("%s: %q is %v, %v", kind, text, value, err)
			}
		}
	}
	_, err := knobs[0].read("all")
	if err == nil || err.Error() != `preempt: no Reclaim "all": there is quota-and-share, quota, off` {
		t.Error(err)
	}
}

// What queues take back from each other is a knob with a text form, as a host
// finds it in a policy.
func ExampleReclaim() {
	var knob preempt.Reclaim
	fmt.Println("by default:", knob)
	if err := knob.UnmarshalText([]byte("quota")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("OSMO:", knob, knob == preempt.ByQuota)
	fmt.Println(knob.UnmarshalText([]byte("everything")))
	// Output:
	// by default: quota-and-share
	// OSMO: quota true
	// preempt: no Reclaim "everything": there is quota-and-share, quota, off
}
