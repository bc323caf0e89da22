package allot

import (
	"bytes"
	"io"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/quota"
)

// String is the canonical text of the plan (X4): one plan, one text.
//
//	start team/train workers[0-1] n0[0-7] n1[0-7]
//	displace q1/wf3 n2[0]  node-lost: node n2 is lost
//	evict q1/wf4 n3[0] final  preempt: workload wf9 has the higher priority
//	move q1/wf5 n3[1] to n4[0]  consolidate: moves so that workload wf9 finds a place
//	start q1/wf9 n3[0-1] after wf4 wf5
//	wait q1/wf7  over-limit: asks 2 GPUs, and the limit of queue q1 leaves 1 GPU
//	…
//
// An action has a line of its kind, its workload and, per pod set, the tasks
// by index and their places in the same order: a node and its devices, "n0*3"
// for three tasks on n0 without devices. A single task of index 0 in a pod set
// without a name is only its place. A move has the old places, "to" and the new
// ones. How an evicted workload ends follows as status=, exit=, final and
// checkpoint, as far as there is something to say; and after "after" the IDs of
// the workloads that must leave first. A workload is queue/ID, or its ID alone if
// there is no queue or the ID begins with it. Each reason of a waiting workload
// has a line; the shares are a table, "-" is none; a warning has a line. Work
// is not told, as it is no part of the decision. Names that do not read as one
// word are quoted.
func (p *Plan) String() string {
	var b bytes.Buffer
	_ = p.WriteText(&b) // a buffer takes everything
	return b.String()
}

// WriteText writes [Plan.String]; the error is w's.
func (p *Plan) WriteText(w io.Writer) error {
	var b bytes.Buffer
	if p.Revision != "" {
		b.WriteString("revision " + prose.Word(p.Revision) + "\n")
	}
	for i := range p.Actions {
		writeAction(&b, &p.Actions[i])
		b.WriteByte('\n')
	}
	for i := range p.Pending {
		writePending(&b, &p.Pending[i])
	}
	writeShares(&b, p.Shares)
	for _, f := range p.Warnings {
		b.WriteString("warning " + f.Code.String() + ": " + f.String() + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// String is the action's line in the text of a plan, see [Plan.String].
func (a Action) String() string {
	var b bytes.Buffer
	writeAction(&b, &a)
	return b.String()
}

func writeAction(b *bytes.Buffer, a *Action) {
	b.WriteString(a.Kind.String() + " " + prose.Member(a.Queue, a.Workload))
	if a.Form > 0 {
		b.WriteString(" form=" + strconv.Itoa(a.Form))
	}
	writeTasks(b, a.Tasks, a.From, a.Kind == Move)
	if !a.Until.IsZero() {
		b.WriteString(" until " + prose.Instant(a.Until))
	}
	writeEnding(b, &a.Ending)
	if len(a.After) > 0 {
		b.WriteString(" after")
		for _, id := range a.After {
			b.WriteString(" " + prose.Word(id))
		}
	}
	if a.Reason.Code != 0 {
		b.WriteString("  " + a.Reason.Code.String() + ": " + a.Reason.String())
	}
}

// writeTasks writes tasks and their places, pod set by pod set; of those that move
// their old places and the new ones.
func writeTasks(b *bytes.Buffer, tasks, old []Placement, move bool) {
	for from := 0; from < len(tasks); {
		to := from + 1
		for to < len(tasks) && tasks[to].PodSet == tasks[from].PodSet {
			to++
		}
		writeNames(b, tasks[from:to], len(tasks) == 1)
		if move {
			writePlaces(b, old[min(from, len(old)):min(to, len(old))])
			b.WriteString(" to")
		}
		writePlaces(b, tasks[from:to])
		from = to
	}
}

// String is the workload's lines in the text of a plan, one for each reason, see
// [Plan.String].
func (p Pending) String() string {
	var b bytes.Buffer
	writePending(&b, &p)
	return strings.TrimSuffix(b.String(), "\n")
}

func writePending(b *bytes.Buffer, p *Pending) {
	for _, r := range p.Reasons {
		b.WriteString("wait " + prose.Member(p.Queue, p.Workload))
		b.WriteString("  " + r.Code.String() + ": " + r.String() + "\n")
	}
}

// writeEnding writes how an evicted workload ends (S6).
func writeEnding(b *bytes.Buffer, e *Ending) {
	if e.Status != "" {
		b.WriteString(" status=" + prose.Word(e.Status))
	}
	if e.ExitCode != 0 {
		b.WriteString(" exit=" + strconv.Itoa(e.ExitCode))
	}
	if e.Final {
		b.WriteString(" final")
	}
	if e.Checkpoint {
		b.WriteString(" checkpoint")
	}
}

// writeNames writes which tasks of one pod set these are.
func writeNames(b *bytes.Buffer, tasks []Placement, only bool) {
	if only && tasks[0].PodSet == "" && tasks[0].Index == 0 {
		return
	}
	indices := make([]int, len(tasks))
	for i := range tasks {
		indices[i] = tasks[i].Index
	}
	b.WriteString(" " + prose.Numbered(tasks[0].PodSet, indices))
}

// writePlaces writes places, task by task.
func writePlaces(b *bytes.Buffer, tasks []Placement) {
	places := make([]prose.Place, len(tasks))
	for i := range tasks {
		places[i] = prose.Place{Node: tasks[i].Node, Devices: tasks[i].Devices}
	}
	if len(places) > 0 {
		b.WriteString(" " + prose.Places(places))
	}
}

// shareColumns are the columns of the table of shares (Q6).
var shareColumns = []prose.Column[Share]{
	{Head: "queue", Cell: func(s *Share) string { return prose.OrNone(s.Queue) }},
	{Head: "resource", Cell: func(s *Share) string {
		return prose.Word((&QueueResource{Resource: s.Resource, Class: s.Class}).name())
	}},
	{Head: "quota", Cell: func(s *Share) string { return boundFigure(s.Resource, s.Quota) }},
	{Head: "limit", Cell: func(s *Share) string { return boundFigure(s.Resource, s.Limit) }},
	{Head: "used", Cell: func(s *Share) string { return prose.Figure(s.Resource, s.Used) }},
	{Head: "in-quota", Cell: func(s *Share) string { return prose.Figure(s.Resource, s.InQuota) }},
	{Head: "over-quota", Cell: func(s *Share) string { return prose.Figure(s.Resource, s.OverQuota) }},
	{Head: "non-preemptible", Cell: func(s *Share) string { return prose.Figure(s.Resource, s.NonPreemptible) }},
	{Head: "demand", Cell: func(s *Share) string { return prose.Dashed(s.Class == "", prose.Figure(s.Resource, s.Demand)) }},
	{Head: "fair-share", Cell: func(s *Share) string { return prose.Dashed(s.Divided, prose.Figure(s.Resource, s.FairShare)) }},
	{Head: "borrowed", Cell: func(s *Share) string { return prose.Figure(s.Resource, s.Borrowed) }},
	{Head: "lent", Cell: func(s *Share) string { return prose.Figure(s.Resource, s.Lent) }},
	{Head: "reachable", Cell: func(s *Share) string { return prose.Figure(s.Resource, s.Reachable) }},
	{Head: "pool-total", Cell: func(s *Share) string { return prose.Figure(s.Resource, s.PoolTotal) }},
	{Head: "state", Cell: func(s *Share) string { return prose.Dashed(s.Divided, s.State.String()) }},
}

// historyColumns are those that the table has where usage changes weights (F6).
var historyColumns = []prose.Column[Share]{
	{Head: "usage", Cell: func(s *Share) string { return prose.Dashed(s.Usage.Capacity > 0, usageFigure(s)) }},
	{Head: "weight", Cell: func(s *Share) string { return prose.Dashed(s.byHistory(), prose.Thousandths(s.WeightMilli)) }},
	{Head: "adjusted", Cell: func(s *Share) string { return prose.Dashed(s.byHistory(), prose.Thousandths(s.AdjustedMilli)) }},
}

// byHistory says whether usage is a part of the share.
func (s *Share) byHistory() bool { return s.WeightMilli > 0 || s.AdjustedMilli > 0 }

// usageFigure is used over capacity, in thousandths and rounded down.
func usageFigure(s *Share) string {
	if s.Usage.Capacity == 0 {
		return ""
	}
	high, low := bits.Mul64(uint64(s.Usage.Used), 1000)
	if high >= uint64(s.Usage.Capacity) {
		return strconv.FormatInt(s.Usage.Used, 10) + "/" + strconv.FormatInt(s.Usage.Capacity, 10)
	}
	milli, _ := bits.Div64(high, low, uint64(s.Usage.Capacity))
	return prose.Thousandths(int64(milli))
}

// String is the share for people, in one line: queue, resource, and the figures by
// the names that they have in the text of a plan, for example "q1 gpu quota=4
// limit=unlimited used=2 …".
func (s Share) String() string {
	text := prose.OrNone(s.Queue)
	if s.Pool != "" {
		text = prose.Word(s.Pool) + " " + text
	}
	text += " " + shareColumns[1].Cell(&s)
	for name, figure := range s.Figures() {
		text += " " + name + "=" + figure
	}
	return text
}

// Figures yields the names and the texts of the figures, as the columns of the
// table in [Plan.String] have them; "-" is none.
func (s Share) Figures() iter.Seq2[string, string] {
	return func(yield func(name, figure string) bool) {
		columns := shareColumns[2:] // behind the names
		if s.byHistory() {
			columns = slices.Concat(columns, historyColumns)
		}
		for _, c := range columns {
			if !yield(c.Head, c.Cell(&s)) {
				return
			}
		}
	}
}

func writeShares(b *bytes.Buffer, shares []Share) {
	if len(shares) == 0 {
		return
	}
	columns := shareColumns
	if slices.ContainsFunc(shares, func(s Share) bool { return s.Pool != "" }) {
		pool := prose.Column[Share]{Head: "pool", Cell: func(s *Share) string { return prose.OrNone(s.Pool) }}
		columns = append([]prose.Column[Share]{pool}, columns...)
	}
	if slices.ContainsFunc(shares, func(s Share) bool { return s.byHistory() }) {
		columns = slices.Concat(columns, historyColumns)
	}
	b.WriteString(prose.Table("share\t", columns, shares))
}

func boundFigure(resource string, b quota.Bound) string {
	switch {
	case !b.Given():
		return "-"
	case b.IsUnlimited():
		return b.String()
	}
	return prose.Figure(resource, b.Amount())
}
