package allot

import (
	"bytes"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

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
		b.WriteString("revision " + word(p.Revision) + "\n")
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

// workloadText is queue/ID, or the ID alone where it says the queue itself.
func workloadText(queue, id string) string {
	if queue == "" || strings.HasPrefix(id, queue+"/") {
		return word(id)
	}
	return word(queue + "/" + id)
}

// String is the action's line in the text of a plan, see [Plan.String].
func (a Action) String() string {
	var b bytes.Buffer
	writeAction(&b, &a)
	return b.String()
}

func writeAction(b *bytes.Buffer, a *Action) {
	b.WriteString(a.Kind.String() + " " + workloadText(a.Queue, a.Workload))
	if a.Form > 0 {
		b.WriteString(" form=" + strconv.Itoa(a.Form))
	}
	writeTasks(b, a.Tasks, a.From, a.Kind == Move)
	writeEnding(b, &a.Ending)
	if len(a.After) > 0 {
		b.WriteString(" after")
		for _, id := range a.After {
			b.WriteString(" " + word(id))
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
		b.WriteString("wait " + workloadText(p.Queue, p.Workload))
		b.WriteString("  " + r.Code.String() + ": " + r.String() + "\n")
	}
}

// writeEnding writes how an evicted workload ends (S6).
func writeEnding(b *bytes.Buffer, e *Ending) {
	if e.Status != "" {
		b.WriteString(" status=" + word(e.Status))
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
		b.WriteString(word(tasks[0].PodSet))
	}
	indices := make([]int, len(tasks))
	for i := range tasks {
		indices[i] = tasks[i].Index
	}
	writeRanges(b, indices)
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
		b.WriteString(" " + word(tasks[0].Node))
		if len(tasks[0].Devices) > 0 {
			writeRanges(b, tasks[0].Devices)
		}
		if n > 1 {
			b.WriteString("*" + strconv.Itoa(n))
		}
		tasks = tasks[n:]
	}
}

// writeRanges writes numbers as [0-3,5].
func writeRanges(b *bytes.Buffer, numbers []int) {
	b.WriteByte('[')
	for i := 0; i < len(numbers); {
		end := i + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(numbers[i]))
		if end > i+1 {
			b.WriteString("-" + strconv.Itoa(numbers[end-1]))
		}
		i = end
	}
	b.WriteByte(']')
}

// A column of the table of shares (Q6).
type column struct {
	head string
	cell func(*Share) string
}

var shareColumns = []column{
	{"queue", func(s *Share) string { return orNone(s.Queue) }},
	{"resource", func(s *Share) string { return word((&QueueResource{Resource: s.Resource, Class: s.Class}).name()) }},
	{"quota", func(s *Share) string { return boundFigure(s.Resource, s.Quota) }},
	{"limit", func(s *Share) string { return boundFigure(s.Resource, s.Limit) }},
	{"used", func(s *Share) string { return amountFigure(s.Resource, s.Used) }},
	{"in-quota", func(s *Share) string { return amountFigure(s.Resource, s.InQuota) }},
	{"over-quota", func(s *Share) string { return amountFigure(s.Resource, s.OverQuota) }},
	{"non-preemptible", func(s *Share) string { return amountFigure(s.Resource, s.NonPreemptible) }},
	{"demand", func(s *Share) string { return dashed(s.Class == "", amountFigure(s.Resource, s.Demand)) }},
	{"fair-share", func(s *Share) string { return dashed(s.Divided, amountFigure(s.Resource, s.FairShare)) }},
	{"borrowed", func(s *Share) string { return amountFigure(s.Resource, s.Borrowed) }},
	{"lent", func(s *Share) string { return amountFigure(s.Resource, s.Lent) }},
	{"reachable", func(s *Share) string { return amountFigure(s.Resource, s.Reachable) }},
	{"pool-total", func(s *Share) string { return amountFigure(s.Resource, s.PoolTotal) }},
	{"state", func(s *Share) string { return dashed(s.Divided, s.State.String()) }},
}

// String is the share for people, in one line: queue, resource, and the figures by
// the names that they have in the text of a plan, for example "q1 gpu quota=4
// limit=unlimited used=2 …".
func (s Share) String() string {
	text := orNone(s.Queue)
	if s.Pool != "" {
		text = word(s.Pool) + " " + text
	}
	text += " " + shareColumns[1].cell(&s)
	for name, figure := range s.Figures() {
		text += " " + name + "=" + figure
	}
	return text
}

// Figures yields the names and the texts of the figures, as the columns of the
// table in [Plan.String] have them; "-" is none.
func (s Share) Figures() iter.Seq2[string, string] {
	return func(yield func(name, figure string) bool) {
		for _, c := range shareColumns[2:] { // behind the names
			if !yield(c.head, c.cell(&s)) {
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
		pool := column{"pool", func(s *Share) string { return orNone(s.Pool) }}
		columns = append([]column{pool}, columns...)
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	row := func(cell func(column) string) {
		cells := make([]string, len(columns))
		for i := range columns {
			cells[i] = cell(columns[i])
		}
		// The buffer below takes everything.
		_, _ = io.WriteString(table, "share\t"+strings.Join(cells, "\t")+"\n")
	}
	row(func(c column) string { return c.head })
	for i := range shares {
		row(func(c column) string { return c.cell(&shares[i]) })
	}
	_ = table.Flush()
}

func orNone(name string) string {
	if name == "" {
		return "-"
	}
	return word(name)
}

func boundFigure(resource string, b quota.Bound) string {
	switch {
	case !b.Given():
		return "-"
	case b.IsUnlimited():
		return b.String()
	}
	return amountFigure(resource, b.Amount())
}

// dashed is the text where it says something, and a dash elsewhere.
func dashed(says bool, text string) string {
	if says {
		return text
	}
	return "-"
}
