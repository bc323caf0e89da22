package allot

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/quota"
)

// Text is the canonical text of the plan (X4): one plan, one text.
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
func (p *Plan) Text() string {
	var b bytes.Buffer
	_ = p.WriteText(&b) // a buffer takes everything
	return b.String()
}

// WriteText writes [Plan.Text]; the error is w's.
func (p *Plan) WriteText(w io.Writer) error {
	var b bytes.Buffer
	if p.Revision != "" {
		b.WriteString("revision " + prose.Word(p.Revision) + "\n")
	}
	for i := range p.Actions {
		writeAction(&b, &p.Actions[i])
	}
	for i := range p.Pending {
		for _, r := range p.Pending[i].Reasons {
			b.WriteString("wait " + workloadText(p.Pending[i].Queue, p.Pending[i].Workload))
			b.WriteString("  " + r.Code.String() + ": " + r.String() + "\n")
		}
	}
	writeShares(&b, p.Shares)
	for _, f := range p.Warnings {
		b.WriteString("warning " + f.Code.String() + ": " + f.String() + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// workloadText is queue/ID, or the ID alone where it says the queue itself.
func workloadText(queue, id string) string {
	if queue == "" || strings.HasPrefix(id, queue+"/") {
		return prose.Word(id)
	}
	return prose.Word(queue + "/" + id)
}

func writeAction(b *bytes.Buffer, a *Action) {
	b.WriteString(a.Kind.String() + " " + workloadText(a.Queue, a.Workload))
	if a.Form > 0 {
		b.WriteString(" form=" + strconv.Itoa(a.Form))
	}
	for from := 0; from < len(a.Tasks); {
		to := from + 1
		for to < len(a.Tasks) && a.Tasks[to].PodSet == a.Tasks[from].PodSet {
			to++
		}
		writeNames(b, a.Tasks[from:to], len(a.Tasks) == 1)
		if a.Kind == Move {
			writePlaces(b, a.From[min(from, len(a.From)):min(to, len(a.From))])
			b.WriteString(" to")
		}
		writePlaces(b, a.Tasks[from:to])
		from = to
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
	b.WriteByte('\n')
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
	b.WriteByte(' ')
	if tasks[0].PodSet != "" {
		b.WriteString(prose.Word(tasks[0].PodSet))
	}
	indices := make([]int, len(tasks))
	for i := range tasks {
		indices[i] = tasks[i].Index
	}
	b.WriteString(prose.Ranges(indices))
}

// writePlaces writes places, task by task.
func writePlaces(b *bytes.Buffer, tasks []Placement) {
	for len(tasks) > 0 {
		n := 1
		if len(tasks[0].Devices) == 0 {
			for n < len(tasks) && tasks[n].Node == tasks[0].Node && len(tasks[n].Devices) == 0 {
				n++
			}
		}
		b.WriteString(" " + prose.Word(tasks[0].Node))
		if len(tasks[0].Devices) > 0 {
			b.WriteString(prose.Ranges(tasks[0].Devices))
		}
		if n > 1 {
			b.WriteString("*" + strconv.Itoa(n))
		}
		tasks = tasks[n:]
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

func writeShares(b *bytes.Buffer, shares []Share) {
	if len(shares) == 0 {
		return
	}
	columns := shareColumns
	if slices.ContainsFunc(shares, func(s Share) bool { return s.Pool != "" }) {
		pool := prose.Column[Share]{Head: "pool", Cell: func(s *Share) string { return prose.OrNone(s.Pool) }}
		columns = append([]prose.Column[Share]{pool}, columns...)
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
