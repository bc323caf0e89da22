package explain

import (
	"bytes"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

// String is the difference in people's words (X4), to be read in a terminal or
// pasted into a ticket: one difference, one text. "Now" is the second plan,
// "before" the first.
//
//	1 workload starts now:
//	  research/train: starts on n3[0-7]
//	    before: waits: asks 8 GPUs, and the limit of queue research leaves 4 GPUs
//	1 workload is evicted now:
//	  batch/sweep: is evicted from n3[0-3]: workload train has the higher priority
//	Figures of the queues:
//	  queue     resource  used     fair-share
//	  batch     gpu       4 -> 0   4
//	  research  gpu       8 -> 16  16
//
// Workloads stand under what is otherwise with them, by ID. Of several reasons
// the first is told, except where only the reasons differ: there, those that
// are not the same. The figures have the columns in which something differs;
// "-" is none.
func (d *Difference) String() string {
	var b bytes.Buffer
	_ = d.WriteText(&b) // a buffer takes everything
	return b.String()
}

// WriteText writes [Difference.String]; the error is w's.
func (d *Difference) WriteText(w io.Writer) error {
	var b bytes.Buffer
	if d.IsZero() {
		b.WriteString("No difference.\n")
	}
	byHeading := make(map[heading][]*WorkloadDifference)
	for i := range d.Workloads {
		at := d.Workloads[i].heading()
		byHeading[at] = append(byHeading[at], &d.Workloads[i])
	}
	for _, t := range headings {
		list := byHeading[t.heading]
		if len(list) == 0 {
			continue
		}
		words := t.many
		if len(list) == 1 {
			words = t.one
		}
		b.WriteString(prose.Count(len(list), "workload") + " " + words + ":\n")
		for _, x := range list {
			x.write(&b)
		}
	}
	writeShareDifferences(&b, d.Shares)
	writeFaultList(&b, "Warnings now:", d.WarningsAfter)
	writeFaultList(&b, "Warnings no longer:", d.WarningsBefore)
	_, err := w.Write(b.Bytes())
	return err
}

// A heading is what becomes of a workload from one plan to another, in a few
// kinds.
type heading struct {
	how  headingKind
	fate Fate
}

type headingKind uint8

const (
	gains  headingKind = iota // the fate of the second plan is another
	loses                     // the second plan says nothing any more
	differ                    // the fate is the same, what is said of it is not
)

// headings are all headings, in the order of the text.
var headings = []struct {
	heading
	one, many string
}{
	{heading{gains, Starts}, "starts now", "start now"},
	{heading{loses, Starts}, "starts no longer", "start no longer"},
	{startsThenWaits, "waits now and started before", "wait now and started before"},
	{heading{gains, Waits}, "waits now", "wait now"},
	{heading{loses, Waits}, "waits no longer", "wait no longer"},
	{heading{gains, Evicted}, "is evicted now", "are evicted now"},
	{heading{loses, Evicted}, "is no longer evicted", "are no longer evicted"},
	{heading{gains, Displaced}, "loses its place now", "lose their places now"},
	{heading{loses, Displaced}, "no longer loses its place", "no longer lose their places"},
	{heading{gains, Shrinks}, "shrinks now", "shrink now"},
	{heading{loses, Shrinks}, "shrinks no longer", "shrink no longer"},
	{heading{gains, Moves}, "moves now", "move now"},
	{heading{loses, Moves}, "moves no longer", "move no longer"},
	{heading{gains, Grows}, "grows now", "grow now"},
	{heading{loses, Grows}, "grows no longer", "grow no longer"},
	{heading{gains, Unclaims}, "gives up a claim now", "give up a claim now"},
	{heading{loses, Unclaims}, "no longer gives up a claim", "no longer give up a claim"},
	{heading{differ, Starts}, "starts elsewhere", "start elsewhere"},
	{startsAfterOthers, "starts after others", "start after others"},
	{heading{differ, Evicted}, "is evicted otherwise", "are evicted otherwise"},
	{heading{differ, Displaced}, "loses its place otherwise", "lose their places otherwise"},
	{heading{differ, Shrinks}, "shrinks otherwise", "shrink otherwise"},
	{heading{differ, Moves}, "moves otherwise", "move otherwise"},
	{heading{differ, Grows}, "grows otherwise", "grow otherwise"},
	{heading{differ, Unclaims}, "gives up a claim otherwise", "give up a claim otherwise"},
	{heading{differ, Waits}, "waits for other reasons", "wait for other reasons"},
	{heading{differ, Untouched}, "is told of otherwise", "are told of otherwise"},
}

// Two headings have words that the fates alone do not tell.
var (
	startsThenWaits   = heading{gains, Absent}
	startsAfterOthers = heading{differ, Absent}
)

func (w *WorkloadDifference) heading() heading {
	before, after := w.Before.Fate, w.After.Fate
	switch {
	case before == Starts && after == Waits:
		return startsThenWaits
	case before == after && after == Starts && samePlaces(w.Before.Actions, w.After.Actions):
		return startsAfterOthers
	case before == after && after != Absent:
		return heading{differ, after}
	case after > Absent:
		return heading{gains, after}
	case before > Absent:
		return heading{loses, before}
	}
	return heading{differ, Untouched}
}

// samePlaces says that actions differ in nothing but what they come after.
func samePlaces(a, b []allot.Action) bool {
	return slices.EqualFunc(a, b, func(x, y allot.Action) bool {
		x.After, y.After = nil, nil
		return alike(reflect.ValueOf(x), reflect.ValueOf(y))
	})
}

func (w *WorkloadDifference) write(b *bytes.Buffer) {
	queue := w.After.Queue
	if w.After.Fate <= Absent {
		queue = w.Before.Queue
	}
	name := prose.Member(queue, w.Workload)
	switch {
	case w.Before.Fate == Absent:
		name += " (new)"
	case w.After.Fate == Absent:
		name += " (gone)"
	}
	b.WriteString("  " + name + ":")
	if (w.heading() == heading{differ, Waits}) {
		b.WriteByte('\n')
		w.writeReasons(b)
		return
	}
	told := false
	for _, side := range []struct {
		lead string
		o    *Outcome
	}{{" ", &w.After}, {"    before: ", &w.Before}} {
		if side.o.Fate <= Absent {
			continue
		}
		lead := side.lead
		if !told && side.o == &w.Before {
			lead = " before: "
		}
		b.WriteString(lead + side.o.String() + "\n")
		told = true
	}
	if !told {
		b.WriteByte('\n')
	}
}

// writeReasons tells the reasons that are not the same on both sides.
func (w *WorkloadDifference) writeReasons(b *bytes.Buffer) {
	told := false
	tell := func(lead string, reasons, others []allot.Reason) {
		for _, r := range reasons {
			if !slices.ContainsFunc(others, func(o allot.Reason) bool { return alike(reflect.ValueOf(r), reflect.ValueOf(o)) }) {
				b.WriteString("    " + lead + ": " + r.String() + "\n")
				told = true
			}
		}
	}
	tell("now", w.After.Reasons, w.Before.Reasons)
	tell("before", w.Before.Reasons, w.After.Reasons)
	if w.Before.Queue != w.After.Queue {
		b.WriteString("    now in " + queueText(w.After.Queue) + ", before in " + queueText(w.Before.Queue) + "\n")
		told = true
	}
	if !told {
		b.WriteString("    now: " + w.After.String() + "\n    before: " + w.Before.String() + "\n")
	}
}

func queueText(queue string) string {
	if queue == "" {
		return "no queue"
	}
	return "queue " + prose.Word(queue)
}

// String says all that a plan does with the workload, and the first of the
// reasons why it waits.
func (o Outcome) String() string {
	var parts []string
	for i := range o.Actions {
		parts = append(parts, actionText(&o.Actions[i]))
	}
	if len(o.Reasons) > 0 {
		waits := "waits: " + o.Reasons[0].String()
		if more := len(o.Reasons) - 1; more > 0 {
			waits += " (and " + prose.Count(more, "more reason") + ")"
		}
		parts = append(parts, waits)
	}
	return strings.Join(parts, "; then ")
}

// actionWords are how a sentence about an action begins, before the place of an
// only task or before the tasks by name, and what stands between those and
// their places.
var actionWords = [...]struct{ only, named, at string }{
	allot.Start:    {"starts on", "starts", " on"},
	allot.Resize:   {"grows by 1 task on", "grows by", " on"},
	allot.Displace: {"loses its place on", "loses", " on"},
	allot.Unclaim:  {"gives up its claim on", "gives up the claims of", " on"},
	allot.Evict:    {"is evicted from", "is evicted with", " on"},
	allot.Shrink:   {"gives up 1 task on", "gives up", " on"},
	allot.Move:     {"moves from", "moves", " from"},
}

// actionText says what the action does, without the name of the workload.
func actionText(a *allot.Action) string {
	if int(a.Kind) >= len(actionWords) || actionWords[a.Kind].named == "" {
		return a.Kind.String()
	}
	var b bytes.Buffer
	if a.Form > 0 {
		b.WriteString("in form " + prose.Decimal(a.Form) + " ")
	}
	words := actionWords[a.Kind]
	for from := 0; from < len(a.Tasks); {
		to := from + 1
		for to < len(a.Tasks) && a.Tasks[to].PodSet == a.Tasks[from].PodSet {
			to++
		}
		switch names := taskNames(a.Tasks[from:to], len(a.Tasks) == 1); {
		case names == "":
			b.WriteString(words.only)
		case from == 0:
			b.WriteString(words.named + names + words.at)
		default:
			b.WriteString("," + names + words.at)
		}
		if a.Kind == allot.Move {
			writePlaces(&b, a.From[min(from, len(a.From)):min(to, len(a.From))])
			b.WriteString(" to")
		}
		writePlaces(&b, a.Tasks[from:to])
		from = to
	}
	if len(a.Tasks) == 0 {
		b.WriteString(words.named + " nothing")
	}
	if len(a.After) > 0 {
		b.WriteString(" after " + strings.Join(prose.Each(a.After), ", "))
	}
	if a.Reason.Code != 0 && a.Reason.Code != allot.Grown {
		b.WriteString(": " + a.Reason.String())
	}
	b.WriteString(endingText(&a.Ending))
	return b.String()
}

// taskNames says which tasks of one pod set these are, empty for an only one.
func taskNames(tasks []allot.Placement, only bool) string {
	first := &tasks[0]
	if only && first.PodSet == "" && first.Index == 0 {
		return ""
	}
	names := " " + numbered(tasks)
	if first.PodSet == "" {
		names = prose.Plural(" task", len(tasks), 1) + names
	}
	return names
}

// numbered are the tasks of one pod set by their indices.
func numbered(tasks []allot.Placement) string {
	indices := make([]int, len(tasks))
	for i := range tasks {
		indices[i] = tasks[i].Index
	}
	return prose.Numbered(tasks[0].PodSet, indices)
}

func writePlaces(b *bytes.Buffer, tasks []allot.Placement) {
	places := make([]prose.Place, len(tasks))
	for i := range tasks {
		places[i] = prose.Place{Node: tasks[i].Node, Devices: tasks[i].Devices}
	}
	if len(places) > 0 {
		b.WriteString(" " + prose.Places(places))
	}
}

// resourceText is a resource, or a class of it.
func resourceText(resource, class string) string {
	if class == "" {
		return resource
	}
	return resource + "@" + class
}

// endingText says how an evicted workload ends (S6).
func endingText(e *allot.Ending) string {
	var parts []string
	if e.Checkpoint {
		parts = append(parts, "its work is saved first")
	}
	if e.Status != "" {
		parts = append(parts, "its status is "+prose.Word(e.Status))
	}
	if e.ExitCode != 0 {
		parts = append(parts, "its exit code is "+prose.Decimal(e.ExitCode))
	}
	if e.Final {
		parts = append(parts, "it ends for good")
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

// writeShareDifferences writes a table with the columns in which some queue's
// figures differ.
func writeShareDifferences(b *bytes.Buffer, list []ShareDifference) {
	if len(list) == 0 {
		return
	}
	b.WriteString("Figures of the queues:\n")
	head, rows := []string{"queue", "resource"}, make([][]string, len(list))
	pools := slices.ContainsFunc(list, func(d ShareDifference) bool { return d.Pool != "" })
	if pools {
		head = append([]string{"pool"}, head...)
	}
	for i := range list {
		d := &list[i]
		if pools {
			rows[i] = append(rows[i], prose.OrNone(d.Pool))
		}
		rows[i] = append(rows[i], prose.OrNone(d.Queue), prose.Word(resourceText(d.Resource, d.Class)))
	}
	before, after := make([]map[string]string, len(list)), make([]map[string]string, len(list))
	for i := range list {
		before[i], after[i] = figuresOf(list[i].Before), figuresOf(list[i].After)
	}
	for column := range new(allot.Share).Figures() {
		differs := false
		cells := make([]string, len(list))
		for i := range list {
			before, after := figure(before[i], column), figure(after[i], column)
			cells[i] = after
			if before != after {
				cells[i] = before + " -> " + after
				both := list[i].Before != nil && list[i].After != nil
				differs = differs || both || tells(before) || tells(after)
			}
		}
		if !differs {
			continue
		}
		head = append(head, column)
		for i := range rows {
			rows[i] = append(rows[i], cells[i])
		}
	}
	b.WriteString(prose.Align("  ", append([][]string{head}, rows...)))
}

// tells says that a cell is more than nothing: a row of which one plan has
// nothing else would make every column one in which something differs.
func tells(cell string) bool { return cell != "-" && cell != "0" }

// figuresOf are the texts of the figures by their names, none where a plan does not
// have the row.
func figuresOf(s *allot.Share) map[string]string {
	if s == nil {
		return nil
	}
	return maps.Collect(s.Figures())
}

func figure(figures map[string]string, column string) string {
	if figures == nil {
		return "-"
	}
	return figures[column]
}

func writeFaultList(b *bytes.Buffer, title string, list []allot.Fault) {
	if len(list) == 0 {
		return
	}
	b.WriteString(title + "\n")
	for _, f := range list {
		b.WriteString("  " + f.Code.String() + ": " + f.String() + "\n")
	}
}
