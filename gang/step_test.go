package gang_test

import (
	"testing"

	"github.com/allotsched/allot/gang"
)

// L1: the texts of the steps are stable, come back, and nothing else does.
func TestStepText(t *testing.T) {
	for step, want := range map[gang.Step]string{gang.ByOne: "by-one", gang.Halving: "halving"} {
		text, err := step.MarshalText()
		if err != nil || string(text) != want || step.String() != want || !step.Valid() {
			t.Errorf("%d: %q, %v, %v, valid %v", step, text, step, err, step.Valid())
		}
		back := gang.Step(7)
		if err := back.UnmarshalText(text); err != nil || back != step {
			t.Errorf("%q comes back as %v, %v", text, back, err)
		}
	}
	if gang.Step(2).Valid() || gang.Step(2).String() != "Step(2)" {
		t.Errorf("%v is valid", gang.Step(2))
	}
	if text, err := gang.Step(2).MarshalText(); err == nil || err.Error() != "gang: no Step 2" {
		t.Errorf("%q, %v", text, err)
	}
	for _, text := range []string{"", "Halving", "halving ", "by one"} {
		step := gang.Halving
		if err := step.UnmarshalText([]byte(text)); err == nil || step != gang.Halving {
			t.Errorf("%q is %v, %v", text, step, err)
		}
	}
}
