package preempt

import (
	"fmt"
	"slices"
	"strings"
)

// Fate is what became of a unit when victims were chosen for a preemptor, and
// why: the first that holds.
type Fate uint8

const (
	// Taken: it was chosen, and goes. Moved: it was chosen, and finds another place.
	Taken Fate = iota
	Moved
	// NotNeeded: it stands in the place that was cleared, and the preemptor
	// starts without it: enough others go, that come before it in the order of
	// victims or cannot be spared where it can (M3).
	NotNeeded
	// The place where it stands was not chosen. PlaceShort: even clearing it of
	// all that the rules allow to be taken is not enough. Of places that are, the
	// victims of the one chosen are better by class and priority (PlaceHarms), lose
	// less work (PlaceLoses), are of fewer workloads (PlaceMore), come earlier in
	// the order (PlaceLater), or its nodes do (PlaceNode); or less moves
	// (PlaceMoves, C3).
	PlaceShort
	PlaceHarms
	PlaceLoses
	PlaceMore
	PlaceLater
	PlaceNode
	PlaceMoves
	// MinRuntimeHolds: its minimum runtime is not over (M1). BudgetHolds: its
	// owner's disruption budget is spent (M7).
	MinRuntimeHolds
	BudgetHolds
	// WithinLine: its side is within its quota or, for a reclaim by share, within
	// fair share or quota (R2). Protected: its leaf's line covers it (R8, R9).
	// Straddling: it would leave its side below the line (R4). MarginHolds: R5
	// stands against it. OwnSideFull: the preemptor's side would be beyond its
	// own line with it there (R1).
	WithinLine
	Protected
	Straddling
	MarginHolds
	OwnSideFull
	// PriorityHolds: its priority is not lower than the preemptor's (E1).
	PriorityHolds
	// What follows is out of the question for this preemptor. HoldsNothing: it
	// holds nothing of what the preemptor is short of (R2). SameQueue: a reclaim
	// takes from other queues. OtherQueue: preemption takes from its own (E1).
	// Elsewhere: what moves beside victims stands in the place that is cleared (M10).
	// Immovable: a part of it does not run yet, so that it cannot move.
	// NeverPreempted: it is not preemptible. Itself: it is of the preemptor.
	// NotBehind: its place is not one to which the preemptor has the first right (B9).
	HoldsNothing
	SameQueue
	OtherQueue
	Elsewhere
	Immovable
	NeverPreempted
	Itself
	NotBehind
)

// Candidate reports whether the fate is of a unit that the preemptor's way to
// make room looks at for what it holds and whose it is.
func (f Fate) Candidate() bool { return f < HoldsNothing }

// Class is R3's of a victim.
type Class uint8

const (
	// OverShare: its side and the queues below it use more than fair share.
	OverShare Class = iota
	// OverQuota: all of them use more than quota. WithinQuota: not all do.
	OverQuota
	WithinQuota
)

// Protection is how the lines of its leaf cover a unit (R8).
type Protection uint8

const (
	// Unprotected: not at all.
	Unprotected Protection = iota
	// ShareProtected: it fits under LF, QuotaProtected: under LQ.
	ShareProtected
	QuotaProtected
)

var fateNames = [...]string{
	Taken: "taken", Moved: "moved", NotNeeded: "not-needed", PlaceShort: "place-short", PlaceHarms: "place-harms",
	PlaceLoses: "place-loses", PlaceMore: "place-more", PlaceLater: "place-later", PlaceNode: "place-node",
	PlaceMoves: "place-moves", MinRuntimeHolds: "min-runtime", BudgetHolds: "budget", WithinLine: "within-line",
	Protected: "protected", Straddling: "straddling", MarginHolds: "margin", OwnSideFull: "own-side-full",
	PriorityHolds: "priority", HoldsNothing: "holds-nothing", SameQueue: "same-queue", OtherQueue: "other-queue",
	Elsewhere: "elsewhere", Immovable: "immovable", NeverPreempted: "never-preempted", Itself: "itself",
	NotBehind: "not-behind",
}

var classNames = [...]string{OverShare: "over-share", OverQuota: "over-quota", WithinQuota: "within-quota"}

var protectionNames = [...]string{Unprotected: "none", ShareProtected: "by-share", QuotaProtected: "by-quota"}

// String is the fate's text: its name in lower case, with dashes.
func (f Fate) String() string { return nameOf("Fate", fateNames[:], f) }

// MarshalText is the text of String; an unknown value is an error.
func (f Fate) MarshalText() ([]byte, error) { return marshalName("fate", fateNames[:], f) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (f *Fate) UnmarshalText(text []byte) error {
	return unmarshalName("fate", fateNames[:], f, text)
}

// String is the class's text: "over-share", "over-quota" or "within-quota".
func (c Class) String() string { return nameOf("Class", classNames[:], c) }

// MarshalText is the text of String; an unknown value is an error.
func (c Class) MarshalText() ([]byte, error) { return marshalName("class", classNames[:], c) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (c *Class) UnmarshalText(text []byte) error {
	return unmarshalName("class", classNames[:], c, text)
}

// String is the protection's text: "none", "by-share" or "by-quota".
func (p Protection) String() string { return nameOf("Protection", protectionNames[:], p) }

// MarshalText is the text of String; an unknown value is an error.
func (p Protection) MarshalText() ([]byte, error) {
	return marshalName("protection", protectionNames[:], p)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (p *Protection) UnmarshalText(text []byte) error {
	return unmarshalName("protection", protectionNames[:], p, text)
}

func nameOf[E ~uint8](kind string, names []string, value E) string {
	if int(value) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, uint8(value))
	}
	return names[value]
}

func marshalName[E ~uint8](kind string, names []string, value E) ([]byte, error) {
	if int(value) >= len(names) {
		return nil, fmt.Errorf("preempt: no %s %d", kind, uint8(value))
	}
	return []byte(names[value]), nil
}

func unmarshalName[E ~uint8](kind string, names []string, value *E, text []byte) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("preempt: no %s %q: there is %s", kind, text, strings.Join(names, ", "))
	}
	*value = E(i)
	return nil
}
