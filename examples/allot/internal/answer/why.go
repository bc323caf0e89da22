package answer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/examples/allot/internal/chart"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// Why answers what becomes of a workload and why.
func Why(e *explain.Explanation) output.Answer { return &whyAnswer{e} }

type whyAnswer struct{ e *explain.Explanation }

func (a *whyAnswer) Data() any { return a.e }

func (a *whyAnswer) Write(p *output.Page) {
	if p.Verbose {
		p.Text(a.e.String())
		return
	}
	e := a.e
	first := words.WorkName(e.Queue, e.Workload) + " " + e.Status.String()
	if len(e.Reasons) > 0 {
		first += ": " + e.Reasons[0].Code.String()
	}
	p.Line(output.Bold, first)
	p.Prose("  ", "    ", output.Plain, a.facts())
	for i := range e.Actions {
		p.Prose("  now: ", "    ", actionStyle(e.Actions[i].Kind), e.Actions[i].String())
	}
	if len(e.Reasons) > 0 {
		p.Heading("Why it waits")
		shown := told(p, e.Reasons, 5)
		for _, r := range shown {
			p.Prose("  "+r.Code.String()+": ", "      ", output.Plain, r.String())
		}
		tellLeft(p, "  ", len(e.Reasons)-len(shown), "")
	}
	a.levels(p)
	a.holders(p)
	a.ahead(p)
	a.takings(p)
	if len(e.Reasons) > 0 && p.Commands {
		p.Line(output.Plain, "")
		p.Line(output.Faint, "What would help: allot helps "+prose.Word(e.Workload))
	}
}

// facts is where it stands and what it asks, in a sentence.
func (a *whyAnswer) facts() string {
	e := a.e
	parts := []string{"queue " + words.QueueName(e.Queue), "priority " + strconv.Itoa(int(e.Priority))}
	if e.NonPreemptible {
		parts = append(parts, "not preemptible")
	} else {
		parts = append(parts, "preemptible")
	}
	if !e.Submitted.IsZero() {
		parts = append(parts, "submitted "+prose.Instant(e.Submitted))
	}
	parts = append(parts, "holds "+strconv.Itoa(e.Holds)+" of "+prose.Count(e.Tasks, "task"))
	var asks []string
	for _, x := range e.Asks {
		asks = append(asks, words.Amount(x.Resource, x.Amount))
	}
	if len(asks) > 0 && e.Starts > 0 {
		parts = append(parts, "to start it needs "+strings.Join(asks, ", "))
	}
	return strings.Join(parts, "; ")
}

// levels are its queues, of the resources that are divided or capped.
func (a *whyAnswer) levels(p *output.Page) {
	rows := [][]output.Cell{{
		output.Words("queue"), output.Words("resource"), output.Number("quota"), output.Number("used"), output.Number("fair share"),
		output.Number("limit"), output.Words("stands"),
	}}
	for i := range a.e.Levels {
		l := &a.e.Levels[i]
		if !l.Divided && l.Class == "" && chart.LimitFigure(&l.Share) == "-" {
			continue
		}
		fair := "-"
		if l.Divided {
			fair = words.Figure(l.Resource, l.FairShare)
		}
		rows = append(rows, []output.Cell{
			output.Words(words.QueueName(l.Queue)), output.Words(l.Resource), output.Number(chart.QuotaFigure(&l.Share)),
			output.Number(words.Figure(l.Resource, l.Used)), output.Number(fair), output.Number(chart.LimitFigure(&l.Share)), output.Words(chart.Standing(&l.Share)),
		})
		if len(rows) == 9 {
			break
		}
	}
	if len(rows) > 1 {
		p.Heading("Its queues, from its own up")
		p.Table("  ", rows)
	}
}

func (a *whyAnswer) holders(p *output.Page) {
	if len(a.e.Holders) == 0 {
		return
	}
	p.Heading("What it needs is held by")
	rows := [][]output.Cell{{output.Words("queue"), output.Number("holds"), output.Number("of it never evicted"), output.Words("first to go")}}
	for i, h := range a.e.Holders {
		if i == 6 {
			break
		}
		rows = append(rows, []output.Cell{
			output.Words(words.QueueName(h.Queue)), output.Number(words.Amount(h.Resource, h.Held)), output.Number(words.Amount(h.Resource, h.OfNonPreemptible)),
			output.Words(prose.Some(h.Last, " ", 2)),
		})
	}
	p.Table("  ", rows)
}

func (a *whyAnswer) ahead(p *output.Page) {
	if a.e.Ahead == nil || strings.HasPrefix(a.e.Reasons[0].Code.String(), "impossible-") {
		return // its turn does not help it
	}
	p.Line(output.Plain, "")
	text := "It is next"
	switch of, inPool := a.e.Ahead.InQueue, a.e.Ahead.InPool; {
	case of > 0 && of == inPool:
		text = before(of) + ", of its queue"
	case of > 0:
		text = before(inPool) + ", " + strconv.Itoa(of) + " of them of its queue"
	case inPool > 0:
		text += " in its queue; " + before(inPool) + ", of others"
	}
	if len(a.e.Ahead.Next) > 0 {
		text += "; the nearest: " + strings.Join(a.e.Ahead.Next, " ")
	}
	p.Prose("", "  ", output.Plain, text+".")
}

// before counts those that come before it.
func before(n int) string {
	return prose.Count(n, "workload") + " " + map[bool]string{true: "waits", false: "wait"}[n == 1] + " before it"
}

func (a *whyAnswer) takings(p *output.Page) {
	for i := range a.e.Takings {
		t := &a.e.Takings[i]
		p.Heading("Why it and nobody else")
		text := strings.Split(strings.TrimSuffix(t.String(), "\n"), "\n")
		if len(text) > 14 {
			text = append(text[:14], "… "+p.NotAll())
		}
		p.Text(strings.Join(text, "\n"))
	}
}

// Queue answers why the fair share of a queue is what it is.
func Queue(e *explain.QueueExplanation) output.Answer { return &textAnswer{e.String(), e} }

// A textAnswer is one that the library has in words.
type textAnswer struct {
	text string
	data any
}

func (a *textAnswer) Data() any            { return a.data }
func (a *textAnswer) Write(p *output.Page) { p.Text(a.text) }

// Helps answers what would help a workload that waits.
func Helps(queue string, h *explain.Help) output.Answer { return &helpsAnswer{queue, h} }

type helpsAnswer struct {
	queue string
	help  *explain.Help
}

func (a *helpsAnswer) Data() any { return a.help }

func (a *helpsAnswer) Write(p *output.Page) {
	h, name := a.help, words.WorkName(a.queue, a.help.Workload)
	switch {
	case !h.Waits:
		p.Line(output.Bold, name+" does not wait: nothing has to help")
		return
	case len(h.Remedies) == 0 && h.Cut:
		p.Line(output.Bold, "nothing that was tried helps "+name+"; not all was tried")
	case len(h.Remedies) == 0:
		p.Line(output.Bold, "no one change helps "+name+", nor do two together")
	default:
		p.Line(output.Bold, name+" would start with any one of "+prose.Count(len(h.Remedies), "change")+", the cheapest first")
	}
	shown := told(p, h.Remedies, 10)
	for i := range shown {
		text := shown[i].String()
		if !p.Verbose && len(text) > 300 {
			text = text[:strings.LastIndexByte(text[:300], ' ')] + " … (" + p.NotAll() + ")"
		}
		p.Prose("  - ", "      ", output.Green, text)
	}
	tellLeft(p, "  ", len(h.Remedies)-len(shown), "")
	took := "Each was tried; it took " + prose.Count(h.Solves, "solve") + "."
	if h.Cut {
		took += " There may be more: " + unlooked(h.Unlooked) + "."
		if p.Commands && len(h.Unlooked) > 0 {
			took += " With a larger -solves it goes on."
		}
	}
	p.Prose("  ", "    ", output.Faint, took)
}

// remedyWords are the kinds of changes as people say them, those that are alike as one.
var remedyWords = map[explain.RemedyKind]string{
	explain.WaitUntil: "waiting", explain.WaitForLeaving: "waiting", explain.SubmitTasks: "tasks that start together",
	explain.Tolerate: "what it asks of nodes", explain.DropSelector: "what it asks of nodes", explain.AcceptModel: "what it asks of nodes",
	explain.DropMinMemory: "what it asks of nodes", explain.WiderDomain: "topology", explain.LessMinimum: "tasks that start together",
	explain.LessGroupMinimum: "tasks that start together", explain.ShorterDuration: "how long it takes", explain.OtherPriority: "priority and class", explain.OtherClass: "priority and class",
	explain.BePreemptible: "priority and class", explain.OtherQueue: "other queues", explain.OtherPool: "other queues", explain.Uncordon: "cordoned nodes",
	explain.MoreWorkloads: "limits", explain.MoreLimit: "limits", explain.MoreBorrowing: "limits", explain.MoreLending: "limits",
	explain.MoreQuota: "quotas", explain.EndOf: "the end of others", explain.MoreGPUs: "more nodes", explain.MoreNodes: "more nodes",
}

// unlooked says of which kinds of changes not all was looked at.
func unlooked(kinds []explain.RemedyKind) string {
	var names []string
	for _, k := range kinds {
		if name := remedyWords[k]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "of many alike some were left out"
	}
	return "not all was looked at of " + strings.Join(names, ", ")
}
