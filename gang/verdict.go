package gang

import (
	"fmt"
	"strconv"
)

// Kind says why there is no unit to start, or no place for one. Its text form
// is stable.
type Kind uint8

// The kinds of verdicts.
const (
	// None: nothing stands against it; the Verdict is OK.
	None Kind = iota
	// Complete: every submitted task that may be started is held already.
	Complete
	// NotSubmitted: Set has Have of the Need tasks that must run together
	// (G1). Where a choice of sets would do, Set is the first that is short in
	// the preferred one (G3).
	NotSubmitted
	// TooFew: the nodes would take at most Have of the Need tasks of Set even
	// if nothing ran on them.
	TooFew
	// NoPlace: Have of the Need tasks of Set found a place, and Placed of the
	// Needed tasks of the unit, in the best order of sets that was tried.
	NoPlace
	// NoDomain: the constraints leave no place to the Needed tasks of the unit; at
	// best Placed of them found one. [Placer.Best] says what domains would take.
	NoDomain
)

var kinds = [...]string{"none", "complete", "not-submitted", "too-few", "no-place", "no-domain"}

// String is the kind's text form.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// A Verdict says whether a gang has something to start, or whether it found
// places, and if not, what it is short of. All numbers are tasks.
type Verdict struct {
	// OK is true exactly if Kind is None; nothing but Placed, Needed and
	// Orders is set then.
	OK bool
	// Kind says what is short; None is OK.
	Kind Kind
	// Set is the set that Kind speaks of; -1 if it speaks of none.
	Set int32
	// Have and Need count tasks of Set; Have < Need where Kind speaks of them.
	Have, Need int32
	// Placed and Needed count tasks of the whole unit, by [Placer.Place]: at
	// best, where it failed. They are 0 where places were not asked for.
	Placed, Needed int32
	// Orders is how many orders of sets were tried.
	Orders int32
	// Cut: the search under constraints was cut short, so that there may be places
	// after all.
	Cut bool
}

// Fault says what is wrong with a definition. Its text form is stable.
type Fault uint8

// The faults of a definition, in the order in which they are looked for.
const (
	// NoSets: there is no set at all.
	NoSets Fault = iota + 1
	// BadCount: Count is not positive, or the sets so far count more than
	// MaxTasks.
	BadCount
	// BadMin: a set's Min is negative or above Count, or a group's negative or
	// above the number of its children.
	BadMin
	// BadSubmitted: Submitted is negative or above Count.
	BadSubmitted
	// BadDevices: Devices is negative.
	BadDevices
	// BadAmounts: Amounts is not as quota.Amounts must be.
	BadAmounts
	// BadParent: Parent is neither -1 nor a group.
	BadParent
	// Cycle: the group is, through its parents, inside itself.
	Cycle
	// EmptyGroup: no set is inside the group.
	EmptyGroup
	// BadConstraint: a level is negative, Preferred is wider than Required, Mode is
	// not valid, or a slice's Size is not positive; or there are Slices elsewhere
	// than at a set. Set and Group are -1 where it is the whole workload's.
	BadConstraint
)

var faults = [...]string{"", "no-sets", "bad-count", "bad-min", "bad-submitted",
	"bad-devices", "bad-amounts", "bad-parent", "cycle", "empty-group", "bad-constraint"}

// String is the fault's text form.
func (f Fault) String() string {
	if f > 0 && int(f) < len(faults) {
		return faults[f]
	}
	return "fault(" + strconv.Itoa(int(f)) + ")"
}

// A DefinitionError is why [New] refused a definition.
type DefinitionError struct {
	Fault Fault
	// Set or Group is the index of the culprit; the other, or both, is -1.
	Set, Group int32
}

// Error tells the fault and where it is.
func (e *DefinitionError) Error() string {
	switch {
	case e.Set >= 0:
		return fmt.Sprintf("gang: set %d: %v", e.Set, e.Fault)
	case e.Group >= 0:
		return fmt.Sprintf("gang: group %d: %v", e.Group, e.Fault)
	}
	return fmt.Sprintf("gang: %v", e.Fault)
}
