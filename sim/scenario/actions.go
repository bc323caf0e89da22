package scenario

import (
	"strconv"
	"strings"

	"github.com/allotsched/allot"
)

// queuesByID are the queues of workloads, by which an action names another
// workload than its own. What it does not list is named without a queue.
type queuesByID map[string]string

func queuesOf(s *allot.State) queuesByID {
	queues := queuesByID{}
	for i := range s.Workloads {
		queues[s.Workloads[i].ID] = s.Workloads[i].Queue
	}
	return queues
}

// name is the workload as statements name it.
func (q queuesByID) name(id string) string { return formatWorkload(q[id], id) }

// printActions prints the plan's actions in their order.
func (w *world) printActions() {
	queues := queuesOf(&w.state)
	for i := range w.plan.Actions {
		w.print(formatAction(&w.plan.Actions[i], queues))
	}
	if len(w.plan.Actions) == 0 {
		w.print("no action")
	}
}

// formatAction writes an action: what, whose, where, why if that is not told
// by its kind, what must leave before, and how an evicted workload ends.
func formatAction(a *allot.Action, queues queuesByID) string {
	l := newLine(a.Kind.String(), formatWorkload(a.Queue, a.Workload))
	if a.Form != 0 {
		l.add("form", strconv.Itoa(a.Form))
	}
	if a.Kind == allot.Move {
		l.places(a.From)
		l.flag("->", true)
	}
	l.places(a.Tasks)
	text := l.String() + formatCause(&a.Reason, queues)
	if !a.Until.IsZero() {
		text += " until " + formatInstant(a.Until)
	}
	if len(a.After) > 0 {
		names := make([]string, len(a.After))
		for i, id := range a.After {
			names[i] = queues.name(id)
		}
		text += " after " + strings.Join(names, ",")
	}
	return text + formatEnding(a.Ending)
}

// places writes tasks and their places as SEATs.
func (l *line) places(tasks []allot.Placement) {
	next := map[string]int{} // per pod set, the index after the last one
	for _, t := range tasks {
		l.flag(formatOwner(t.PodSet, t.Index, next[t.PodSet])+formatPlace(t.Node, t.Devices), true)
		next[t.PodSet] = t.Index + 1
	}
}

// formatCause writes why an action is taken, a space or colon before it: for
// whom and by what rule, or what was lost.
func formatCause(r *allot.Reason, queues queuesByID) string {
	forWhom := ""
	if r.Workload != "" {
		forWhom = " for " + queues.name(r.Workload) + formatVia(r.Chain, queues)
	}
	switch r.Code {
	case 0: // a start
		return ""
	case allot.Grown:
		if r.Workload == "" {
			return ""
		}
		return " instead of " + queues.name(r.Workload)
	case allot.ReclaimedByQuota, allot.ReclaimedByShare:
		amount := func(n int64) string { return formatAmount(r.Resource, n) }
		return forWhom + " " + r.Code.String() + " " + quoteQueue(r.Queue) + " " +
			formatResource(r.Resource, r.Class) + " " + amount(r.Have) + " of " + amount(r.Need) + formatThen(r.Chain)
	case allot.Preempted, allot.Consolidated, allot.Behind:
		return forWhom + " " + r.Code.String() + formatThen(r.Chain)
	case allot.StaleGang:
		return " " + r.Code.String() + " " + haveNeed("", r.Have, r.Need)
	case allot.ReservationBegan:
		return " " + r.Code.String() + " " + quote(r.Reservation)
	}
	return ": " + formatReason(r, false)
}

// formatVia writes through whom the places came to the last of a chain, the first
// taker first.
func formatVia(chain []allot.Taker, queues queuesByID) (text string) {
	for i := 0; i+1 < len(chain); i++ {
		if i == 0 {
			text += " via "
		} else {
			text += ","
		}
		text += queues.name(chain[i].Workload)
	}
	return text
}

// formatThen writes by which rules the others of a chain took them, one from the other.
func formatThen(chain []allot.Taker) (text string) {
	for i := 1; i < len(chain); i++ {
		text += " then " + chain[i].Code.String()
	}
	return text
}

// formatEnding writes how an evicted workload ends: for good, or to wait again
// with what the host is to report; nothing if it just waits again.
func formatEnding(e allot.Ending) string {
	var l line
	l.flag("ends", e.Final)
	l.flag("exits", !e.Final && (e.Status != "" || e.ExitCode != 0))
	l.flag(quote(e.Status), e.Status != "")
	l.flag(strconv.Itoa(e.ExitCode), e.ExitCode != 0)
	l.flag("checkpoint", e.Checkpoint)
	if len(l.words) == 0 {
		return ""
	}
	return " " + l.String()
}
