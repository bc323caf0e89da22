package answer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/chart"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// A Variant is a change with what comes of it.
type Variant struct {
	// Title is the change in the words of who asked.
	Title        string                `json:"title"`
	Consequences *explain.Consequences `json:"consequences"`
	// Plan is the plan with the change.
	Plan *allot.Plan `json:"-"`
	// Changed has the workloads of the state with the change, by ID.
	Changed map[string]*allot.Workload `json:"-"`
}

// WhatIf answers what changes would do: one in full, several side by side.
func WhatIf(s *allot.State, today *allot.Plan, variants []Variant) output.Answer {
	return &whatIfAnswer{s, today, variants}
}

type whatIfAnswer struct {
	state    *allot.State
	today    *allot.Plan
	variants []Variant
}

func (a *whatIfAnswer) Data() any {
	if len(a.variants) == 1 {
		return a.variants[0].Consequences
	}
	return a.variants
}

func (a *whatIfAnswer) Write(p *output.Page) {
	if len(a.variants) > 1 {
		a.table(p)
		return
	}
	v := &a.variants[0]
	p.Line(output.Bold, consequence(&v.Consequences.Difference))
	writeDropped(p, v.Consequences.Changes)
	if p.Verbose {
		p.Line(output.Plain, "")
		p.Text(v.Consequences.String())
		return
	}
	writeChanges(p, v.Consequences.Changes)
	a.writeWorkloads(p, v)
	writeShareChanges(p, v.Consequences.Difference.Shares)
}

// consequence is a difference in one line: "3 start that did not, 1 is evicted, 350 wait
// as before".
func consequence(d *explain.Difference) string {
	starts, stops, evicted, spared, moved, other, same := 0, 0, 0, 0, 0, 0, 0
	for i := range d.Workloads {
		w := &d.Workloads[i]
		switch before, after := w.Before.Fate, w.After.Fate; {
		case after == explain.Evicted && before != explain.Evicted:
			evicted++
		case after == explain.Starts && before != explain.Starts:
			starts++
		case before == explain.Starts && after != explain.Starts && after != explain.Absent:
			stops++
		case before == explain.Evicted && after == explain.Untouched:
			spared++
		case after == explain.Moves && before != explain.Moves:
			moved++
		case before == after:
			same++
		default:
			other++
		}
	}
	var parts []string
	say := func(n int, one, several string) {
		if n == 1 {
			parts = append(parts, "1 "+one)
		} else if n > 1 {
			parts = append(parts, strconv.Itoa(n)+" "+several)
		}
	}
	say(starts, "starts that did not", "start that did not")
	say(stops, "no longer starts", "no longer start")
	say(evicted, "is evicted for it", "are evicted for it")
	say(spared, "is no longer evicted", "are no longer evicted")
	say(moved, "moves for it", "move for it")
	say(other, "fares otherwise", "fare otherwise")
	if len(parts) == 0 {
		parts = append(parts, "nobody starts, waits or leaves for it")
	}
	if same > 0 {
		parts = append(parts, strconv.Itoa(same)+map[bool]string{true: " does", false: " do"}[same == 1]+" the same with other numbers")
	}
	return strings.Join(parts, ", ")
}

// writeDropped says before all else what a change takes away without naming it.
func writeDropped(p *output.Page, changes []explain.Alteration) {
	for i := range changes {
		c := &changes[i]
		if c.Came || c.Went {
			continue
		}
		var fields []string
		for _, f := range c.Fields {
			if f.After == "" && f.Before != "" {
				fields = append(fields, f.Path+" ("+f.Before+")")
			}
		}
		if len(fields) > 0 {
			p.Prose("note: ", "      ", output.Yellow, "the change of "+c.Object.String()+" "+c.ID+" drops "+prose.Some(fields, ", ", 6)+
				": it replaces the whole; under \"merge\" it would keep them")
		}
	}
}

// writeChanges tells what is otherwise in the state, at most a few.
func writeChanges(p *output.Page, changes []explain.Alteration) {
	if len(changes) == 0 {
		p.Line(output.Yellow, "the change changes nothing in the state")
		return
	}
	p.Heading("Changed")
	shown := told(p, changes, 6)
	for i := range shown {
		text := shown[i].String()
		if first, rest, more := strings.Cut(text, "\n"); more {
			text = first + " (" + prose.Count(strings.Count(rest, "\n")+1, "line") + " more)"
		}
		p.Prose("  ", "      ", output.Plain, text)
	}
	tellLeft(p, "  ", len(changes)-len(shown), "")
}

// writeWorkloads tells who fares otherwise, one by one or in groups. Who does the same
// with other numbers is counted in the first line.
func (a *whatIfAnswer) writeWorkloads(p *output.Page, v *Variant) {
	var told []*explain.WorkloadDifference
	for i := range v.Consequences.Difference.Workloads {
		w := &v.Consequences.Difference.Workloads[i]
		if w.Before.Fate != w.After.Fate {
			told = append(told, w)
		}
	}
	if len(told) == 0 {
		return
	}
	p.Heading("Who fares otherwise")
	if len(told) <= mostTold/2 {
		for _, w := range told {
			queue := w.After.Queue
			if queue == "" {
				queue = w.Before.Queue
			}
			p.Prose("  "+words.WorkName(queue, w.Workload)+" ", "      ", fateStyle(w.After.Fate), outcome(&w.After)+" (before: "+outcome(&w.Before)+")")
		}
		return
	}
	byID := asksOf(a.state)
	var g groups
	for _, w := range told {
		text := asks(byID, w.Workload)
		if k := v.Changed[w.Workload]; k != nil {
			text = Asks(k)
		}
		queue := w.After.Queue
		if queue == "" {
			queue = w.Before.Queue
		}
		g.add(w.Workload, w.Before.Fate.String()+" -> "+w.After.Fate.String(), words.QueueName(queue), text)
	}
	g.write(p, mostGroups, "workloads", "before -> now", "queue", "each asks")
}

// outcome is what a plan says of a workload, also where it says nothing.
func outcome(o *explain.Outcome) string {
	if text := o.String(); text != "" {
		return text
	}
	return map[explain.Fate]string{explain.Absent: "is not there", explain.Untouched: "is left alone"}[o.Fate]
}

func fateStyle(f explain.Fate) output.Style {
	switch f {
	case explain.Starts, explain.Grows:
		return output.Green
	case explain.Evicted, explain.Displaced:
		return output.Red
	}
	return output.Yellow
}

// writeShareChanges tells which queues use more or less, or are entitled to it.
func writeShareChanges(p *output.Page, shares []explain.ShareDifference) {
	rows := [][]output.Cell{{output.Words("queue"), output.Words("resource"), output.Number("quota"), output.Number("used"), output.Number("fair share")}}
	for i := range shares {
		s := &shares[i]
		if s.Class != "" || s.Before == nil || s.After == nil || s.Resource != allot.GPU {
			continue
		}
		if s.Before.Used == s.After.Used && s.Before.FairShare == s.After.FairShare && s.Before.Quota == s.After.Quota {
			continue
		}
		rows = append(rows, []output.Cell{
			output.Words(words.QueueName(s.Queue)), output.Words(s.Resource),
			output.Number(arrow(chart.QuotaFigure(s.Before), chart.QuotaFigure(s.After))),
			output.Number(arrow(words.Figure(s.Resource, s.Before.Used), words.Figure(s.Resource, s.After.Used))),
			output.Number(arrow(words.Figure(s.Resource, s.Before.FairShare), words.Figure(s.Resource, s.After.FairShare))),
		})
	}
	if len(rows) == 1 {
		return
	}
	p.Heading("Queues")
	shown := told(p, rows, 1+10)
	p.Table("  ", shown)
	tellLeft(p, "  ", len(rows)-len(shown), " queues")
}

func arrow(a, b string) string {
	if a == b {
		return a
	}
	return a + " -> " + b
}

// table puts several variants side by side.
func (a *whatIfAnswer) table(p *output.Page) {
	plans := []*allot.Plan{a.today}
	heads := []output.Cell{output.Words(""), output.Number("today")}
	for i := range a.variants {
		plans = append(plans, a.variants[i].Plan)
		heads = append(heads, output.Number("variant "+strconv.Itoa(i+1)))
	}
	today := usedGPUs(a.state, a.today)
	best, most, least := 0, int64(-1), today
	for i, plan := range plans[1:] {
		n := usedGPUs(a.state, plan)
		if n > most {
			best, most = i+1, n
		}
		least = min(least, n)
	}
	first := prose.Count(len(a.variants), "variant")
	switch {
	case most == today && least == today:
		first += "; as many GPUs are in use with each as today: " + words.Figure(allot.GPU, today)
	case most <= today:
		first += "; with none are more GPUs in use than today: " + words.Figure(allot.GPU, today)
	default:
		first += "; variant " + strconv.Itoa(best) + " uses most: " + words.Amount(allot.GPU, most) + ", where today " + words.Figure(allot.GPU, today) + " are in use"
	}
	p.Line(output.Bold, first)
	for i := range a.variants {
		p.Prose("  variant "+strconv.Itoa(i+1)+": ", "      ", output.Plain, a.variants[i].Title)
		writeDropped(p, a.variants[i].Consequences.Changes)
	}
	rows := [][]output.Cell{heads}
	add := func(name string, figure func(*allot.Plan) string) {
		row := []output.Cell{output.Words(name)}
		differ := false
		for _, plan := range plans {
			text := figure(plan)
			differ = differ || text != row[len(row)-1].Text && len(row) > 1
			row = append(row, output.Number(text))
		}
		if differ || !strings.HasPrefix(name, "GPUs of ") || p.Verbose {
			rows = append(rows, row)
		}
	}
	counting := func(kind allot.ActionKind) func(*allot.Plan) string {
		return func(plan *allot.Plan) string { return strconv.Itoa(count(plan, kind)) }
	}
	add("start", counting(allot.Start))
	add("wait", func(plan *allot.Plan) string { return strconv.Itoa(len(plan.Pending)) })
	add("are evicted", counting(allot.Evict))
	add("move", counting(allot.Move))
	add("GPUs in use", func(plan *allot.Plan) string { return words.Figure(allot.GPU, usedGPUs(a.state, plan)) })
	for _, queue := range gpuQueues(plans) {
		add("GPUs of "+words.QueueName(queue), func(plan *allot.Plan) string {
			for i := range plan.Shares {
				if s := &plan.Shares[i]; s.Queue == queue && s.Resource == allot.GPU && s.Class == "" {
					return words.Figure(allot.GPU, s.Used)
				}
			}
			return "-"
		})
	}
	p.Line(output.Plain, "")
	shown := told(p, rows, mostTold+5)
	p.Table("  ", shown)
	tellLeft(p, "  ", len(rows)-len(shown), " queues")
}

func count(plan *allot.Plan, kind allot.ActionKind) int {
	seen := make(map[string]bool)
	for i := range plan.Actions {
		if plan.Actions[i].Kind == kind {
			seen[plan.Actions[i].Workload] = true
		}
	}
	return len(seen)
}

// gpuQueues are the queues of which some plan has figures of GPUs, in their order.
func gpuQueues(plans []*allot.Plan) []string {
	var out []string
	for _, plan := range plans {
		for i := range plan.Shares {
			if s := &plan.Shares[i]; s.Resource == allot.GPU && s.Class == "" && !slices.Contains(out, s.Queue) {
				out = append(out, s.Queue)
			}
		}
	}
	return out
}

// usedGPUs is what all uppermost queues use of GPUs after the plan.
func usedGPUs(s *allot.State, plan *allot.Plan) int64 {
	parent := make(map[string]string)
	for i := range s.Queues {
		parent[s.Queues[i].ID] = s.Queues[i].Parent
	}
	total := int64(0)
	for i := range plan.Shares {
		if sh := &plan.Shares[i]; sh.Resource == allot.GPU && sh.Class == "" && parent[sh.Queue] == "" {
			total += sh.Used
		}
	}
	return total
}
