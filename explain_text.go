package allot

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
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
	b.WriteString("workload " + workloadText(e.Queue, e.Workload) + " " + statusTexts[min(int(e.Status), len(statusTexts)-1)] + "\n")
	b.WriteString("  " + strings.Join(e.circumstances(), ", ") + "\n")
	b.WriteString("  " + e.extent() + "\n")
	for i := range e.Actions {
		b.WriteString("  ")
		writeAction(&b, &e.Actions[i])
		b.WriteByte('\n')
	}
	if len(e.Reasons) > 0 {
		b.WriteString("  why it waits\n")
		for _, r := range e.Reasons {
			b.WriteString("    " + r.Code.String() + ": " + r.String() + "\n")
		}
	}
	if len(e.For) > 0 {
		b.WriteString("  for it go or move " + words(e.For) + "\n")
	}
	if len(e.Levels) > 0 {
		b.WriteString("  its queues, up to the uppermost\n")
		writeTable(&b, levelColumns, e.Levels)
	}
	e.writeAhead(&b)
	if len(e.Holders) > 0 {
		b.WriteString("  what it would need is held by\n")
		writeTable(&b, holderColumns, e.Holders)
	}
	for i := range e.Takings {
		indent(&b, e.Takings[i].String())
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
		out = append(out, "pool "+word(e.Pool))
	}
	if e.Queue != "" {
		out = append(out, "queue "+word(e.Queue))
	}
	if e.Form > 0 {
		out = append(out, "form "+strconv.Itoa(e.Form))
	}
	out = append(out, "priority "+strconv.Itoa(int(e.Priority)))
	if e.NonPreemptible {
		out = append(out, "not preemptible")
	} else {
		out = append(out, "preemptible")
	}
	if !e.Submitted.IsZero() {
		out = append(out, "submitted "+timeText(e.Submitted))
	}
	return out
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// extent says what of it runs and what it asks.
func (e *Explanation) extent() string {
	text := "holds " + decimal(int64(e.Holds)) + " of " + count(int64(e.Tasks), "task")
	asks := amountsText(e.Asks)
	switch {
	case e.Starts > 1:
		return text + "; would start " + decimal(int64(e.Starts)) + " more together, which ask " + asks
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
		texts[i] = amountText(a.Resource, a.Amount)
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
	b.WriteString("  " + count(int64(a.InPool), "workload") + wait + " before it, " + decimal(int64(a.InQueue)) +
		" of its queue; nearest: " + words(a.Next) + "\n")
}

func words(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = word(name)
	}
	return strings.Join(out, " ")
}

// A textColumn is a column of a table of T.
type textColumn[T any] struct {
	head string
	cell func(*T) string
}

// writeTable writes a table, indented by four.
func writeTable[T any](b *bytes.Buffer, columns []textColumn[T], rows []T) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	line := func(cell func(textColumn[T]) string) {
		cells := make([]string, len(columns))
		for i := range columns {
			cells[i] = cell(columns[i])
		}
		_, _ = io.WriteString(table, "    "+strings.Join(cells, "\t")+"\n") // a buffer takes everything
	}
	line(func(c textColumn[T]) string { return c.head })
	for i := range rows {
		line(func(c textColumn[T]) string { return c.cell(&rows[i]) })
	}
	_ = table.Flush()
}

var levelColumns = []textColumn[QueueLevel]{
	{"queue", func(l *QueueLevel) string { return orNone(l.Queue) }},
	{"resource", func(l *QueueLevel) string { return word(l.Resource) }},
	{"quota", func(l *QueueLevel) string { return boundFigure(l.Resource, l.Quota) }},
	{"used", func(l *QueueLevel) string { return amountFigure(l.Resource, l.Used) }},
	{"non-preemptible", func(l *QueueLevel) string { return amountFigure(l.Resource, l.NonPreemptible) }},
	{"fair-share", func(l *QueueLevel) string { return dashed(l.Divided, amountFigure(l.Resource, l.FairShare)) }},
	{"line", func(l *QueueLevel) string { return boundFigure(l.Resource, l.Line) }},
	{"quota-left", func(l *QueueLevel) string { return boundFigure(l.Resource, l.QuotaLeft) }},
	{"line-left", func(l *QueueLevel) string { return boundFigure(l.Resource, l.LineLeft) }},
	{"limit-left", func(l *QueueLevel) string { return boundFigure(l.Resource, l.LimitLeft) }},
	{"reachable", func(l *QueueLevel) string { return amountFigure(l.Resource, l.Reachable) }},
}

var holderColumns = []textColumn[Holder]{
	{"queue", func(h *Holder) string { return orNone(h.Queue) }},
	{"resource", func(h *Holder) string { return word(h.Resource) }},
	{"held", func(h *Holder) string { return amountFigure(h.Resource, h.Held) }},
	{"non-preemptible", func(h *Holder) string { return amountFigure(h.Resource, h.OfNonPreemptible) }},
	{"used", func(h *Holder) string { return amountFigure(h.Resource, h.Used) }},
	{"quota", func(h *Holder) string { return boundFigure(h.Resource, h.Quota) }},
	{"fair-share", func(h *Holder) string { return amountFigure(h.Resource, h.FairShare) }},
	{"workloads", func(h *Holder) string { return decimal(int64(h.Workloads)) }},
	{"who-goes-first", func(h *Holder) string { return words(h.Last) }},
}

// indent writes a text, every line two further in.
func indent(b *bytes.Buffer, text string) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString("  " + line + "\n")
	}
}

// String is the queue's figures in one line, as [Share.String] has them, with what
// is left.
func (l QueueLevel) String() string {
	text := l.Share.String()
	for _, c := range levelColumns[len(levelColumns)-5 : len(levelColumns)-1] {
		text += " " + c.head + "=" + c.cell(&l)
	}
	return text
}

// String is the explanation for people: the figures, then how each fair share
// came about, then who borrows and lends.
func (e *QueueExplanation) String() string {
	var b bytes.Buffer
	b.WriteString("queue " + orNone(e.Queue) + "\n")
	if e.Pool != "" {
		b.WriteString("  of pool " + word(e.Pool) + "\n")
	}
	if len(e.Path) > 1 {
		b.WriteString("  path " + words(e.Path) + "\n")
	}
	b.WriteString("  figures\n")
	writeTable(&b, figureColumns, e.Shares)
	for i := range e.Divisions {
		e.Divisions[i].write(&b)
	}
	for i := range e.Loans {
		l := &e.Loans[i]
		b.WriteString("  " + word(l.Resource) + ": use beyond quota: " + l.list(l.Borrowers) + "; quota that others use: " + l.list(l.Lenders) + "\n")
	}
	return b.String()
}

var figureColumns = []textColumn[Share]{
	{"resource", shareColumns[1].cell},
	{"quota", shareColumns[2].cell},
	{"limit", shareColumns[3].cell},
	{"used", shareColumns[4].cell},
	{"over-quota", shareColumns[6].cell},
	{"demand", shareColumns[8].cell},
	{"fair-share", shareColumns[9].cell},
	{"borrowed", shareColumns[10].cell},
	{"lent", shareColumns[11].cell},
	{"state", shareColumns[14].cell},
}

func (l *Loan) list(of []QueueAmount) string {
	if len(of) == 0 {
		return "none"
	}
	texts := make([]string, len(of))
	for i, a := range of {
		texts[i] = word(a.Queue) + " " + amountText(l.Resource, a.Amount)
	}
	return strings.Join(texts, ", ")
}

// write tells the sum that a reader may do again.
func (d *Division) write(b *bytes.Buffer) {
	amount := func(n int64) string { return amountText(d.Resource, n) }
	of := "the pool"
	if d.Parent != "" {
		of = "queue " + word(d.Parent)
	}
	b.WriteString("  " + word(d.Resource) + ": " + of + " divides " + amount(d.Capacity) + " by " + d.Method.String())
	if d.SetAside > 0 {
		b.WriteString(", but for " + amount(d.SetAside) + " that are kept from lending")
	}
	b.WriteString(": quota parts take " + amount(d.QuotaParts) + ", " + amount(d.Surplus) + " are left in granules of " + amount(d.Granule) + "\n")
	if len(d.Tiers) > 1 {
		for _, t := range d.Tiers {
			b.WriteString("    tier " + strconv.Itoa(int(t.Tier)) + " finds " + amount(t.Surplus) + " and leaves " + amount(t.Left) + "\n")
		}
	}
	columns := []textColumn[DivisionMember]{
		{"queue", func(m *DivisionMember) string { return orNone(m.Queue) }},
		{"quota", func(m *DivisionMember) string { return boundFigure(d.Resource, m.Quota) }},
		{"demand", func(m *DivisionMember) string { return amountFigure(d.Resource, m.Demand) }},
		{"requestable", func(m *DivisionMember) string { return amountFigure(d.Resource, m.Requestable) }},
		{"quota-part", func(m *DivisionMember) string { return amountFigure(d.Resource, m.QuotaPart) }},
		{"tier", func(m *DivisionMember) string { return strconv.Itoa(int(m.Tier)) }},
		{"weight", func(m *DivisionMember) string { return decimal(m.Weight) }},
		{"granules", func(m *DivisionMember) string { return decimal(m.Granules) }},
		{"surplus-part", func(m *DivisionMember) string { return amountFigure(d.Resource, m.SurplusPart) }},
		{"fair-share", func(m *DivisionMember) string { return amountFigure(d.Resource, m.FairShare) }},
		{"no-more-because", func(m *DivisionMember) string { return m.End.String() }},
	}
	writeTable(b, columns, d.Members)
}

// String is the explanation for people: by what right, from which place, and in
// what order.
func (t *Taking) String() string {
	var b bytes.Buffer
	b.WriteString(t.Kind.String() + " " + workloadText(t.Queue, t.Workload) + ", " + count(int64(t.Tasks), "task") +
		": " + t.Reason.Code.String() + ": " + t.Reason.String() + "\n")
	for i := range t.Right {
		b.WriteString("  the right: " + t.Right[i].String() + "\n")
	}
	if p := t.Priorities; p != nil {
		b.WriteString("  the right: priority " + strconv.Itoa(int(p.Beneficiary)) + " goes before priority " + strconv.Itoa(int(p.Victim)) + "\n")
	}
	if len(t.Candidates) == 0 {
		return b.String()
	}
	place := "anywhere"
	if len(t.Nodes) > 0 {
		place = words(t.Nodes)
	}
	b.WriteString("  the place: " + place + "\n  the order of victims\n")
	columns := candidateColumns
	if !slices.ContainsFunc(t.Candidates, func(c Candidate) bool { return len(c.Saturation) > 0 }) {
		columns = slices.Concat(columns[:1], columns[3:])
	}
	writeTable(&b, columns, t.Candidates)
	for _, other := range t.Others {
		b.WriteString("    of " + count(int64(other.Units), "other") + " each " + fateText(other.Fate) + "\n")
	}
	return b.String()
}

// String is the right in one queue for people.
func (l *RightLevel) String() string {
	line := "unlimited"
	if l.Line < MaxAmount {
		line = amountText(l.Resource, l.Line)
	}
	return "queue " + orNone(l.Queue) + " uses " + amountText(l.Resource, l.Use) + " once who goes is gone, and " +
		amountText(l.Resource, l.Use+l.Asks) + " with the one that it is for, within its line of " + line
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
	preempt.Immovable:       "does not all run yet",
	preempt.NeverPreempted:  "is not preemptible",
	preempt.Itself:          "is of the one that it is for",
}

// fateText is a fate in people's words.
func fateText(f preempt.Fate) string {
	if int(f) >= len(fateTexts) {
		return f.String()
	}
	return fateTexts[f]
}

var candidateColumns = []textColumn[Candidate]{
	{"workload", func(c *Candidate) string {
		text := workloadText(c.Queue, c.Workload)
		if c.Step > 0 {
			text += "+" + strconv.Itoa(c.Step)
		}
		return text
	}},
	{"class", func(c *Candidate) string { return c.Class.String() }},
	{"saturation", func(c *Candidate) string {
		texts := make([]string, len(c.Saturation))
		for i, s := range c.Saturation {
			texts[i] = word(s.Queue) + ":" + lowest(s.Ratio).String()
		}
		return strings.Join(texts, " ")
	}},
	{"priority", func(c *Candidate) string { return strconv.Itoa(int(c.Priority)) }},
	{"admitted", func(c *Candidate) string { return timeText(c.Admitted) }},
	{"protected", func(c *Candidate) string { return c.Protection.String() }},
	{"holds", func(c *Candidate) string { return amountsText(c.Holds) }},
	{"fate", func(c *Candidate) string {
		text := fateText(c.Fate)
		if c.Fate == preempt.MinRuntimeHolds && !c.Until.IsZero() {
			text += " until " + timeText(c.Until)
		}
		return text
	}},
}
