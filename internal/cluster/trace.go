package cluster

import "github.com/allotsched/allot/preempt"

// A Trace keeps how the victims among some workloads were chosen.
type Trace struct {
	Works map[int32]bool
	// Near is how many of the other candidates are told before and after those chosen.
	Near int
	// Chosen are by commit, the start that something was taken for, and by the way in
	// which it was taken.
	Chosen map[ChosenFor]*Choice
}

// A ChosenFor names a choice: what goes for one start in one way.
type ChosenFor struct {
	Commit int32
	Mode   preempt.Mode
}

// A Choice is how those of one proposal were chosen that go, or move, in one way.
type Choice struct {
	Preemptor int32
	Leaf      int32 // of the preemptor
	Priority  int32
	Pool      int32
	Mode      preempt.Mode
	Nodes     []int32 // that were cleared, by position; none is anywhere (M3)
	Ranking   preempt.Ranking
	Units     []preempt.Unit // of ranking.Units, as they stood
}

// NewTrace asks how the victims among some workloads are chosen, and of how many other
// candidates before and after each it is told.
func NewTrace(works map[int32]bool, near int) *Trace {
	return &Trace{Works: works, Near: near, Chosen: make(map[ChosenFor]*Choice)}
}

// Has says whether it was asked about all of the workloads, with as many others told.
func (t *Trace) Has(works map[int32]bool, near int) bool {
	if t == nil || t.Near != near {
		return false
	}
	for i := range works { // all or not: order cannot matter
		if !t.Works[i] {
			return false
		}
	}
	return true
}
