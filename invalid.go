package allot

import (
	"strconv"
	"strings"

	"github.com/allotsched/allot/internal/prose"
)

// A FaultCode says what kind of Fault it is. Codes are stable: a host may act
// on them, with [errors.Is] or by comparing. Their text is what JSON shows.
// The zero FaultCode is no fault.
type FaultCode uint8

// The codes of [Check] (V1), which are named Fault, and of [Plan.Warnings], which are named Warn: no
// error holds one of these. Whatever the code, [Fault.Path] says where, [Fault.Value] what stands
// there and [Fault.Want] what would be right.
const (
	// FaultEmpty: a name, or a list that needs an entry, is empty.
	FaultEmpty FaultCode = iota + 1
	// FaultText: a name is not UTF-8, holds a control character, or is longer
	// than 1024 bytes.
	FaultText
	// FaultDuplicate: what must be named once is named twice.
	FaultDuplicate
	// FaultUnknownNode: no node has this ID. A lost node stays listed, as
	// lost (S7).
	FaultUnknownNode
	// FaultUnknownPool: no pool has this ID.
	FaultUnknownPool
	// FaultUnknownQueue: no queue has this ID.
	FaultUnknownQueue
	// FaultUnknownClass: the policy has no class of this name.
	FaultUnknownClass
	// FaultUnknownPodSet: the task's form has no pod set of this name.
	FaultUnknownPodSet
	// FaultUnknownGroup: the form has no group of this name.
	FaultUnknownGroup
	// FaultUnknownDevice: the node has no device of this index.
	FaultUnknownDevice
	// FaultUnknownValue: an enumeration (a strategy, a phase, an order, an
	// effect, an operator …) has a value that does not exist.
	FaultUnknownValue
	// FaultUnknownWorkload: no workload has this ID.
	FaultUnknownWorkload
	// FaultUnknownBudget: no disruption budget has this owner.
	FaultUnknownBudget
	// FaultUnknownLevel: the topology has no level of this name.
	FaultUnknownLevel
	// FaultUnknownHardware: the library knows no hardware of this name.
	FaultUnknownHardware
	// FaultPoolRequired: there are several pools and nothing says which one.
	FaultPoolRequired
	// FaultWrongPool: two things that belong together are in different pools.
	FaultWrongPool
	// FaultNodeInTwoPools: a node is in exactly one pool.
	FaultNodeInTwoPools
	// FaultCycle: the queues or groups lead back to where they began.
	FaultCycle
	// FaultNotLeaf: workloads sit in leaf queues only.
	FaultNotLeaf
	// FaultQueueRequired: the pool has queues, and the workload names none.
	FaultQueueRequired
	// FaultRange: a number or time is outside what it can be. Amounts are
	// from 0 to [MaxAmount].
	FaultRange
	// FaultSum: amounts that are right one by one add up to 2^62 or more.
	FaultSum
	// FaultTooMany: a list or count is above a limit of the library.
	FaultTooMany
	// FaultMinAboveCount: more tasks (or children of a group) must run than
	// there are.
	FaultMinAboveCount
	// FaultMissingAboveCount: more tasks are missing than there are.
	FaultMissingAboveCount
	// FaultExclusive: two fields are given of which one excludes the other.
	FaultExclusive
	// FaultReservedResource: GPU stands where only other resources can: the
	// devices of a node are its GPU, a request asks for it apart (S2).
	FaultReservedResource
	// FaultMixedWeights: of sibling queues some give a weight for a resource
	// and some do not (F4).
	FaultMixedWeights
	// FaultSelector: an expression of a selector does not make sense.
	FaultSelector
	// FaultToleration: a taint or toleration does not make sense.
	FaultToleration
	// FaultLevelOrder: a preferred level or island is wider than the required
	// one, or the level of slices is not narrower than those around them (T2, T3).
	FaultLevelOrder
	// FaultLevelRequired: a mode is given, and no level of which it speaks (T2).
	FaultLevelRequired
	// FaultDevicesRequired: an island is asked for, and no devices (T4).
	FaultDevicesRequired
	// FaultSlice: slices are not of a pod set, or their size does not divide what
	// they part (T3).
	FaultSlice
	// FaultOverbooked: Running and Terminating tasks hold more than the node
	// or device has, without any foreign use (S4).
	FaultOverbooked
	// FaultClaimOverRunning: Running and Claimed tasks together do not fit
	// the node or device (S4).
	FaultClaimOverRunning
	// FaultTaskTwice: a task has two places, and it is not one that moves:
	// Terminating in one and Claimed in the other (M4).
	FaultTaskTwice
	// FaultTaskIndex: a Running or Claimed task has an index that is not
	// among the submitted ones of its pod set.
	FaultTaskIndex
	// FaultTaskPhase: a task of a workload that is Ending is not Terminating.
	FaultTaskPhase
	// FaultDeviceTwice: a task lists a device twice.
	FaultDeviceTwice
	// FaultDeviceCount: a task holds another number of devices than its
	// request asks, or a node another than its hardware has.
	FaultDeviceCount
	// FaultMixedModels: the devices of one task are of different models (P2).
	FaultMixedModels

	// FaultSyntax: the bytes are no JSON.
	FaultSyntax
	// FaultVersion: the JSON is of no version that this library reads.
	FaultVersion
	// FaultUnknownField: the JSON has a field that the form does not.
	FaultUnknownField
	// FaultDuplicateKey: a JSON object has a key twice.
	FaultDuplicateKey
	// FaultType: a JSON value is of the wrong type; a fraction or exponent
	// where an integer belongs is one.
	FaultType
	// FaultFormat: a JSON text or number is of the right type and says
	// nothing that the field can hold.
	FaultFormat
	// FaultTrailing: something follows the JSON value.
	FaultTrailing

	// WarnQuotaAboveParent: a queue's quota is above its parent's (V1).
	WarnQuotaAboveParent
	// WarnWeightUnused: a weight is given for a resource that is under no
	// quota in the pool, so it decides nothing (Q1); or by a queue that weighs by its
	// quota, as the policy says of those with queues below them and their siblings (F4).
	WarnWeightUnused
	// WarnNodeInNoPool: the node belongs to no pool and is left alone.
	WarnNodeInNoPool
	// WarnNodeOutsidePool: a queue names a node that is not in its pool.
	WarnNodeOutsidePool
	// WarnEmptyPool: no node is in the pool.
	WarnEmptyPool
	// WarnNonPreemptibleOverQuota: non-preemptible use is above the quota,
	// though the policy keeps to Q2 (S7).
	WarnNonPreemptibleOverQuota
	// WarnOverLimit: a queue uses more than its limit, or more beyond its quota
	// than its borrowing limit, or runs more workloads than its cap (S7).
	WarnOverLimit
	// WarnLevelUnused: no node is in a domain of the level (T1).
	WarnLevelUnused
	// WarnLevelOutsidePool: a constraint names a level of which the nodes of the
	// pool have no domain. Of a pool and level it is told once, where it stands
	// first (T2).
	WarnLevelOutsidePool
	// WarnMixUnused: a target mix is given, and no strategy of the pool asks for
	// one (P4).
	WarnMixUnused
	// WarnMixEmpty: the target mix is to be given and is not, so no node is more
	// fragmented than another (P4).
	WarnMixEmpty
	// WarnWorkOutsidePool: something of the workload runs on a node that is not in
	// its pool any more. It is its queue's use, and is left alone (S7).
	WarnWorkOutsidePool
	// WarnLooksLikeDevices: an amount of GPUs of a queue is below 1000, a thousandth of a
	// device each, and no work in the pool asks for parts of devices (S2).
	WarnLooksLikeDevices
	// WarnLooksLikeCores: a node has less than 1000 of CPU, which is one core (S2). It
	// is told once, of the first such node by ID.
	WarnLooksLikeCores
	// WarnDeviceAsResource: a plain resource has the name of a device plugin's, such as
	// nvidia.com/gpu: it has no devices, models, fractions or fair share of GPUs. It is
	// told once for each name, where it stands first.
	WarnDeviceAsResource
	// WarnQuotaOutOfReach: a quota is more than all the usable nodes have that the
	// queue, or any of the leaves below it, may use, so that nothing can guarantee it (Q6, Q7).
	WarnQuotaOutOfReach
	// WarnQuotaForNobody: a queue has a quota, and no queue below it a quota or a
	// weight, so that the quota is no part of any fair share (F4).
	WarnQuotaForNobody
	// WarnSurplusForNobody: queues want more, something is left over, and none of them
	// has a weight to have a part of it by (F4). It is told of the first by ID of each
	// sibling group.
	WarnSurplusForNobody

	// FaultUnknownReservation: no reservation has this ID.
	FaultUnknownReservation

	// WarnDeadlineMissed: a workload that waits can no longer meet its deadline, or does not by
	// the start that the plan promises to it (B11).
	WarnDeadlineMissed

	// WarnBehindNobody: a task is Behind a workload that is not there, or that has no
	// promise; the task counts as behind none (B6).
	WarnBehindNobody
	// WarnAmountUnmet: a domain has fewer devices than a reservation asks of it, or there is no
	// such domain (B9).
	WarnAmountUnmet

	faultCodes // one past the last
)

var faultNames = [faultCodes]string{
	FaultEmpty:             "empty",
	FaultText:              "bad-text",
	FaultDuplicate:         "duplicate",
	FaultUnknownNode:       "unknown-node",
	FaultUnknownPool:       "unknown-pool",
	FaultUnknownQueue:      "unknown-queue",
	FaultUnknownClass:      "unknown-class",
	FaultUnknownPodSet:     "unknown-pod-set",
	FaultUnknownGroup:      "unknown-group",
	FaultUnknownDevice:     "unknown-device",
	FaultUnknownValue:      "unknown-value",
	FaultUnknownWorkload:   "unknown-workload",
	FaultUnknownBudget:     "unknown-budget",
	FaultUnknownLevel:      "unknown-level",
	FaultUnknownHardware:   "unknown-hardware",
	FaultPoolRequired:      "pool-required",
	FaultWrongPool:         "wrong-pool",
	FaultNodeInTwoPools:    "node-in-two-pools",
	FaultCycle:             "cycle",
	FaultNotLeaf:           "not-a-leaf",
	FaultQueueRequired:     "queue-required",
	FaultRange:             "out-of-range",
	FaultSum:               "sum-too-large",
	FaultTooMany:           "too-many",
	FaultMinAboveCount:     "min-above-count",
	FaultMissingAboveCount: "missing-above-count",
	FaultExclusive:         "exclusive",
	FaultReservedResource:  "reserved-resource",
	FaultMixedWeights:      "mixed-weights",
	FaultSelector:          "bad-selector",
	FaultToleration:        "bad-toleration",
	FaultLevelOrder:        "level-order",
	FaultLevelRequired:     "level-required",
	FaultDevicesRequired:   "devices-required",
	FaultSlice:             "bad-slice",
	FaultOverbooked:        "overbooked",
	FaultClaimOverRunning:  "claim-over-running",
	FaultTaskTwice:         "task-twice",
	FaultTaskIndex:         "task-index",
	FaultTaskPhase:         "task-phase",
	FaultDeviceTwice:       "device-twice",
	FaultDeviceCount:       "device-count",
	FaultMixedModels:       "mixed-models",

	FaultSyntax:       "json-syntax",
	FaultVersion:      "json-version",
	FaultUnknownField: "json-unknown-field",
	FaultDuplicateKey: "json-duplicate-key",
	FaultType:         "json-type",
	FaultFormat:       "json-format",
	FaultTrailing:     "json-trailing",

	WarnQuotaAboveParent:        "quota-above-parent",
	WarnWeightUnused:            "weight-unused",
	WarnNodeInNoPool:            "node-in-no-pool",
	WarnNodeOutsidePool:         "node-outside-pool",
	WarnEmptyPool:               "empty-pool",
	WarnNonPreemptibleOverQuota: "non-preemptible-over-quota",
	WarnOverLimit:               "over-limit",
	WarnLevelUnused:             "level-unused",
	WarnLevelOutsidePool:        "level-outside-pool",
	WarnMixUnused:               "mix-unused",
	WarnMixEmpty:                "mix-empty",
	WarnWorkOutsidePool:         "work-outside-pool",
	WarnLooksLikeDevices:        "looks-like-devices",
	WarnLooksLikeCores:          "looks-like-cores",
	WarnDeviceAsResource:        "device-as-resource",
	WarnQuotaOutOfReach:         "quota-out-of-reach",
	WarnQuotaForNobody:          "quota-for-nobody",
	WarnSurplusForNobody:        "surplus-for-nobody",
	FaultUnknownReservation:     "unknown-reservation",
	WarnDeadlineMissed:          "deadline-missed",
	WarnBehindNobody:            "behind-nobody",
	WarnAmountUnmet:             "amount-unmet",
}

// String is the code's stable text.
func (c FaultCode) String() string { return prose.Name("FaultCode", faultNames[:], c) }

// Error is the code's text. It makes a code a target of [errors.Is]:
// errors.Is(err, FaultCycle) asks whether any fault of err has the code.
func (c FaultCode) Error() string { return c.String() }

// MarshalText is the code's text; an unknown code is an error.
func (c FaultCode) MarshalText() ([]byte, error) {
	return prose.MarshalName("fault code", faultNames[:], c)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (c *FaultCode) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("fault code", faultNames[:], c, text)
}

// A Fault is one thing that is wrong, or as a warning odd, about a State (V1).
type Fault struct {
	// Path is where, in the words of the JSON form:
	// workloads[3].podSets[0].count. A warning of a Plan names list entries by
	// ID instead, queues["q1"].resources["gpu"].quota, because the order of
	// lists never reaches a plan (S3). The whole is "$".
	Path string    `json:"path"`
	Code FaultCode `json:"code"`
	// ID is that of the object into which the path leads: of a node, pool, queue or workload
	// its ID, of a budget its owner, of a level its name. It is empty where the path leads
	// into none, or names it already. Where the lists are not the caller's, as in a
	// [Snapshot], it alone tells which object is meant.
	ID string `json:"id,omitzero"`
	// Value is the text of what stands there; names are quoted.
	Value string `json:"value,omitzero"`
	// Want is what would be right, as the end of a sentence: "must be > 0".
	Want string `json:"want,omitzero"`
}

// String is a line such as "workloads[3] (train).podSets[0].count: must be > 0, is -1".
func (f Fault) String() string {
	path := f.Path
	if end := strings.IndexByte(path, ']') + 1; end > 0 && f.ID != "" {
		path = path[:end] + " (" + prose.Word(f.ID) + ")" + path[end:]
	}
	text := path + ": " + f.Want
	if f.Want == "" {
		text = path + ": " + f.Code.String()
	}
	if f.Value != "" {
		text += ", is " + f.Value
	}
	return text
}

// An InvalidError says everything that is wrong with a State, or with JSON
// that should be one (V1). [errors.Is] finds it by any [FaultCode] in it.
type InvalidError struct {
	// Faults are all of them, at least one, in the order of their places.
	Faults []Fault
}

// maxPrintedFaults bounds the text of an InvalidError; Faults has them all.
const maxPrintedFaults = 50

// Error lists the faults, one per line if there are several; after the first
// 50 it only counts them.
func (e *InvalidError) Error() string {
	if len(e.Faults) == 1 {
		return "allot: invalid: " + e.Faults[0].String()
	}
	var b strings.Builder
	b.WriteString("allot: invalid: " + strconv.Itoa(len(e.Faults)) + " faults")
	for i, f := range e.Faults {
		if i == maxPrintedFaults {
			b.WriteString("\n\tand " + strconv.Itoa(len(e.Faults)-i) + " more")
			break
		}
		b.WriteString("\n\t" + f.String())
	}
	return b.String()
}

// Is reports whether target is the [FaultCode] of one of the faults.
func (e *InvalidError) Is(target error) bool {
	code, ok := target.(FaultCode)
	if !ok {
		return false
	}
	for _, f := range e.Faults {
		if f.Code == code {
			return true
		}
	}
	return false
}
