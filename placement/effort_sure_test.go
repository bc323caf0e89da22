package placement

import "testing"

// What is sure does not depend on the order in which questions come: a question that was
// within its part as the first may be beyond it as the last.
func TestEffortIsSure(t *testing.T) {
	e := NewEffort(1000)
	ask := func(steps int) {
		around := e.Ask()
		for range steps {
			if e.Over(0) {
				break
			}
			e.Spend(1)
		}
		e.Answered(around)
	}
	if ask(40); !e.Sure() {
		t.Error("one question of 40 steps of 1000 may be cut")
	}
	if ask(240); e.Cut() {
		t.Error("240 of 960 are a part")
	}
	e = NewEffort(4000)
	ask(604)
	if !e.Sure() {
		t.Error("604 steps and a quarter are less than a quarter of 3396")
	}
	ask(400)
	if e.Cut() || e.Sure() {
		t.Error("604 steps and a quarter are more than a quarter of the 2996 that are left at last")
	}
	e.Resume(8000, true)
	if !e.Sure() || e.Spent() != 1004 {
		t.Error("they are less than a quarter of 6996")
	}
	e.Resume(4000, true)
	if e.Sure() {
		t.Error("what was needed is remembered as long as what was spent")
	}
	if e.Renew(4000); !e.Sure() {
		t.Error("who begins anew is sure")
	}
	around := e.Ask()
	e.Spend(300)
	if e.Narrow(500) != 500 {
		t.Error("800 steps are within the part")
	}
	if e.Answered(around); e.Cut() || e.Sure() {
		t.Error("800 steps and a quarter are more than a quarter of 3700")
	}
}
