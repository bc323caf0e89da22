package allot

import (
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// String is the reason in people's words, with its numbers and units (X4), for
// example "asks 2 GPUs, and the limit of queue q1 leaves 0.5 GPU".
func (r Reason) String() string {
	text := r.text()
	if r.Form > 0 {
		text = "form " + strconv.Itoa(r.Form) + ": " + text
	}
	return text
}

func (r *Reason) text() string {
	switch r.Code {
	case NodeLost:
		return "node " + prose.Word(r.Node) + " is lost"
	case DeviceLost:
		return "a device of node " + prose.Word(r.Node) + " is unhealthy"
	case PlaceLost:
		return "the claimed place on node " + prose.Word(r.Node) + " can no longer take the task"
	case ClaimBroken:
		return "what runs and is still claimed is less than must start together"
	case ReclaimedByQuota:
		return r.reclaimed("quota")
	case ReclaimedByShare:
		return r.reclaimed("fair share")
	case Preempted:
		return "workload " + prose.Word(r.taker()) + " has the higher priority" + r.inTurn()
	case Behind:
		return "workload " + prose.Word(r.taker()) + ", behind which it had its place, takes it" + r.inTurn()
	case Consolidated:
		return "moves so that workload " + prose.Word(r.taker()) + " finds a place" + r.inTurn()
	case StaleGang:
		return "has run with " + prose.Decimal(r.Have) + " of the " + prose.Count(r.Need, "task") +
			" that must run together for longer than the policy's grace"
	case Grown:
		if r.Workload != "" {
			return "grows beyond its minimum into the place of workload " + prose.Word(r.Workload)
		}
		return "grows beyond its minimum into what is free"
	case ImpossibleNode:
		return "no node, however empty, takes a task" + r.ofPodSet() + r.byPredicate()
	case ImpossibleGang:
		return "the empty cluster takes at most " + prose.Decimal(r.Have) + " of the " + prose.Count(r.Need, "task") +
			r.ofPodSet() + " that must start together"
	case ImpossibleDomain:
		return "even in the empty cluster " + r.byDomain()
	case NotSubmitted:
		return "has " + prose.Decimal(r.Have) + " of the " + prose.Count(r.Need, "task") + r.ofPodSet() + " that must start together"
	case NotBefore:
		return "may not start before " + prose.Instant(r.Until)
	case Leaving:
		return "waits for the end of " + prose.Count(r.Need, "task") + " of its own"
	case ClaimHeld:
		return "holds claims for " + prose.Count(r.Need, "task") + " and starts when enough of their places are free"
	case NoNode:
		return "no node takes a task" + r.ofPodSet() + " now" + r.byPredicate() + r.inPieces()
	case GangShort:
		text := prose.Decimal(r.Have) + " of the " + prose.Count(r.Need, "task") + " that must start together find a place"
		if r.PodSet != "" {
			text += "; the search ended at " + prose.Word(r.PodSet)
		}
		return text + r.inPieces()
	case NoDomain:
		return r.byDomain()
	case WaitsForLeaving:
		return "would fit if what is terminating were gone"
	case Outranked:
		return "workload " + prose.Word(r.Workload) + " stands before it, waits, and does not let it pass"
	case Overtaken:
		return r.overtaken()
	case ReservedForOther, WaitsForReservation, TooLateToBackfill, DurationUnknown, OverHeld, Overruns, PlaceGone, Yields, PromiseChanged, ReservationBegan:
		return r.promiseText()
	case SearchCut:
		return "the search was cut at " + prose.Count(r.Need, "choice") + "; another choice of pod sets or of victims might do"
	case ProtectedUntil, BudgetSpent, SaturationTurns, VictimsProtected, VictimsShort:
		return r.victimsText()
	}
	return r.boundText()
}

// overtaken says how many others have passed it.
func (r *Reason) overtaken() string {
	hold := " hold places"
	if r.Need == 1 {
		hold = " holds a place"
	}
	return prose.Count(r.Need, "workload") + " of " + r.queue() + " that came later and stand no higher" + hold + " while it waits"
}

// byDomain says what the best domains would take (T7).
func (r *Reason) byDomain() string {
	text := "no domain takes all " + prose.Count(r.Need, "task") + " that must be in one"
	if len(r.Domains) == 0 {
		return "all constraints together leave a place to " + prose.Decimal(r.Have) + " of the " +
			prose.Count(r.Need, "task") + " that must start together"
	}
	for i := range r.Domains {
		d := &r.Domains[i]
		text += [...]string{": ", ", "}[min(i, 1)]
		if d.Domain == "" {
			text += "no " + prose.Word(d.Level) + " takes any of " + prose.Decimal(d.Need)
		} else {
			text += "the best " + prose.Word(d.Level) + ", " + prose.Word(d.Domain) + ", takes " + prose.Decimal(d.Have) + " of " + prose.Decimal(d.Need)
		}
	}
	return text
}

// reclaimed says which workload's right to its entitlement, a quota or a fair share,
// took the tasks, and what that does to the two subtrees (X2).
func (r *Reason) reclaimed(entitlement string) string {
	have, need := r.amount(r.Have), prose.Figure(r.Resource, r.Need)
	if r.Resource == Memory {
		need = prose.Amount(r.Resource, r.Need) // bytes have units of their own
	}
	text := r.queue() + " uses " + have + " of its " + entitlement + " of " + need +
		", and workload " + prose.Word(r.taker()) + " is entitled to its " + entitlement
	if r.Subtrees != nil {
		text += "; " + r.Subtrees.Victim.text(r.Resource) + " and " + r.Subtrees.Preemptor.text(r.Resource)
	}
	return text + r.inTurn()
}

// taker is the workload that took the tasks' places first.
func (r *Reason) taker() string {
	if len(r.Chain) > 0 {
		return r.Chain[0].Workload
	}
	return r.Workload
}

// inTurn tells which workloads took the places from the first taker, one from the other (M11).
func (r *Reason) inTurn() (text string) {
	for i := 1; i < len(r.Chain); i++ {
		text += "; from that workload " + prose.Word(r.Chain[i].Workload) + " took them: " + r.Chain[i].Code.String()
	}
	return text
}

// text says how the change moves the subtree: its use over its entitlement.
func (s *Subtree) text(resource string) string {
	over := "/unlimited"
	if s.Entitlement != MaxAmount && s.Entitlement < maxSum {
		over = "/" + prose.Figure(resource, s.Entitlement)
	}
	return "queue " + prose.Word(s.Queue) + " goes from " + prose.Figure(resource, s.Before) + over +
		" to " + prose.Figure(resource, s.After) + over
}

// victimsText is the text of the codes about victims that may not be taken.
func (r *Reason) victimsText() string {
	victims := prose.Count(r.Need, "possible victim")
	are := " are"
	if r.Need == 1 {
		are = " is"
	}
	switch r.Code {
	case ProtectedUntil:
		until := " for ever"
		if !r.Until.IsZero() {
			until = " until " + prose.Instant(r.Until)
		}
		return victims + are + " protected by a minimum runtime" + until + r.whose()
	case BudgetSpent:
		return victims + are + " protected by a disruption budget or by the cap of evictions" + r.whose()
	case VictimsProtected:
		text := victims + are + " protected" + r.whose()
		if r.Have > 0 {
			text += "; the " + prose.Decimal(r.Have) + " that may be taken are not enough"
		}
		return text
	case SaturationTurns:
		return "taking " + victims + " would leave its side more saturated than theirs"
	}
	if r.Need == 0 {
		return "there is nothing that it may take"
	}
	return "would not start even with all that it may take: " + victims
}

// whose tells which work is protected by what.
func (r *Reason) whose() (text string) {
	for i, one := range r.Protections {
		line := "quota"
		if one.Line == preempt.ShareProtected {
			line = "fair share"
		}
		queue := prose.Word(one.Queue)
		if one.Queue == "" {
			queue = "the pool"
		}
		text += [2]string{": ", ", "}[min(i, 1)] + prose.Decimal(int64(one.Units)) + " of " + queue
		switch one.By {
		case preempt.NeverPreempted:
			text += " not preemptible"
		case preempt.WithinLine:
			text += " within " + line
		case preempt.Protected:
			text += " covered by its " + line
		case preempt.Straddling:
			text += " that would leave it below its " + line
		}
	}
	return text
}

// boundText is the text of the codes about what a queue may use.
func (r *Reason) boundText() string {
	have, need, queue := r.amount(r.Have), r.amount(r.Need), r.queue()
	switch r.Code {
	case ImpossibleQuota:
		return "is not preemptible and asks " + need + ", and the quota of " + queue + " is " + have
	case ImpossibleLimit:
		return "asks " + need + ", and the limit of " + queue + " is " + have
	case MaxWorkloads:
		return queue + " runs " + prose.Count(r.Have, "workload") + ", and its cap is " + prose.Decimal(r.Need)
	case OverLimit:
		return "asks " + need + ", and the limit of " + queue + " leaves " + have
	case OverBorrowingLimit:
		return "asks " + need + ", and quota and borrowing limit of " + queue + " leave " + have
	case NoQuota:
		return "is not preemptible and asks " + need + ", and the quota of " + queue + " leaves " + have
	case KeptFromLending:
		return "asks " + need + ", and what " + queue + " keeps from lending leaves " + have
	case Exposes:
		return "with it " + queue + " would use more than its due, and workload " + prose.Word(r.Workload) + " could reclaim what ran there before"
	case TakenBack:
		return "workload " + prose.Word(r.Workload) + " would reclaim at once the places that it could preempt"
	case OverLine:
		return "asks " + need + ", and the larger of quota and fair share of " + queue + " leaves " + have +
			"; beyond that it may only start in what is free"
	case GuaranteeCut:
		return "the guarantee of " + queue + " is cut from " + need + " to " + have + ": quotas exceed the capacity"
	case LargerThanShare:
		return "asks " + need + ", which is larger than the queue's share: with all of lower priority gone that of " +
			queue + " leaves " + have
	case NoCapacity:
		return "asks " + need + ", and the nodes of " + queue + " have " + have + " free in all"
	}
	return r.Code.String()
}

func (r *Reason) queue() string {
	if r.Queue == "" {
		return "the pool"
	}
	return "queue " + prose.Word(r.Queue)
}

func (r *Reason) amount(n int64) string {
	text := prose.Amount(r.Resource, n)
	if r.Class != "" {
		text += " of " + prose.Word(r.Class)
	}
	return text
}

func (r *Reason) ofPodSet() string {
	if r.PodSet == "" {
		return ""
	}
	return " of " + prose.Word(r.PodSet)
}

// byPredicate says what turned how many nodes away, and the nearest miss.
func (r *Reason) byPredicate() string {
	var b strings.Builder
	for i, n := range r.Nodes {
		b.WriteString([2]string{": ", ", "}[min(i, 1)])
		b.WriteString(predicateText(n.Predicate, n.Resource) + " (" + prose.Count(n.Nodes, "node") + ")")
	}
	if len(r.Nodes) == 0 {
		b.WriteString(": there are no nodes")
	}
	if m := r.Nearest; m != nil && m.text() != "" {
		b.WriteString("; nearest is node " + prose.Word(m.Node) + ": " + m.text())
	}
	return b.String()
}

// inPieces says how much is free in all, and in what pieces.
func (r *Reason) inPieces() string {
	p := r.Free
	if p == nil {
		return ""
	}
	text := "; " + prose.Amount(p.Resource, p.InAll) + " free in all"
	if p.Eligible != p.InAll {
		text += ", " + prose.Amount(p.Resource, p.Eligible) + " where it may go"
	}
	if p.Whole != p.Eligible {
		text += ", " + prose.Amount(p.Resource, p.Whole) + " not in pieces"
	}
	if p.Node == "" {
		return text
	}
	return text + ", at most " + prose.Amount(p.Resource, p.Largest) + " on one node (" + prose.Word(p.Node) + ")"
}

// text says what the nearest node lacks; nothing where that has no numbers and
// the counts have said it already.
func (m *Nearest) text() string {
	what := ""
	switch m.Predicate {
	case placement.DeviceCount:
		return "has " + prose.Decimal(m.Have) + " of " + prose.Count(m.Need, "device")
	case placement.FreeDevices, placement.Fragmented:
		return "has " + prose.Decimal(m.Have) + " of " + prose.Count(m.Need, "device") + " with room"
	case placement.DeviceMemory:
		what = Memory
	case placement.Capacity, placement.Resources:
		what = m.Resource
	default:
		return ""
	}
	return "has " + prose.Amount(what, m.Have) + " of " + prose.Amount(what, m.Need) + nearestFree(m.Predicate)
}

func nearestFree(p placement.Predicate) string {
	if p.Static() {
		return ""
	}
	return " free"
}

var predicateTexts = [...]string{
	placement.NodeSet:      "not a node of the queue",
	placement.Reserved:     "reserved for others",
	placement.Cordoned:     "cordoned",
	placement.NodeClass:    "of another class",
	placement.Labels:       "labels do not match",
	placement.Taints:       "tainted",
	placement.Model:        "no device of an accepted model",
	placement.DeviceMemory: "devices with too little memory",
	placement.DeviceCount:  "too few such devices",
	placement.IslandSize:   "too few such devices in one island",
	placement.Capacity:     "too little",
	placement.TaskSlots:    "no task slot free",
	placement.CPUOnlySlots: "no slot free for a task without GPUs",
	placement.Resources:    "too little free",
	placement.FreeDevices:  "too few devices free",
	placement.Fragmented:   "enough free in all, but in pieces",
	placement.FreeIsland:   "too few devices free in one island",
}

func predicateText(p placement.Predicate, resource string) string {
	if int(p) >= len(predicateTexts) || predicateTexts[p] == "" {
		return p.String()
	}
	text := predicateTexts[p]
	if resource != "" {
		return strings.Replace(text, "too little", "too little "+prose.Word(resource), 1)
	}
	return text
}

// promiseText says what a promise has to do with it.
func (r *Reason) promiseText() string {
	who, when := "workload "+prose.Word(r.Workload), r.Until.UTC().Format(time.RFC3339)
	switch r.Code {
	case ReservedForOther:
		if r.Until.IsZero() {
			return "what it could start in is gathered for " + who
		}
		return "what it could start in is promised to " + who + " from " + when + " on"
	case WaitsForReservation:
		if r.Until.IsZero() {
			return "places are gathered for it, and when the rest is free is not known"
		}
		if r.Workload == "" {
			return "is promised to start at " + when
		}
		return "is promised to start at " + when + ", behind the end of " + who
	case TooLateToBackfill:
		return "would end " + prose.Seconds(r.Need) + " too late for the promise to " + who
	case DurationUnknown:
		return "has no limit by which it would have ended before the promise to " + who
	case OverHeld:
		if r.Resource == "" {
			return "is promised nothing: places would be idle for " + prose.Seconds(r.Need) + " until it starts, and the policy allows " + prose.Seconds(r.Have)
		}
		return "is promised nothing: with what is kept for others " + r.amount(r.Need) + " would be idle until it starts, and the policy allows " + r.amount(r.Have)
	case Overruns:
		return who + ", which was to have left, runs on"
	case PlaceGone:
		return "a promised node or device is lost or closed"
	case ReservationBegan:
		text := "what it ran on is reserved for others by " + prose.Word(r.Reservation)
		if !r.Until.IsZero() {
			text += " until " + prose.Instant(r.Until)
		}
		return text
	case Yields:
		return "it gives way to " + who
	}
	if r.Need == 0 {
		return "what it depends on has changed"
	}
	to := ""
	if r.Queue != "" {
		to = " to " + r.queue()
	}
	return "there are " + prose.Count(r.Have, "promise") + to + ", and the policy makes at most " + prose.Decimal(r.Need)
}
