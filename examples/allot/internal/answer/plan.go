package answer

import (
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/internal/prose"
)

// Plan answers what is to be done now and what waits.
func Plan(s *allot.State, plan *allot.Plan) output.Answer { return &planAnswer{s, plan} }

type planAnswer struct {
	state *allot.State
	plan  *allot.Plan
}

func (a *planAnswer) Data() any { return a.plan }

func (a *planAnswer) Write(p *output.Page) {
	p.Line(output.Bold, Summary(a.plan))
	if p.Verbose {
		p.Verbatim(a.plan.String())
		return
	}
	byID := asksOf(a.state)
	a.writeActions(p, byID)
	writeWaiting(p, byID, a.plan.Pending)
	writeWarnings(p, a.plan.Warnings)
}

// Summary is a plan in one line: "8 start, 353 still wait, nobody is evicted".
func Summary(plan *allot.Plan) string {
	counts := make(map[allot.ActionKind]int)
	for i := range plan.Actions {
		counts[plan.Actions[i].Kind]++
	}
	say := func(n int, one, several string) string {
		if n == 1 {
			return "1 " + one
		}
		return strconv.Itoa(n) + " " + several
	}
	parts := []string{say(counts[allot.Start], "starts", "start")}
	if counts[allot.Start] == 0 {
		parts[0] = "nothing starts"
	}
	for _, kind := range []struct {
		kind         allot.ActionKind
		one, several string
	}{
		{allot.Resize, "grows", "grow"}, {allot.Move, "moves", "move"}, {allot.Shrink, "shrinks", "shrink"},
		{allot.Displace, "is displaced", "are displaced"}, {allot.Unclaim, "gives up its claim", "give up their claims"},
	} {
		if n := counts[kind.kind]; n > 0 {
			parts = append(parts, say(n, kind.one, kind.several))
		}
	}
	switch waits := len(plan.Pending); waits {
	case 0:
		parts = append(parts, "nothing waits")
	default:
		parts = append(parts, say(waits, "still waits", "still wait"))
	}
	if n := counts[allot.Evict]; n > 0 {
		parts = append(parts, say(n, "is evicted", "are evicted"))
	} else {
		parts = append(parts, "nobody is evicted")
	}
	return strings.Join(parts, ", ")
}

// writeActions tells what is done, one by one or in groups.
func (a *planAnswer) writeActions(p *output.Page, byID map[string]*allot.Workload) {
	actions := a.plan.Actions
	if len(actions) == 0 {
		return
	}
	if len(actions) <= mostTold {
		p.Heading("To do, in this order")
		for i := range actions {
			p.Prose("  ", "      ", actionStyle(actions[i].Kind), actions[i].String())
		}
		return
	}
	p.Heading("To do (the order: " + p.NotAll() + ")")
	var g groups
	for i := range actions {
		act := &actions[i]
		why := "-"
		if act.Reason.Code != 0 {
			why = act.Reason.Code.String()
		}
		g.add(act.Workload, act.Kind.String(), words.QueueName(act.Queue), asks(byID, act.Workload), why)
	}
	g.write(p, mostGroups, "actions", "action", "queue", "each asks", "why")
}

func actionStyle(k allot.ActionKind) output.Style {
	switch k {
	case allot.Start, allot.Resize:
		return output.Green
	case allot.Evict, allot.Displace:
		return output.Red
	}
	return output.Yellow
}

// writeWaiting tells what waits, one by one or in groups, each with its first reason.
func writeWaiting(p *output.Page, byID map[string]*allot.Workload, pending []allot.Pending) {
	if len(pending) == 0 {
		return
	}
	p.Heading("Waits")
	if len(pending) <= mostTold/2 || p.Verbose {
		for i := range pending {
			w := &pending[i]
			p.Prose("  "+words.WorkName(w.Queue, w.Workload)+": ", "      ", output.Plain, reasonsText(w.Reasons))
		}
		return
	}
	var g groups
	first := make(map[allot.Code]allot.Reason)
	var codes []allot.Code
	for i := range pending {
		w := &pending[i]
		r := w.Reasons[0]
		if _, told := first[r.Code]; !told {
			first[r.Code] = r
			codes = append(codes, r.Code)
		}
		g.add(w.Workload, words.QueueName(w.Queue), asks(byID, w.Workload), r.Code.String())
	}
	g.write(p, mostGroups, "that wait", "queue", "each asks", "first reason")
	p.Line(output.Plain, "")
	for at, code := range codes {
		if at == 5 {
			p.Line(output.Faint, "  and "+prose.Count(len(codes)-at, "reason")+" more; why WORKLOAD tells those of one")
			break
		}
		p.Prose("  "+code.String()+", for example: ", "      ", output.Faint, first[code].String())
	}
}

// reasonsText is the first reason and how many more there are.
func reasonsText(reasons []allot.Reason) string {
	text := reasons[0].String()
	if more := len(reasons) - 1; more > 0 {
		text += " (and " + prose.Count(more, "more reason") + ")"
	}
	return text
}

// writeWarnings tells what is odd, at most a few.
func writeWarnings(p *output.Page, warnings []allot.Fault) {
	if len(warnings) == 0 {
		return
	}
	p.Heading(prose.Count(len(warnings), "warning"))
	for i, w := range warnings {
		if i == 5 && !p.Verbose {
			p.Line(output.Faint, "  and "+strconv.Itoa(len(warnings)-i)+" more; check tells all")
			break
		}
		p.Prose("  ", "      ", output.Yellow, w.String())
	}
}
