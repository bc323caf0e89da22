package allot

import (
	"fmt"
	"strconv"
)

// The enumerations of the surface and their texts. A text is stable, and JSON
// and the text form of a plan use the same one. An empty text is no value.

var preemptionNames = [...]string{
	PreemptionByClass: "by-class",
	Preemptible:       "preemptible",
	NonPreemptible:    "non-preemptible",
}

var phaseNames = [...]string{
	Running:     "running",
	Claimed:     "claimed",
	Terminating: "terminating",
}

var exitNames = [...]string{
	Reschedule: "reschedule",
	Fail:       "fail",
}

var mixNames = [...]string{
	MixBoth:    "both",
	MixPending: "pending",
	MixRunning: "running",
	MixGiven:   "given",
}

var actionNames = [...]string{
	Start:    "start",
	Resize:   "resize",
	Displace: "displace",
	Unclaim:  "unclaim",
	Evict:    "evict",
	Shrink:   "shrink",
	Move:     "move",
}

var codeNames = [...]string{
	NodeLost:           "node-lost",
	DeviceLost:         "device-lost",
	PlaceLost:          "place-lost",
	ClaimBroken:        "claim-broken",
	ReclaimedByQuota:   "reclaim-quota",
	ReclaimedByShare:   "reclaim-share",
	Preempted:          "preempt",
	Consolidated:       "consolidate",
	StaleGang:          "stale-gang",
	Grown:              "grow",
	ImpossibleNode:     "impossible-node",
	ImpossibleGang:     "impossible-gang",
	ImpossibleDomain:   "impossible-domain",
	ImpossibleQuota:    "impossible-quota",
	ImpossibleLimit:    "impossible-limit",
	NotSubmitted:       "not-submitted",
	Leaving:            "leaving",
	ClaimHeld:          "claim-held",
	MaxWorkloads:       "max-workloads",
	OverLimit:          "over-limit",
	OverBorrowingLimit: "over-borrowing-limit",
	NoQuota:            "no-quota",
	KeptFromLending:    "kept-from-lending",
	NoCapacity:         "no-capacity",
	NoNode:             "no-node",
	GangShort:          "gang-short",
	NoDomain:           "no-domain",
	WaitsForLeaving:    "waits-for-leaving",
	OverLine:           "over-line",
	ProtectedUntil:     "protected-until",
	BudgetSpent:        "budget-spent",
	SaturationTurns:    "saturation-turns",
	VictimsShort:       "victims-short",
	Outranked:          "outranked",
	SearchCut:          "search-cut",
}

var statusNames = [...]string{
	StatusWaits:   "waits",
	StatusLeaves:  "leaves",
	StatusClaims:  "claims",
	StatusStarts:  "starts",
	StatusRuns:    "runs",
	StatusGrows:   "grows",
	StatusShrinks: "shrinks",
	StatusMoves:   "moves",
	StatusEvicted: "evicted",
	StatusFails:   "fails",
	StatusEnds:    "ends",
}

// String is the exit's text: "reschedule" or "fail".
func (e Exit) String() string { return enumString("Exit", exitNames[:], e) }

// MarshalText is the text of String; an unknown value is an error.
func (e Exit) MarshalText() ([]byte, error) { return marshalEnum("exit", exitNames[:], e) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (e *Exit) UnmarshalText(text []byte) error {
	return unmarshalEnum("exit", exitNames[:], e, text)
}

// String is the preemption's text: "by-class", "preemptible" or
// "non-preemptible".
func (p Preemption) String() string { return enumString("Preemption", preemptionNames[:], p) }

// MarshalText is the text of String; an unknown value is an error.
func (p Preemption) MarshalText() ([]byte, error) {
	return marshalEnum("preemption", preemptionNames[:], p)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (p *Preemption) UnmarshalText(text []byte) error {
	return unmarshalEnum("preemption", preemptionNames[:], p, text)
}

// String is the phase's text: "running", "claimed" or "terminating".
func (p Phase) String() string { return enumString("Phase", phaseNames[:], p) }

// MarshalText is the text of String; an unknown value is an error.
func (p Phase) MarshalText() ([]byte, error) { return marshalEnum("phase", phaseNames[:], p) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (p *Phase) UnmarshalText(text []byte) error {
	return unmarshalEnum("phase", phaseNames[:], p, text)
}

// String is the source's text: "both", "pending", "running" or "given".
func (m MixSource) String() string { return enumString("MixSource", mixNames[:], m) }

// MarshalText is the text of String; an unknown value is an error.
func (m MixSource) MarshalText() ([]byte, error) {
	return marshalEnum("mix source", mixNames[:], m)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (m *MixSource) UnmarshalText(text []byte) error {
	return unmarshalEnum("mix source", mixNames[:], m, text)
}

// String is the kind's text: "start", "resize", "displace", "unclaim", "evict",
// "shrink" or "move".
func (k ActionKind) String() string { return enumString("ActionKind", actionNames[:], k) }

// MarshalText is the text of String; an unknown value is an error.
func (k ActionKind) MarshalText() ([]byte, error) {
	return marshalEnum("action kind", actionNames[:], k)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (k *ActionKind) UnmarshalText(text []byte) error {
	return unmarshalEnum("action kind", actionNames[:], k, text)
}

// String is the code's text: its name in lower case, with dashes.
func (c Code) String() string { return enumString("Code", codeNames[:], c) }

// MarshalText is the text of String; an unknown value is an error.
func (c Code) MarshalText() ([]byte, error) { return marshalEnum("code", codeNames[:], c) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (c *Code) UnmarshalText(text []byte) error {
	return unmarshalEnum("code", codeNames[:], c, text)
}

// String is the status's text: "waits", "leaves", "claims", "starts", "runs",
// "grows", "shrinks", "moves", "evicted", "fails" or "ends".
func (s Status) String() string { return enumString("Status", statusNames[:], s) }

// MarshalText is the text of String; an unknown value is an error.
func (s Status) MarshalText() ([]byte, error) { return marshalEnum("status", statusNames[:], s) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (s *Status) UnmarshalText(text []byte) error {
	return unmarshalEnum("status", statusNames[:], s, text)
}

// known reports whether the enumeration has the value.
func known[E ~uint8](names []string, value E) bool {
	return int(value) < len(names) && names[value] != ""
}

func enumString[E ~uint8](kind string, names []string, value E) string {
	if !known(names, value) {
		return kind + "(" + strconv.Itoa(int(value)) + ")"
	}
	return names[value]
}

func marshalEnum[E ~uint8](kind string, names []string, value E) ([]byte, error) {
	if !known(names, value) {
		return nil, fmt.Errorf("allot: no %s %d", kind, value)
	}
	return []byte(names[value]), nil
}

func unmarshalEnum[E ~uint8](kind string, names []string, value *E, text []byte) error {
	for i, name := range names {
		if name != "" && name == string(text) {
			*value = E(i)
			return nil
		}
	}
	return fmt.Errorf("allot: no %s %q", kind, text)
}
