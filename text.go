package allot

import "github.com/allotsched/allot/internal/prose"

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

var promiseRuleNames = [...]string{
	ByBackfill:  "backfill",
	ByGathering: "gathering",
}

var promiseChangeNames = [...]string{
	PromiseKept:      "kept",
	PromiseMade:      "made",
	PromiseEarlier:   "earlier",
	PromiseMoved:     "moved",
	PromiseLater:     "later",
	PromiseWithdrawn: "withdrawn",
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
	NodeLost:            "node-lost",
	DeviceLost:          "device-lost",
	PlaceLost:           "place-lost",
	ClaimBroken:         "claim-broken",
	ReclaimedByQuota:    "reclaim-quota",
	ReclaimedByShare:    "reclaim-share",
	Preempted:           "preempt",
	Consolidated:        "consolidate",
	StaleGang:           "stale-gang",
	Grown:               "grow",
	ImpossibleNode:      "impossible-node",
	ImpossibleGang:      "impossible-gang",
	ImpossibleDomain:    "impossible-domain",
	ImpossibleQuota:     "impossible-quota",
	ImpossibleLimit:     "impossible-limit",
	NotSubmitted:        "not-submitted",
	Leaving:             "leaving",
	ClaimHeld:           "claim-held",
	MaxWorkloads:        "max-workloads",
	OverLimit:           "over-limit",
	OverBorrowingLimit:  "over-borrowing-limit",
	NoQuota:             "no-quota",
	KeptFromLending:     "kept-from-lending",
	NoCapacity:          "no-capacity",
	NoNode:              "no-node",
	GangShort:           "gang-short",
	NoDomain:            "no-domain",
	WaitsForLeaving:     "waits-for-leaving",
	OverLine:            "over-line",
	GuaranteeCut:        "guarantee-cut",
	Exposes:             "exposes",
	TakenBack:           "taken-back",
	ProtectedUntil:      "protected-until",
	BudgetSpent:         "budget-spent",
	SaturationTurns:     "saturation-turns",
	LargerThanShare:     "larger-than-share",
	VictimsProtected:    "victims-protected",
	VictimsShort:        "victims-short",
	Outranked:           "outranked",
	Overtaken:           "overtaken",
	ReservedForOther:    "reserved",
	WaitsForReservation: "waits-for-reservation",
	TooLateToBackfill:   "too-late-to-backfill",
	DurationUnknown:     "duration-unknown",
	OverHeld:            "over-held",
	SearchCut:           "search-cut",
	Overruns:            "overruns",
	PlaceGone:           "place-gone",
	Yields:              "yields",
	PromiseChanged:      "promise-changed",
	ReservationBegan:    "reservation-began",
	Behind:              "behind",
	NotBefore:           "not-before",
}

// String is the exit's text: "reschedule" or "fail".
func (e Exit) String() string { return prose.Name("Exit", exitNames[:], e) }

// MarshalText is the text of String; an unknown value is an error.
func (e Exit) MarshalText() ([]byte, error) { return prose.MarshalName("exit", exitNames[:], e) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (e *Exit) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("exit", exitNames[:], e, text)
}

// String is the preemption's text: "by-class", "preemptible" or
// "non-preemptible".
func (p Preemption) String() string { return prose.Name("Preemption", preemptionNames[:], p) }

// MarshalText is the text of String; an unknown value is an error.
func (p Preemption) MarshalText() ([]byte, error) {
	return prose.MarshalName("preemption", preemptionNames[:], p)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (p *Preemption) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("preemption", preemptionNames[:], p, text)
}

// String is the phase's text: "running", "claimed" or "terminating".
func (p Phase) String() string { return prose.Name("Phase", phaseNames[:], p) }

// MarshalText is the text of String; an unknown value is an error.
func (p Phase) MarshalText() ([]byte, error) { return prose.MarshalName("phase", phaseNames[:], p) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (p *Phase) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("phase", phaseNames[:], p, text)
}

// String is the source's text: "both", "pending", "running" or "given".
func (m MixSource) String() string { return prose.Name("MixSource", mixNames[:], m) }

// MarshalText is the text of String; an unknown value is an error.
func (m MixSource) MarshalText() ([]byte, error) {
	return prose.MarshalName("mix source", mixNames[:], m)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (m *MixSource) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("mix source", mixNames[:], m, text)
}

// String is the kind's text: "start", "resize", "displace", "unclaim", "evict",
// "shrink" or "move".
func (k ActionKind) String() string { return prose.Name("ActionKind", actionNames[:], k) }

// MarshalText is the text of String; an unknown value is an error.
func (k ActionKind) MarshalText() ([]byte, error) {
	return prose.MarshalName("action kind", actionNames[:], k)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (k *ActionKind) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("action kind", actionNames[:], k, text)
}

// String is the code's text: its name in lower case, with dashes.
func (c Code) String() string { return prose.Name("Code", codeNames[:], c) }

// MarshalText is the text of String; an unknown value is an error.
func (c Code) MarshalText() ([]byte, error) { return prose.MarshalName("code", codeNames[:], c) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (c *Code) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("code", codeNames[:], c, text)
}

// String is the rule's text: "backfill" or "gathering".
func (r PromiseRule) String() string { return prose.Name("PromiseRule", promiseRuleNames[:], r) }

// MarshalText is the text of String; an unknown value is an error.
func (r PromiseRule) MarshalText() ([]byte, error) {
	return prose.MarshalName("promise rule", promiseRuleNames[:], r)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (r *PromiseRule) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("promise rule", promiseRuleNames[:], r, text)
}

// String is the change's text: "kept", "made", "earlier", "moved", "later" or "withdrawn".
func (c PromiseChange) String() string { return prose.Name("PromiseChange", promiseChangeNames[:], c) }

// MarshalText is the text of String; an unknown value is an error.
func (c PromiseChange) MarshalText() ([]byte, error) {
	return prose.MarshalName("promise change", promiseChangeNames[:], c)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (c *PromiseChange) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("promise change", promiseChangeNames[:], c, text)
}
