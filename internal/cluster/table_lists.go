package cluster

import (
	"cmp"

	"github.com/allotsched/allot/preempt"
)

// A TakenWork is what was taken of one workload, task by task and unit by unit.
type TakenWork struct {
	// Steps are the units that tasks were in when they went or, if they have moved, are in
	// now, by pod set and index; of one task the last counts.
	Steps []TaskStep
	// Last is by unit the last of its takings, None where there is none.
	Last []int32
}

// A TaskStep is the unit that a task is in.
type TaskStep struct{ Set, Index, Step int32 }

// Compare is the order of a list of them.
func (t TaskStep) Compare(other TaskStep) int {
	return cmp.Or(cmp.Compare(t.Set, other.Set), cmp.Compare(t.Index, other.Index))
}

// A Gain is what some workload has got of a resource, or of a class.
type Gain struct{ Work, Resource int32 }

// A Right is what units were reclaimed or moved by: every workload that starts in that definition
// asks the same in the same leaf, and has the entitlement up to the same queue (R1), or at every level (C5). There are
// few, however many units were taken.
type Right struct {
	Pool, Leaf, Definition, Subtree int32
	Code                            Code
}

// RightsIn lists the rights by which units were reclaimed or moved, in the order in which they first
// were, and of each the takings.
func (w Booking) RightsIn() ([]Right, [][]int32) {
	book := w.Room
	known := &book.Known.rights
	for at := known.listed; at < len(book.Takings); at++ {
		t := &book.Takings[at]
		if t.Preemptor < 0 || t.Code != ReclaimedByQuota && t.Code != ReclaimedByShare && t.Code != Consolidated {
			continue
		}
		f := w.FormOf(&w.Works[t.Preemptor], book.Commits[t.Commit].Form)
		one := Right{t.Pool, f.Queue, f.Definition, t.Is.PreemptorSubtree, t.Code}
		of, seen := known.number[one]
		if !seen {
			if known.number == nil {
				known.number = make(map[Right]int)
			}
			of = len(known.all)
			known.number[one] = of
			known.all, known.takings = append(known.all, one), append(known.takings, nil)
		}
		known.takings[of] = append(known.takings[of], int32(at))
	}
	known.listed = len(book.Takings)
	return known.all, known.takings
}

// tableRights are the rights of the first listed of the takings.
type tableRights struct {
	listed  int
	number  map[Right]int // into the next two
	all     []Right
	takings [][]int32
}

// TableLists are lists of what a table has, each made when it is first asked for.
type TableLists struct {
	// OutOf are where in out a workload is, once reasons are asked for.
	OutOf      map[int32][]int32
	onNode     [][]int32            // the holdings by node
	TakenWorks map[int32]*TakenWork // by workload, see takenOf
	Gains      map[Gain][]int64     // see gainsOf
	Chain      []int32              // scratch of ChainOf
	rights     tableRights
	cases      []preempt.Justification // memory of KeepCase
}

// KeepCase is a case in memory that lasts, of which thousands are told.
func (b *Table) KeepCase(c *preempt.Justification) *preempt.Justification {
	const many = 128
	cases := b.Known.cases
	if len(cases) == cap(cases) {
		cases = make([]preempt.Justification, 0, min(len(b.Takings), many))
	}
	b.Known.cases = append(cases, *c)
	return &b.Known.cases[len(cases)]
}
