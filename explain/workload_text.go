package explain

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// The texts of explanations (X4): each is a pure function of its data, in lines
// that are as narrow as their names.

// String is the explanation for people, for example
//
//	workload q1/train waits
//	  in queue q1, priority 50, preemptible, submitted 2026-11-21T08:00:00Z
//	  holds no task of 4; would start 4 tasks together, which ask 32 GPUs
//	  why it waits
//	    no-capacity: asks 32 GPUs, and the nodes of queue q1 have 16 GPUs free in all
//	  its queues
//	    queue  resource  quota  used  …
//	  2 workloads wait before it in its queue, 7 in the pool; the nearest: wf3 wf9
//	  what it would need is held by
//	    queue  resource  held  …
func (e *Explanation) String() string {
	var b bytes.Buffer
	b.WriteString("workload " + prose.Member(e.Queue, e.Workload) + " " + statusTexts[min(int(e.Status), len(statusTexts)-1)] + "\n")
	b.WriteString("  " + strings.Join(e.circumstances(), ", ") + "\n")
	b.WriteString("  " + e.extent() + "\n")
	for i := range e.Actions {
		b.WriteString("  " + e.Actions[i].String() + "\n")
	}
	if len(e.Reasons) > 0 {
		b.WriteString("  why it waits\n")
		for _, r := range e.Reasons {
			b.WriteString("    " + r.Code.String() + ": " + r.String() + "\n")
		}
	}
	if len(e.For) > 0 {
		b.WriteString("  for it go or move " + prose.Words(e.For) + "\n")
	}
	if len(e.Levels) > 0 {
		b.WriteString("  its queues, up to the uppermost\n")
		b.WriteString(prose.Table("    ", levelColumns, e.Levels))
	}
	e.writeAhead(&b)
	if len(e.Holders) > 0 {
		b.WriteString("  what it would need is held by\n")
		b.WriteString(prose.Table("    ", holderColumns, e.Holders))
	}
	for i := range e.Takings {
		b.WriteString(prose.Indent(e.Takings[i].String()))
	}
	return b.String()
}

var statusTexts = [...]string{
	0:             "has no status",
	StatusWaits:   "waits",
	StatusLeaves:  "waits until its own tasks have left",
	StatusClaims:  "has places, and starts when those who are leaving them are gone",
	StatusStarts:  "starts",
	StatusRuns:    "runs, and nothing changes",
	StatusGrows:   "runs, and grows",
	StatusShrinks: "runs, and gives up tasks above its minimum",
	StatusMoves:   "runs, and moves",
	StatusEvicted: "is evicted, and waits again",
	StatusFails:   "is evicted, and ends",
	StatusEnds:    "ends",
}

// circumstances are where it stands and as what.
func (e *Explanation) circumstances() []string {
	var out []string
	if e.Pool != "" {
		out = append(out, "pool "+prose.Word(e.Pool))
	}
	if e.Queue != "" {
		out = append(out, "queue "+prose.Word(e.Queue))
	}
	if e.Form > 0 {
		out = append(out, "form "+strconv.Itoa(e.Form))
	}
	return append(out, standsAs(e.Priority, e.NonPreemptible, e.Submitted)...)
}

// standsAs is what the order inside a queue goes by (O1).
func standsAs(priority int32, nonPreemptible bool, submitted time.Time) []string {
	out := []string{"priority " + prose.Decimal(priority), "preemptible"}
	if nonPreemptible {
		out[1] = "not preemptible"
	}
	if !submitted.IsZero() {
		out = append(out, "submitted "+prose.Instant(submitted))
	}
	return out
}

// extent says what of it runs and what it asks.
func (e *Explanation) extent() string {
	text := "holds " + prose.Decimal(e.Holds) + " of " + prose.Count(e.Tasks, "task")
	asks := amountsText(e.Asks)
	switch {
	case e.Starts > 1:
		return text + "; would start " + prose.Decimal(e.Starts) + " more together, which ask " + asks
	case e.Starts == 1:
		return text + "; would start 1 more, which asks " + asks
	}
	if e.Holds == 1 || e.Holds == 0 && e.Tasks == 1 {
		return text + ", which asks " + asks
	}
	return text + ", which ask " + asks
}

func amountsText(amounts []AskedAmount) string {
	if len(amounts) == 0 {
		return "nothing"
	}
	texts := make([]string, len(amounts))
	for i, a := range amounts {
		texts[i] = prose.Amount(a.Resource, a.Amount)
	}
	return strings.Join(texts, " + ")
}

func (e *Explanation) writeAhead(b *bytes.Buffer) {
	a := e.Ahead
	if a == nil {
		return
	}
	if a.InPool == 0 {
		b.WriteString("  nobody waits before it\n")
		return
	}
	wait := " wait"
	if a.InPool == 1 {
		wait = " waits"
	}
	b.WriteString("  " + prose.Count(a.InPool, "workload") + wait + " before it, " + prose.Decimal(a.InQueue) +
		" of its queue; nearest: " + prose.Words(a.Next) + "\n")
}

var levelColumns = []prose.Column[QueueLevel]{
	{Head: "queue", Cell: func(l *QueueLevel) string { return prose.OrNone(l.Queue) }},
	{Head: "resource", Cell: func(l *QueueLevel) string { return prose.Word(l.Resource) }},
	{Head: "quota", Cell: func(l *QueueLevel) string { return boundFigure(l.Resource, l.Quota) }},
	{Head: "used", Cell: func(l *QueueLevel) string { return prose.Figure(l.Resource, l.Used) }},
	{Head: "non-preemptible", Cell: func(l *QueueLevel) string { return prose.Figure(l.Resource, l.NonPreemptible) }},
	{Head: "fair-share", Cell: func(l *QueueLevel) string { return prose.Dashed(l.Divided, prose.Figure(l.Resource, l.FairShare)) }},
	{Head: "line", Cell: func(l *QueueLevel) string { return boundFigure(l.Resource, l.Entitlement) }},
	{Head: "quota-left", Cell: func(l *QueueLevel) string { return boundFigure(l.Resource, l.QuotaLeft) }},
	{Head: "line-left", Cell: func(l *QueueLevel) string { return boundFigure(l.Resource, l.EntitlementLeft) }},
	{Head: "limit-left", Cell: func(l *QueueLevel) string { return boundFigure(l.Resource, l.LimitLeft) }},
	{Head: "reachable", Cell: func(l *QueueLevel) string { return prose.Figure(l.Resource, l.Reachable) }},
}

var holderColumns = []prose.Column[Holder]{
	{Head: "queue", Cell: func(h *Holder) string { return prose.OrNone(h.Queue) }},
	{Head: "resource", Cell: func(h *Holder) string { return prose.Word(h.Resource) }},
	{Head: "held", Cell: func(h *Holder) string { return prose.Figure(h.Resource, h.Held) }},
	{Head: "non-preemptible", Cell: func(h *Holder) string { return prose.Figure(h.Resource, h.OfNonPreemptible) }},
	{Head: "used", Cell: func(h *Holder) string { return prose.Figure(h.Resource, h.Used) }},
	{Head: "quota", Cell: func(h *Holder) string { return boundFigure(h.Resource, h.Quota) }},
	{Head: "fair-share", Cell: func(h *Holder) string { return prose.Figure(h.Resource, h.FairShare) }},
	{Head: "workloads", Cell: func(h *Holder) string { return prose.Decimal(h.Workloads) }},
	{Head: "who-goes-first", Cell: func(h *Holder) string { return prose.Words(h.Last) }},
}

// String is the queue's figures in one line, as [allot.Share.String] has them, with what
// is left.
func (l QueueLevel) String() string {
	text := l.Share.String()
	for _, c := range levelColumns[len(levelColumns)-5 : len(levelColumns)-1] {
		text += " " + c.Head + "=" + c.Cell(&l)
	}
	return text
}

// String is the explanation for people: the figures, then how each fair share
// came about, then which queues borrow and lend.
func (e *QueueExplanation) String() string {
	var b bytes.Buffer
	b.WriteString("queue " + prose.OrNone(e.Queue) + "\n")
	if e.Pool != "" {
		b.WriteString("  of pool " + prose.Word(e.Pool) + "\n")
	}
	if len(e.Path) > 1 {
		b.WriteString("  path " + prose.Words(e.Path) + "\n")
	}
	b.WriteString("  figures\n")
	b.WriteString(prose.Table("    ", figureColumns, e.Shares))
	for i := range e.Divisions {
		e.Divisions[i].write(&b)
	}
	for i := range e.Loans {
		l := &e.Loans[i]
		b.WriteString("  " + prose.Word(l.Resource) + ": use beyond quota: " + l.list(l.Borrowers) + "; quota that others use: " + l.list(l.Lenders) + "\n")
	}
	return b.String()
}

var figureColumns = []prose.Column[allot.Share]{
	{Head: "resource", Cell: func(s *allot.Share) string { return prose.Word(resourceText(s.Resource, s.Class)) }},
	figureColumn("quota"), figureColumn("limit"), figureColumn("used"), figureColumn("over-quota"), figureColumn("demand"),
	figureColumn("fair-share"), figureColumn("borrowed"), figureColumn("lent"), figureColumn("state"),
}

// figureColumn is a column of figures as the text of a plan has it.
func figureColumn(name string) prose.Column[allot.Share] {
	return prose.Column[allot.Share]{Head: name, Cell: func(s *allot.Share) string { return figure(figuresOf(s), name) }}
}

func boundFigure(resource string, b quota.Bound) string {
	text := b.String()
	if b.Given() && !b.IsUnlimited() {
		text = prose.Figure(resource, b.Amount())
	}
	return prose.Dashed(b.Given(), text)
}

func (l *Loan) list(of []QueueAmount) string {
	if len(of) == 0 {
		return "none"
	}
	texts := make([]string, len(of))
	for i, a := range of {
		texts[i] = prose.Word(a.Queue) + " " + prose.Amount(l.Resource, a.Amount)
	}
	return strings.Join(texts, ", ")
}

// write tells the sum that a reader may do again.
func (d *Division) write(b *bytes.Buffer) {
	amount := func(n int64) string { return prose.Amount(d.Resource, n) }
	of := "the pool"
	if d.Parent != "" {
		of = "queue " + prose.Word(d.Parent)
	}
	b.WriteString("  " + prose.Word(d.Resource) + ": " + of + " divides " + amount(d.Capacity) + " by " + d.Method.String())
	if d.SetAside > 0 {
		b.WriteString(", but for " + amount(d.SetAside) + " that are kept from lending")
	}
	b.WriteString(": quota parts take " + amount(d.QuotaParts) + ", " + amount(d.Surplus) + " are left in granules of " + amount(d.Granule) + "\n")
	if len(d.Tiers) > 1 {
		for _, t := range d.Tiers {
			b.WriteString("    tier " + strconv.Itoa(int(t.Tier)) + " finds " + amount(t.Surplus) + " and leaves " + amount(t.Left) + "\n")
		}
	}
	columns := []prose.Column[DivisionMember]{
		{Head: "queue", Cell: func(m *DivisionMember) string { return prose.OrNone(m.Queue) }},
		{Head: "quota", Cell: func(m *DivisionMember) string { return boundFigure(d.Resource, m.Quota) }},
		{Head: "demand", Cell: func(m *DivisionMember) string { return prose.Figure(d.Resource, m.Demand) }},
		{Head: "requestable", Cell: func(m *DivisionMember) string { return prose.Figure(d.Resource, m.Requestable) }},
		{Head: "quota-part", Cell: func(m *DivisionMember) string { return prose.Figure(d.Resource, m.QuotaPart) }},
		{Head: "tier", Cell: func(m *DivisionMember) string { return strconv.Itoa(int(m.Tier)) }},
		{Head: "weight", Cell: func(m *DivisionMember) string { return prose.Decimal(m.Weight) }},
		{Head: "granules", Cell: func(m *DivisionMember) string { return prose.Decimal(m.Granules) }},
		{Head: "surplus-part", Cell: func(m *DivisionMember) string { return prose.Figure(d.Resource, m.SurplusPart) }},
		{Head: "fair-share", Cell: func(m *DivisionMember) string { return prose.Figure(d.Resource, m.FairShare) }},
		{Head: "no-more-because", Cell: func(m *DivisionMember) string { return m.End.String() }},
	}
	if slices.ContainsFunc(d.Members, func(m DivisionMember) bool { return m.WeightMilli > 0 || m.AdjustedMilli > 0 }) {
		columns = slices.Insert(columns, 6,
			prose.Column[DivisionMember]{Head: "weight-before", Cell: func(m *DivisionMember) string { return prose.Thousandths(m.WeightMilli) }},
			prose.Column[DivisionMember]{Head: "weight-after", Cell: func(m *DivisionMember) string { return prose.Thousandths(m.AdjustedMilli) }})
	}
	b.WriteString(prose.Table("    ", columns, d.Members))
}

// String is the explanation for people: by what right, from which place, and in
// what order.
func (t *Taking) String() string {
	var b bytes.Buffer
	b.WriteString(t.Kind.String() + " " + prose.Member(t.Queue, t.Workload) + ", " + prose.Count(t.Tasks, "task") +
		": " + t.Reason.Code.String() + ": " + t.Reason.String() + "\n")
	for i := range t.Right {
		b.WriteString("  the right: " + t.Right[i].String() + "\n")
	}
	if p := t.Priorities; p != nil {
		b.WriteString("  the right: priority " + strconv.Itoa(int(p.Preemptor)) + " goes before priority " + strconv.Itoa(int(p.Victim)) + "\n")
	}
	if len(t.Candidates) == 0 {
		return b.String()
	}
	if t.Reason.Code == allot.Consolidated {
		b.WriteString("  the right: what moves runs on, and no line protects its place\n")
	}
	place := "anywhere"
	if len(t.Nodes) > 0 {
		place = prose.Words(t.Nodes)
	}
	b.WriteString("  the place: " + place + "\n  the order of victims\n")
	columns := candidateColumns
	if !slices.ContainsFunc(t.Candidates, func(c Candidate) bool { return len(c.Saturation) > 0 }) {
		columns = slices.Concat(columns[:1], columns[3:])
	}
	b.WriteString(prose.Table("    ", columns, t.Candidates))
	for _, other := range t.Others {
		b.WriteString("    of " + prose.Count(other.Units, "other") + " each " + fateText(other.Fate) + "\n")
	}
	return b.String()
}

// String is the right in one queue for people.
func (l *RightLevel) String() string {
	line := "unlimited"
	if l.Entitlement < allot.MaxAmount {
		line = prose.Amount(l.Resource, l.Entitlement)
	}
	if l.Class != "" {
		line += " of " + prose.Word(l.Class)
	}
	return "queue " + prose.OrNone(l.Queue) + " uses " + prose.Amount(l.Resource, l.Use) + " once who goes is gone, and " +
		prose.Amount(l.Resource, l.Use+l.Asks) + " with the one that it is for, within its line of " + line
}

// lowest is the ratio in lowest terms.
func lowest(r fairshare.Ratio) fairshare.Ratio {
	a, b := r.Num, r.Den
	for b > 0 {
		a, b = b, a%b
	}
	if a > 1 {
		r.Num, r.Den = r.Num/a, r.Den/a
	}
	return r
}

var fateTexts = [...]string{
	preempt.Taken:           "goes",
	preempt.Moved:           "moves",
	preempt.NotNeeded:       "is not needed beside who goes",
	preempt.PlaceShort:      "clearing its place is not enough",
	preempt.PlaceHarms:      "its place costs a better class or priority",
	preempt.PlaceLoses:      "its place loses more work",
	preempt.PlaceMore:       "its place costs more workloads",
	preempt.PlaceLater:      "its place comes later in the order",
	preempt.PlaceNode:       "its place costs the same, and its nodes come later",
	preempt.PlaceMoves:      "its place moves more GPUs",
	preempt.MinRuntimeHolds: "its minimum runtime is not over",
	preempt.BudgetHolds:     "its owner's disruption budget is spent",
	preempt.WithinLine:      "its side is within its line",
	preempt.Protected:       "its queue's line protects it",
	preempt.Straddling:      "its side would fall below its line",
	preempt.MarginHolds:     "its side would not be the more saturated",
	preempt.OwnSideFull:     "with it there the other side is beyond its line",
	preempt.PriorityHolds:   "its priority is not lower",
	preempt.HoldsNothing:    "holds nothing of what is short",
	preempt.SameQueue:       "is of the same queue",
	preempt.OtherQueue:      "is of another queue",
	preempt.Elsewhere:       "stands outside the place",
	preempt.Immovable:       "does not all run yet",
	preempt.NeverPreempted:  "is not preemptible",
	preempt.NotBehind:       "has its place behind nobody, or somebody else",
	preempt.Itself:          "is of the one that it is for",
}

// fateText is a fate in people's words.
func fateText(f preempt.Fate) string {
	if int(f) >= len(fateTexts) {
		return f.String()
	}
	return fateTexts[f]
}

var candidateColumns = []prose.Column[Candidate]{
	{Head: "workload", Cell: func(c *Candidate) string {
		text := prose.Member(c.Queue, c.Workload)
		if c.Step > 0 {
			text += "+" + strconv.Itoa(c.Step)
		}
		return text
	}},
	{Head: "class", Cell: func(c *Candidate) string { return c.Class.String() }},
	{Head: "saturation", Cell: func(c *Candidate) string {
		texts := make([]string, len(c.Saturation))
		for i, s := range c.Saturation {
			texts[i] = prose.Word(s.Queue) + ":" + lowest(s.Ratio).String()
		}
		return strings.Join(texts, " ")
	}},
	{Head: "priority", Cell: func(c *Candidate) string { return strconv.Itoa(int(c.Priority)) }},
	{Head: "admitted", Cell: func(c *Candidate) string { return prose.Instant(c.Admitted) }},
	{Head: "protected", Cell: func(c *Candidate) string { return c.Protection.String() }},
	{Head: "holds", Cell: func(c *Candidate) string { return amountsText(c.Holds) }},
	{Head: "fate", Cell: func(c *Candidate) string {
		text := fateText(c.Fate)
		if c.Fate == preempt.MinRuntimeHolds && !c.Until.IsZero() {
			text += " until " + prose.Instant(c.Until)
		}
		return text
	}},
}
