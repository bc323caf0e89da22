package allot

import (
	"encoding"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

var updateText = flag.Bool("update-text", false, "rewrite the golden texts of plans and reasons")

// storyPlan is a plan with something of everything that a plan can tell.
func storyPlan() *Plan {
	return &Plan{
		Revision: "r 7",
		Actions: []Action{
			{Kind: Displace, Workload: "q1/wf3", Queue: "q1", Tasks: []Placement{{Node: "n2", Devices: []int{0}}}, Reason: Reason{Code: NodeLost, Node: "n2"}},
			{Kind: Unclaim, Workload: "wf4", Queue: "q1", Form: 1, Tasks: []Placement{{PodSet: "w", Index: 1, Node: "n2", Devices: []int{3}}}, Reason: Reason{Code: PlaceLost, Form: 1, Node: "n2"}},
			{Kind: Start, Workload: "q2/wf5", Queue: "q2", Tasks: []Placement{{Node: "n0", Devices: []int{2}}}},
			{Kind: Start, Workload: "train", Queue: "team", Tasks: []Placement{
				{PodSet: "leader", Node: "n0"},
				{PodSet: "workers", Index: 0, Node: "n0", Devices: []int{0, 1, 3}}, {PodSet: "workers", Index: 1, Node: "n1", Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}},
				{PodSet: "workers", Index: 3, Node: "n1 b", Devices: []int{0}},
			}},
			{Kind: Evict, Workload: "q1/wf6", Queue: "q1", Tasks: []Placement{{Node: "n3", Devices: []int{0, 1}}},
				Reason: Reason{Code: ReclaimedByQuota, Workload: "q2/wf8", Queue: "q1", Resource: GPU, Have: 3000, Need: 2000,
					Subtrees: &Subtrees{Victim: Subtree{"q1", 3000, 1000, 2000}, Preemptor: Subtree{"q2", 0, 2000, 2000}}},
				Ending: Ending{Status: "FAILED_PREEMPTED", ExitCode: 3006, Final: true, Checkpoint: true}},
			{Kind: Evict, Workload: "q1/wf7", Queue: "q1", Tasks: []Placement{{Node: "n3", Devices: []int{2}}},
				Reason: Reason{Code: Preempted, Workload: "q1/wf9"}, Ending: Ending{Status: "gave way"}},
			{Kind: Shrink, Workload: "el", Queue: "q1", Tasks: []Placement{{Index: 2, Node: "n3", Devices: []int{3}}, {Index: 3, Node: "n3", Devices: []int{4}}},
				Reason: Reason{Code: Preempted, Workload: "q1/wf9"}},
			{Kind: Move, Workload: "q1/wf10", Queue: "q1", Tasks: []Placement{{Node: "n5", Devices: []int{3}}}, From: []Placement{{Node: "n3", Devices: []int{5}}},
				Reason: Reason{Code: Consolidated, Workload: "q1/wf9"}},
			{Kind: Move, Workload: "q1/wf11", Queue: "q1",
				Tasks: []Placement{{PodSet: "leader", Node: "n5"}, {PodSet: "workers", Index: 1, Node: "n5", Devices: []int{4}}, {PodSet: "workers", Index: 2, Node: "n6", Devices: []int{0}}},
				From:  []Placement{{PodSet: "leader", Node: "n3"}, {PodSet: "workers", Index: 1, Node: "n3", Devices: []int{6}}, {PodSet: "workers", Index: 2, Node: "n3", Devices: []int{7}}},
				After: []string{"el"}, Reason: Reason{Code: Consolidated, Workload: "q1/wf9"}},
			{Kind: Start, Workload: "q1/wf9", Queue: "q1", Tasks: []Placement{{Node: "n3", Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}}},
				After: []string{"a b", "el", "q1/wf6"}},
			{Kind: Resize, Workload: "cpu", Tasks: []Placement{{Index: 4, Node: "n0"}, {Index: 5, Node: "n0"}, {Index: 7, Node: "n1"}}},
		},
		Pending: []Pending{{Workload: "wf7", Queue: "q1", Reasons: []Reason{
			{Code: OverLimit, Queue: "q1", Resource: GPU, Have: 500, Need: 2000},
			{Code: NoNode, PodSet: "workers", Nodes: []PredicateCount{{Predicate: placement.Model, Nodes: 3}, {Predicate: placement.Resources, Resource: Memory, Nodes: 1}},
				Nearest: &Nearest{Node: "n0", Predicate: placement.Resources, Resource: Memory, Have: 3 << 30, Need: 4 << 30}},
		}}},
		Shares: []Share{
			{Pool: "p", Queue: "q1", Resource: GPU, Quota: quota.Of(2000), Limit: quota.Unlimited(), Used: 3500, InQuota: 2000, OverQuota: 1500, NonPreemptible: 1000, Demand: 12000, FairShare: 4000,
				State: fairshare.OverQuota, Borrowed: 1500, Reachable: 8000, PoolTotal: 16000},
			{Pool: "p", Queue: "q2", Resource: GPU, Class: "H100", Limit: quota.Of(0), Lent: 1500},
			{Pool: "p", Resource: Memory, Quota: quota.Of(64 << 30), Limit: quota.Unlimited(), Used: 1 << 20},
		},
		Warnings: []Fault{{Path: `queues["q1"].resources["gpu"].quota`, Code: WarnQuotaAboveParent, Value: "9000", Want: `should be at most the 8000 of its parent "d"`}},
		Work:     Work{Turns: 3},
	}
}

// X4: the text of a plan is golden.
func TestPlanText(t *testing.T) {
	golden(t, "plan.golden", storyPlan().String())
	if got := new(Plan).String(); got != "" {
		t.Errorf("the empty plan is %q", got)
	}
	short := &Plan{Actions: []Action{{Kind: Move, Workload: "w", Tasks: []Placement{{Node: "n"}}}}}
	if got := short.String(); got != "move w to n\n" {
		t.Errorf("a move from nowhere is %q", got)
	}
	if err := storyPlan().WriteText(brokenPipe{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// golden compares a text with a file in testdata/text.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "text", name)
	if *updateText {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// X1, X4: every code has a sentence with its numbers.
func TestReasonTexts(t *testing.T) {
	reasons := []Reason{
		{Code: NodeLost, Node: "n1"},
		{Code: DeviceLost, Node: "n1"},
		{Code: PlaceLost, Node: "n1"},
		{Code: ClaimBroken},
		{Code: ReclaimedByQuota, Queue: "q1", Resource: GPU, Workload: "q2/wf5", Have: 3000, Need: 2000},
		{Code: ReclaimedByQuota, Queue: "q1", Resource: CPU, Workload: "q2/wf5", Have: 500, Need: 0,
			Subtrees: &Subtrees{Victim: Subtree{"q1", 500, 0, 0}, Preemptor: Subtree{"d 2", 0, 500, quota.Infinite}}},
		{Code: ReclaimedByShare, Queue: "q1", Resource: GPU, Workload: "q2/wf5", Have: 5000, Need: 4500,
			Subtrees: &Subtrees{Victim: Subtree{"q1", 5000, 4000, 4500}, Preemptor: Subtree{"q2", 2500, 3500, 3500}}},
		{Code: ReclaimedByShare, Queue: "q1", Resource: Memory, Workload: "q2/wf5", Have: 3 << 30, Need: 5 << 29,
			Subtrees: &Subtrees{Victim: Subtree{"q1", 3 << 30, 2 << 30, 5 << 29}, Preemptor: Subtree{"q2", 0, 1 << 30, 5 << 29}}},
		{Code: Preempted, Workload: "q1/wf5"},
		{Code: Consolidated, Workload: "q1/wf5"},
		{Code: StaleGang, Have: 3, Need: 4},
		{Code: Grown},
		{Code: ImpossibleNode, PodSet: "workers", Nodes: []PredicateCount{{Predicate: placement.DeviceCount, Nodes: 1}},
			Nearest: &Nearest{Node: "n1", Predicate: placement.DeviceCount, Have: 1, Need: 2}},
		{Code: ImpossibleNode},
		{Code: ImpossibleGang, PodSet: "workers", Have: 3, Need: 4},
		{Code: ImpossibleDomain, Have: 2, Need: 4, Domains: []DomainRoom{{"rack", "b1/r1", 2, 4}}},
		{Code: ImpossibleQuota, Queue: "q1", Resource: GPU, Have: 1000, Need: 2000},
		{Code: ImpossibleLimit, Queue: "q1", Resource: CPU, Have: 500, Need: 1250},
		{Code: NotSubmitted, PodSet: "workers", Have: 1, Need: 4},
		{Code: NotBefore, Until: time.Date(2026, 1, 31, 13, 0, 0, 1000, time.FixedZone("", 3600))},
		{Code: Leaving, Need: 1},
		{Code: ClaimHeld, Have: 1, Need: 2},
		{Code: MaxWorkloads, Queue: "q1", Have: 1, Need: 1},
		{Code: OverLimit, Queue: "q1", Resource: GPU, Class: "H100", Have: -500, Need: 500},
		{Code: OverBorrowingLimit, Queue: "q1", Resource: "fpga", Have: 0, Need: 2},
		{Code: NoQuota, Queue: "q1", Resource: Memory, Have: 1 << 30, Need: 1<<30 + 1},
		{Code: KeptFromLending, Queue: "q1", Resource: Memory, Have: 0, Need: 3 << 20},
		{Code: NoCapacity, Resource: GPU, Have: 0, Need: 1000},
		{Code: NoNode, Form: 2, Nodes: []PredicateCount{{Predicate: placement.Taints, Nodes: 2}, {Predicate: placement.Fragmented, Nodes: 1}},
			Nearest: &Nearest{Node: "n1", Predicate: placement.Fragmented, Have: 0, Need: 1}},
		{Code: NoNode, Nodes: []PredicateCount{{Predicate: placement.FreeDevices, Nodes: 4}},
			Free: &Pieces{Resource: GPU, InAll: 16000, Eligible: 16000, Whole: 16000, Largest: 4000, Node: "n1"}},
		{Code: NoNode, Nodes: []PredicateCount{{Predicate: placement.Taints, Nodes: 2}},
			Free: &Pieces{Resource: GPU, InAll: 16000}},
		{Code: GangShort, PodSet: "workers", Have: 2, Need: 4, Free: &Pieces{Resource: GPU, InAll: 16000, Eligible: 12000, Whole: 11500, Largest: 4000, Node: "n 1"}},
		{Code: GangShort, PodSet: "workers", Have: 2, Need: 4},
		{Code: GangShort, Have: 2, Need: 4},
		{Code: NoDomain, Have: 3, Need: 4, Domains: []DomainRoom{{"rack", "", 0, 4}, {"block", "b 1", 3, 4}}},
		{Code: NoDomain, Have: 3, Need: 4},
		{Code: WaitsForLeaving},
		{Code: Exposes, Queue: "q1", Workload: "w2"},
		{Code: TakenBack, Workload: "w2"},
		{Code: OverLine, Queue: "q1", Resource: GPU, Have: 1000, Need: 2000},
		{Code: OverLine, Queue: "q1", Resource: Memory, Have: 0, Need: 2 << 30},
		{Code: GuaranteeCut, Queue: "q1", Resource: GPU, Have: 3000, Need: 6000},
		{Code: ProtectedUntil, Need: 3, Until: time.Date(2026, 1, 31, 13, 0, 0, 1000, time.FixedZone("", 3600))},
		{Code: ProtectedUntil, Need: 1},
		{Code: BudgetSpent, Need: 1},
		{Code: SaturationTurns, Need: 2},
		{Code: LargerThanShare, Queue: "q1", Resource: GPU, Have: 3000, Need: 4000},
		{Code: VictimsProtected, Have: 1, Need: 4, Protections: []Protection{
			{preempt.WithinLine, preempt.QuotaProtected, "q1", 2}, {preempt.Protected, preempt.ShareProtected, "q2", 1},
			{preempt.NeverPreempted, preempt.Unprotected, "q 3", 1},
		}},
		{Code: VictimsProtected, Need: 1, Protections: []Protection{{preempt.Straddling, preempt.QuotaProtected, "q1", 1}}},
		{Code: ProtectedUntil, Need: 3, Protections: []Protection{{By: preempt.MinRuntimeHolds, Queue: "q1", Units: 3}}},
		{Code: VictimsShort},
		{Code: VictimsShort, Need: 2},
		{Code: Outranked, Workload: "q1/wf 2"},
		{Code: Overtaken, Queue: "q1", Need: 3},
		{Code: ReservedForOther, Workload: "g 1", Until: time.Date(2026, 1, 31, 13, 0, 0, 0, time.UTC)},
		{Code: WaitsForReservation, Workload: "w2", Until: time.Date(2026, 1, 31, 13, 0, 0, 0, time.UTC)},
		{Code: WaitsForReservation, Until: time.Date(2026, 1, 31, 13, 0, 0, 0, time.UTC)},
		{Code: TooLateToBackfill, Workload: "g1", Need: 21600, Until: time.Date(2026, 1, 31, 13, 0, 0, 0, time.UTC)},
		{Code: DurationUnknown, Workload: "g1", Until: time.Date(2026, 1, 31, 13, 0, 0, 0, time.UTC)},
		{Code: OverHeld, Resource: GPU, Have: 2000, Need: 3500},
		{Code: OverHeld, Have: 10800, Need: 14400},
		{Code: SearchCut, Need: 64},
		{Code: Overruns, Workload: "w2"},
		{Code: PlaceGone},
		{Code: Yields, Workload: "g2"},
		{Code: PromiseChanged},
		{Code: PromiseChanged, Have: 2, Need: 1},
		{Code: PromiseChanged, Queue: "q", Have: 3, Need: 2},
		{Code: ReservationBegan, Reservation: "m 1", Until: time.Date(2026, 1, 31, 13, 0, 0, 0, time.UTC)},
		{Code: ReservationBegan, Reservation: "m1"},
		{Code: Behind, Workload: "w 1"},
		{Code: Behind, Workload: "w1"},
	}
	told := make(map[Code]bool)
	var b strings.Builder
	for _, r := range reasons {
		told[r.Code] = true
		b.WriteString(r.Code.String() + ": " + r.String() + "\n")
	}
	golden(t, "reasons.golden", b.String())
	for code := range codeNames {
		if code > 0 && !told[Code(code)] {
			t.Errorf("no row for %v", Code(code))
		}
	}
	if got := (Reason{Code: 200}).String(); got != "Code(200)" {
		t.Error(got)
	}
}

// Every predicate has words.
func TestPredicateTexts(t *testing.T) {
	seen := make(map[string]bool)
	for p := placement.Predicate(1); p.Valid(); p++ {
		text := predicateText(p, "")
		if text == "" || seen[text] || int(p) >= len(predicateTexts) {
			t.Errorf("%v: %q", p, text)
		}
		seen[text] = true
	}
}

// Texts tell GPUs, CPUs and bytes in their units: the names of these resources are
// the ones by which package prose chooses a unit.
func TestAmountUnits(t *testing.T) {
	for resource, want := range map[string]string{GPU: "0.5 GPU", CPU: "0.5 CPU", Memory: "500 bytes", "fpga": "500 fpga"} { // in any order
		if got := prose.Amount(resource, 500); got != want {
			t.Errorf("%s: %q, want %q", resource, got, want)
		}
	}
}

// Every enumeration's texts are stable, come back, and nothing else does.
func TestEnumTexts(t *testing.T) {
	rows := map[string][]encoding.TextMarshaler{
		"by-class preemptible non-preemptible":            {PreemptionByClass, Preemptible, NonPreemptible},
		"running claimed terminating":                     {Running, Claimed, Terminating},
		"reschedule fail":                                 {Reschedule, Fail},
		"start resize displace unclaim evict shrink move": {Start, Resize, Displace, Unclaim, Evict, Shrink, Move},
	}
	for want, values := range rows {
		var got []string
		for _, v := range values {
			text, err := v.MarshalText()
			if err != nil {
				t.Error(err)
			}
			got = append(got, string(text))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	for _, v := range []encoding.TextMarshaler{Preemption(3), Phase(3), Exit(2), ActionKind(0), ActionKind(8), Code(0), Code(200), FaultCode(0), faultCodes} {
		if text, err := v.MarshalText(); err == nil {
			t.Errorf("%#v has the text %s", v, text)
		}
	}
	var p Preemption
	var h Phase
	var e Exit
	var k ActionKind
	var c Code
	var f FaultCode
	for _, v := range []encoding.TextUnmarshaler{&p, &h, &e, &k, &c, &f} {
		for _, text := range []string{"", "Start", "start "} {
			if err := v.UnmarshalText([]byte(text)); err == nil {
				t.Errorf("%T takes %q", v, text)
			}
		}
	}
	if err := k.UnmarshalText([]byte("resize")); err != nil || k != Resize {
		t.Error(k, err)
	}
}

// The codes and kinds of the core have the values of the exported ones, so that a
// verdict is written out without a table.
func TestCodesOfTheCore(t *testing.T) {
	codes := map[cluster.Code]Code{
		cluster.NodeLost:            NodeLost,
		cluster.DeviceLost:          DeviceLost,
		cluster.PlaceLost:           PlaceLost,
		cluster.ClaimBroken:         ClaimBroken,
		cluster.ReclaimedByQuota:    ReclaimedByQuota,
		cluster.ReclaimedByShare:    ReclaimedByShare,
		cluster.Preempted:           Preempted,
		cluster.Consolidated:        Consolidated,
		cluster.StaleGang:           StaleGang,
		cluster.Grown:               Grown,
		cluster.ImpossibleNode:      ImpossibleNode,
		cluster.ImpossibleGang:      ImpossibleGang,
		cluster.ImpossibleDomain:    ImpossibleDomain,
		cluster.ImpossibleQuota:     ImpossibleQuota,
		cluster.ImpossibleLimit:     ImpossibleLimit,
		cluster.NotSubmitted:        NotSubmitted,
		cluster.Leaving:             Leaving,
		cluster.ClaimHeld:           ClaimHeld,
		cluster.MaxWorkloads:        MaxWorkloads,
		cluster.OverLimit:           OverLimit,
		cluster.OverBorrowingLimit:  OverBorrowingLimit,
		cluster.NoQuota:             NoQuota,
		cluster.KeptFromLending:     KeptFromLending,
		cluster.NoCapacity:          NoCapacity,
		cluster.NoNode:              NoNode,
		cluster.GangShort:           GangShort,
		cluster.NoDomain:            NoDomain,
		cluster.WaitsForLeaving:     WaitsForLeaving,
		cluster.Exposes:             Exposes,
		cluster.TakenBack:           TakenBack,
		cluster.OverLine:            OverLine,
		cluster.GuaranteeCut:        GuaranteeCut,
		cluster.ProtectedUntil:      ProtectedUntil,
		cluster.BudgetSpent:         BudgetSpent,
		cluster.SaturationTurns:     SaturationTurns,
		cluster.LargerThanShare:     LargerThanShare,
		cluster.VictimsProtected:    VictimsProtected,
		cluster.VictimsShort:        VictimsShort,
		cluster.Outranked:           Outranked,
		cluster.Overtaken:           Overtaken,
		cluster.ReservedForOther:    ReservedForOther,
		cluster.WaitsForReservation: WaitsForReservation,
		cluster.TooLateToBackfill:   TooLateToBackfill,
		cluster.DurationUnknown:     DurationUnknown,
		cluster.OverHeld:            OverHeld,
		cluster.SearchCut:           SearchCut,
		cluster.Overruns:            Overruns,
		cluster.PlaceGone:           PlaceGone,
		cluster.Yields:              Yields,
		cluster.PromiseChanged:      PromiseChanged,
		cluster.ReservationBegan:    ReservationBegan,
		cluster.Behind:              Behind,
		cluster.NotBefore:           NotBefore,
	}
	kinds := map[cluster.Kind]ActionKind{
		cluster.Start:    Start,
		cluster.Resize:   Resize,
		cluster.Displace: Displace,
		cluster.Unclaim:  Unclaim,
		cluster.Evict:    Evict,
		cluster.Shrink:   Shrink,
		cluster.Move:     Move,
	}
	if len(codes) != len(codeNames)-1 || len(kinds) != len(actionNames)-1 {
		t.Errorf("%d codes and %d kinds, exported are %d and %d", len(codes), len(kinds), len(codeNames)-1, len(actionNames)-1)
	}
	for own, exported := range codes {
		if Code(own) != exported {
			t.Errorf("code %d is %v, not %v", own, Code(own), exported)
		}
	}
	for own, exported := range kinds {
		if ActionKind(own) != exported {
			t.Errorf("kind %d is %v, not %v", own, ActionKind(own), exported)
		}
	}
}
