package allot

import (
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot/placement"
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
		return "node " + word(r.Node) + " is lost"
	case DeviceLost:
		return "a device of node " + word(r.Node) + " is unhealthy"
	case PlaceLost:
		return "the claimed place on node " + word(r.Node) + " can no longer take the task"
	case ClaimBroken:
		return "what runs and is still claimed is less than must start together"
	case ReclaimedByQuota:
		return r.reclaimed("quota")
	case ReclaimedByShare:
		return r.reclaimed("fair share")
	case Preempted:
		return "workload " + word(r.Workload) + " has the higher priority"
	case Consolidated:
		return "moves so that workload " + word(r.Workload) + " finds a place"
	case StaleGang:
		return "has run with " + decimal(r.Have) + " of the " + count(r.Need, "task") +
			" that must run together for longer than the policy's grace"
	case Grown:
		return "grows beyond its minimum into what is free"
	case ImpossibleNode:
		return "no node, however empty, takes a task" + r.ofPodSet() + r.byPredicate()
	case ImpossibleGang:
		return "the empty cluster takes at most " + decimal(r.Have) + " of the " + count(r.Need, "task") +
			r.ofPodSet() + " that must start together"
	case ImpossibleDomain:
		return "even in the empty cluster " + r.byDomain()
	case NotSubmitted:
		return "has " + decimal(r.Have) + " of the " + count(r.Need, "task") + r.ofPodSet() + " that must start together"
	case Leaving:
		return "waits for the end of " + count(r.Need, "task") + " of its own"
	case ClaimHeld:
		return "holds claims for " + count(r.Need, "task") + " and starts when enough of their places are free"
	case NoNode:
		return "no node takes a task" + r.ofPodSet() + " now" + r.byPredicate() + r.inPieces()
	case GangShort:
		text := decimal(r.Have) + " of the " + count(r.Need, "task") + " that must start together find a place"
		if r.PodSet != "" {
			text += "; the search ended at " + word(r.PodSet)
		}
		return text + r.inPieces()
	case NoDomain:
		return r.byDomain()
	case WaitsForLeaving:
		return "would fit if what is terminating were gone"
	case Outranked:
		return "workload " + word(r.Workload) + " stands before it, waits, and does not let it pass"
	case SearchCut:
		return "the search was cut at " + count(r.Need, "choice") + "; another choice of pod sets or of victims might do"
	case ProtectedUntil, BudgetSpent, SaturationTurns, VictimsShort:
		return r.victimsText()
	}
	return r.boundText()
}

// byDomain says what the best domains would take (T7).
func (r *Reason) byDomain() string {
	text := "no domain takes all " + count(r.Need, "task") + " that must be in one"
	if len(r.Domains) == 0 {
		return "all constraints together leave a place to " + decimal(r.Have) + " of the " +
			count(r.Need, "task") + " that must start together"
	}
	for i := range r.Domains {
		d := &r.Domains[i]
		text += [...]string{": ", ", "}[min(i, 1)]
		if d.Domain == "" {
			text += "no " + word(d.Level) + " takes any of " + decimal(d.Need)
		} else {
			text += "the best " + word(d.Level) + ", " + word(d.Domain) + ", takes " + decimal(d.Have) + " of " + decimal(d.Need)
		}
	}
	return text
}

// reclaimed says whose right to the line, a quota or a fair share, took the
// tasks, and what that does to the two sides (X2).
func (r *Reason) reclaimed(line string) string {
	have, need := r.amount(r.Have), amountFigure(r.Resource, r.Need)
	if r.Resource == Memory {
		need = amountText(r.Resource, r.Need) // bytes have units of their own
	}
	text := r.queue() + " uses " + have + " of its " + line + " of " + need +
		", and workload " + word(r.Workload) + " is entitled to its " + line
	if r.Sides != nil {
		text += "; " + r.Sides.Victim.text(r.Resource) + " and " + r.Sides.Beneficiary.text(r.Resource)
	}
	return text
}

// text says how the change moves the side: its use over its line.
func (s *Side) text(resource string) string {
	line := "/unlimited"
	if s.Line != MaxAmount && s.Line < maxSum {
		line = "/" + amountFigure(resource, s.Line)
	}
	return "queue " + word(s.Queue) + " goes from " + amountFigure(resource, s.Before) + line +
		" to " + amountFigure(resource, s.After) + line
}

// victimsText is the text of the codes about victims that may not be taken.
func (r *Reason) victimsText() string {
	victims := count(r.Need, "possible victim")
	are := " are"
	if r.Need == 1 {
		are = " is"
	}
	switch r.Code {
	case ProtectedUntil:
		until := " for ever"
		if !r.Until.IsZero() {
			until = " until " + r.Until.UTC().Format(time.RFC3339Nano)
		}
		return victims + are + " protected by a minimum runtime" + until
	case BudgetSpent:
		return victims + are + " protected by a disruption budget or by the cap of evictions"
	case SaturationTurns:
		return "taking " + victims + " would leave its side more saturated than theirs"
	}
	if r.Need == 0 {
		return "there is nothing that it may take"
	}
	return "would not start even with all that it may take: " + victims
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
		return queue + " runs " + count(r.Have, "workload") + ", and its cap is " + decimal(r.Need)
	case OverLimit:
		return "asks " + need + ", and the limit of " + queue + " leaves " + have
	case OverBorrowingLimit:
		return "asks " + need + ", and quota and borrowing limit of " + queue + " leave " + have
	case NoQuota:
		return "is not preemptible and asks " + need + ", and the quota of " + queue + " leaves " + have
	case KeptFromLending:
		return "asks " + need + ", and what " + queue + " keeps from lending leaves " + have
	case OverLine:
		return "asks " + need + ", and the larger of quota and fair share of " + queue + " leaves " + have +
			"; beyond that it may only start in what is free"
	case NoCapacity:
		return "asks " + need + ", and the nodes of " + queue + " have " + have + " free in all"
	}
	return r.Code.String()
}

func (r *Reason) queue() string {
	if r.Queue == "" {
		return "the pool"
	}
	return "queue " + word(r.Queue)
}

func (r *Reason) amount(n int64) string {
	text := amountText(r.Resource, n)
	if r.Class != "" {
		text += " of " + word(r.Class)
	}
	return text
}

func (r *Reason) ofPodSet() string {
	if r.PodSet == "" {
		return ""
	}
	return " of " + word(r.PodSet)
}

// byPredicate says what turned how many nodes away, and the nearest miss.
func (r *Reason) byPredicate() string {
	var b strings.Builder
	for i, n := range r.Nodes {
		b.WriteString([2]string{": ", ", "}[min(i, 1)])
		b.WriteString(predicateText(n.Predicate, n.Resource) + " (" + count(int64(n.Nodes), "node") + ")")
	}
	if len(r.Nodes) == 0 {
		b.WriteString(": there are no nodes")
	}
	if m := r.Nearest; m != nil && m.text() != "" {
		b.WriteString("; nearest is node " + word(m.Node) + ": " + m.text())
	}
	return b.String()
}

// inPieces says how much is free in all, and in what pieces.
func (r *Reason) inPieces() string {
	p := r.Free
	if p == nil {
		return ""
	}
	text := "; " + amountText(p.Resource, p.InAll) + " free in all"
	if p.Eligible != p.InAll {
		text += ", " + amountText(p.Resource, p.Eligible) + " where it may go"
	}
	if p.Whole != p.Eligible {
		text += ", " + amountText(p.Resource, p.Whole) + " not in pieces"
	}
	if p.Node == "" {
		return text
	}
	return text + ", at most " + amountText(p.Resource, p.Largest) + " on one node (" + word(p.Node) + ")"
}

// text says what the nearest node lacks; nothing where that has no numbers and
// the counts have said it already.
func (m *Nearest) text() string {
	what := ""
	switch m.Predicate {
	case placement.DeviceCount:
		return "has " + decimal(m.Have) + " of " + count(m.Need, "device")
	case placement.FreeDevices, placement.Fragmented:
		return "has " + decimal(m.Have) + " of " + count(m.Need, "device") + " with room"
	case placement.DeviceMemory:
		what = Memory
	case placement.Capacity, placement.Resources:
		what = m.Resource
	default:
		return ""
	}
	return "has " + amountText(what, m.Have) + " of " + amountText(what, m.Need) + nearestFree(m.Predicate)
}

func nearestFree(p placement.Predicate) string {
	if p.Static() {
		return ""
	}
	return " free"
}

var predicateTexts = [...]string{
	placement.NodeSet:      "not a node of the queue",
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
		return strings.Replace(text, "too little", "too little "+word(resource), 1)
	}
	return text
}

// amountText is an amount with its unit: "2 GPUs", "0.5 CPU", "16 GiB".
func amountText(resource string, n int64) string {
	switch resource {
	case GPU:
		return thousandths(n) + plural(" GPU", n, 1000)
	case CPU:
		return thousandths(n) + plural(" CPU", n, 1000)
	case Memory:
		number, unit := bytesText(n)
		return number + " " + unit
	case "":
		return decimal(n)
	}
	return decimal(n) + " " + word(resource)
}

// amountFigure is an amount for a table, where the resource stands in a column
// of its own: "2", "0.5", "16GiB".
func amountFigure(resource string, n int64) string {
	switch resource {
	case GPU, CPU:
		return thousandths(n)
	case Memory:
		number, unit := bytesText(n)
		if unit == "bytes" {
			return number
		}
		return number + unit
	}
	return decimal(n)
}

// bytesText is a number of bytes in the largest binary unit, up to GiB, that
// tells it exactly.
func bytesText(n int64) (number, unit string) {
	if n != 0 {
		for shift, unit := range []string{"GiB", "MiB", "KiB"} {
			if size := int64(1) << (30 - 10*shift); n%size == 0 {
				return decimal(n / size), unit
			}
		}
	}
	return decimal(n), "bytes"
}

// thousandths is n/1000 without a trailing zero, in integers only.
func thousandths(n int64) string {
	sign, magnitude := "", uint64(n)
	if n < 0 {
		sign, magnitude = "-", -magnitude
	}
	text := sign + strconv.FormatUint(magnitude/1000, 10)
	if rest := magnitude % 1000; rest != 0 {
		digits := strconv.FormatUint(1000+rest, 10)[1:]
		text += "." + strings.TrimRight(digits, "0")
	}
	return text
}

// plural gives the singular to everything from just above nothing to one.
func plural(noun string, n, one int64) string {
	if n > 0 && n <= one {
		return noun
	}
	return noun + "s"
}

func count(n int64, noun string) string { return decimal(n) + " " + plural(noun, n, 1) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// word is a name that can stand between spaces: quoted if it would not read
// back as one.
func word(s string) string {
	for _, r := range s {
		if r <= ' ' || r == '"' || r == '[' || r == ']' || r == ',' || r == '*' || !strconv.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
