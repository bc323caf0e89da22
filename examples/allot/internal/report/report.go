// Package report makes the report of a decision: one page in HTML for managers and
// engineers, of what is shared, who runs where, what leaves, starts and waits, and why.
//
// A cluster of up to 48 nodes is drawn node by node. One of more is a map with a cell for
// every node, by model and rack, with tables that can be searched and sorted, and what
// starts, leaves or waits is told by kinds of the same shape. The page of 1,213 nodes
// with 8,152 pods is about 1.3 MB.
package report

import (
	"context"
	_ "embed"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/chart"
	"github.com/allotsched/allot/examples/allot/internal/page"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/internal/prose"
)

// Options say how a report is made.
type Options struct {
	// Helps is for how many of what waits it is told what would help: of a small
	// cluster so many for each kind of reason, of a large one so many in all, the
	// largest groups first. Below 0 it is 3 and 2.
	Helps int
	// Solves bounds what is tried for each of them; 0 is 48 of a small cluster and 16
	// of a large one.
	Solves int
	// Nav is a row of links at the head, for a page of a server.
	Nav []page.Link
	// Link is where the page of a workload or queue is; nil is nowhere. The kind is
	// "workload" or "queue".
	Link func(kind, id string) string
}

//go:embed page.html
var pageHTML string

// pageTemplate escapes what it is given by where it stands.
var pageTemplate = page.Template("report.html", pageHTML, template.FuncMap{
	"policy": func() string { return page.Policy(page.Script()) },
	"link":   func(kind, id, text string) string { return text },
})

// Page is the report of a decision. The same state and options have the same bytes.
func Page(ctx context.Context, decision *allot.Decision, o Options) ([]byte, error) {
	plan, err := decision.Plan()
	if err != nil {
		return nil, err
	}
	d := &drawing{ctx: ctx, decision: decision, state: decision.Snapshot().State(), plan: plan, options: o}
	r, err := d.report()
	if err != nil {
		return nil, err
	}
	t, err := pageTemplate.Clone() // what has been executed cannot be cloned
	if err != nil {
		return nil, err
	}
	if o.Link != nil {
		t.Funcs(template.FuncMap{"link": func(kind, id, text string) template.HTML {
			return template.HTML(`<a href="` + template.HTMLEscapeString(o.Link(kind, id)) + `">` + template.HTMLEscapeString(text) + `</a>`)
		}})
	}
	return page.RenderTight(t, r)
}

// A report is what the template shows: texts and numbers, nothing to decide.
type report struct {
	Revision, Now string
	Nav           []page.Link
	// Title is the answer in a line; Headline and After are what is so now, and what
	// the plan makes of it.
	Title, Headline, After string
	// Large: what is of the same kind is told at once.
	Large bool
	// Drawn: there are nodes that are drawn with every device.
	Drawn         bool
	Tiles         []tile
	Brief         []string
	Shares        []shareChart
	OtherShares   []shareChart
	Clusters      []clusterView
	Legend        []queueColour
	Evictions     []evictionView
	MoreEvictions *moreLines
	EvictionKinds []evictionKind
	Starts        []startGroup
	OpenStarts    bool
	Waiting       []waitGroup
	Timelines     []timeline
	Warnings      []string
	Pools         []poolView
	Work          string
}

// A tile is a number that stands large.
type tile struct {
	Label, Number, Of, Note string
	// Was is the number as it is now, empty where the plan leaves it.
	Was string
}

// A poolView says how a pool is scheduled.
type poolView struct{ Name, Policy string }

// A drawing is what the parts of the report are made from.
type drawing struct {
	ctx      context.Context
	decision *allot.Decision
	state    *allot.State
	plan     *allot.Plan
	options  Options
	after    *allot.State
	machines []*machine
	// work finds workloads by ID, colours are those of queues.
	work    map[string]*allot.Workload
	colours map[string]int
	// children are the queues that have some.
	children map[string]bool
	usable   int64
	// used is what is used when the plan has been set going, before what is used now.
	used, before int64
}

// large says whether the cluster is told by kinds and not one by one.
func (d *drawing) large() bool { return len(d.machines) > manyNodes }

func (d *drawing) report() (r *report, err error) {
	state, plan := d.state, d.plan
	if d.after, err = allot.Begin(state, plan); err != nil {
		return nil, err
	}
	d.machines = machinesOf(state, d.after)
	for _, m := range machinesOf(state, state) {
		_, used := m.gpus()
		d.before += used
	}
	d.work = make(map[string]*allot.Workload, len(state.Workloads))
	for i := range state.Workloads {
		d.work[state.Workloads[i].ID] = &state.Workloads[i]
	}
	d.children = make(map[string]bool)
	for i := range state.Queues {
		d.children[state.Queues[i].Parent] = true
	}
	for _, m := range d.machines {
		usable, used := m.gpus()
		d.usable += usable
		d.used += used
	}
	d.colourQueues()
	r = &report{Revision: state.Revision, Now: words.Instant(state.Now), Work: workText(&plan.Work), Nav: d.options.Nav, Large: d.large()}
	for _, c := range chart.Of(state, plan.Shares) {
		if c.Resource == allot.GPU {
			view := newShareChart(&c)
			if err := d.derive(&view, &c); err != nil {
				return nil, err
			}
			r.Shares = append(r.Shares, view)
		} else {
			r.OtherShares = append(r.OtherShares, newShareChart(&c))
		}
	}
	r.Clusters, r.Legend = d.clusters(), d.legend()
	r.Drawn = slices.ContainsFunc(r.Clusters, func(v clusterView) bool { return len(v.Groups) > 0 })
	if r.Evictions, r.MoreEvictions, err = d.evictions(); err != nil {
		return nil, err
	}
	if r.MoreEvictions != nil {
		r.EvictionKinds = d.evictionKinds()
	}
	r.Starts, r.OpenStarts = d.starts()
	if r.Waiting, err = d.waiting(); err != nil {
		return nil, err
	}
	if r.Timelines, err = d.timelines(); err != nil {
		return nil, err
	}
	for _, f := range plan.Warnings {
		r.Warnings = append(r.Warnings, words.UpperFirst(f.String()))
	}
	for i := range state.Pools {
		p := &state.Pools[i]
		r.Pools = append(r.Pools, poolView{p.ID, p.Policy.Name})
	}
	d.headline(r)
	return r, nil
}

func workText(w *allot.Work) string {
	return prose.Count(w.Turns, "turn") + ", looked for a place " + prose.Count(w.Searches, "time") + " and for room " + prose.Count(w.Rooms, "time")
}

// colourQueues gives the leaf queues that hold something their colours.
func (d *drawing) colourQueues() {
	d.colours = make(map[string]int)
	holds := make(map[string]bool)
	for _, m := range d.machines {
		for _, o := range m.tenants {
			holds[o.queue] = true
		}
	}
	n := 0
	seen := func(queue string) {
		if _, known := d.colours[queue]; holds[queue] && !known {
			d.colours[queue] = n % colours
			n++
		}
	}
	for _, s := range d.plan.Shares {
		seen(s.Queue)
	}
	seen("")
}

// colours is how many colours the style of the report has for queues.
const colours = 8

// A queueColour is a line of the legend.
type queueColour struct {
	Queue  string
	Colour int
}

// legend lists the colours of queues. Where queues share a colour it leads
// nowhere, and there is none.
func (d *drawing) legend() []queueColour {
	var out []queueColour
	listed := make(map[string]bool)
	for _, s := range d.plan.Shares {
		if c, ok := d.colours[s.Queue]; ok && !listed[s.Queue] {
			listed[s.Queue] = true
			out = append(out, queueColour{words.QueueName(s.Queue), c})
		}
	}
	if len(out) > colours {
		return nil
	}
	return out
}

// counts of what the plan does, by kind.
func (d *drawing) count(kinds ...allot.ActionKind) int64 {
	n := int64(0)
	for i := range d.plan.Actions {
		for _, k := range kinds {
			if d.plan.Actions[i].Kind == k {
				n++
			}
		}
	}
	return n
}

// running counts the workloads of a state that run, and those that have no place.
func running(s *allot.State) (run, wait int64) {
	for i := range s.Workloads {
		w := &s.Workloads[i]
		switch {
		case slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase == allot.Running }):
			run++
		case len(w.Tasks) == 0:
			wait++
		}
	}
	return run, wait
}

// headline says first what everybody wants to know: how it is now, and what the plan
// does.
func (d *drawing) headline(r *report) {
	starts, leaves := d.count(allot.Start, allot.Resize), d.count(allot.Evict, allot.Shrink, allot.Displace)
	moves := d.count(allot.Move)
	waits := int64(len(d.plan.Pending))
	runs, _ := running(d.after)
	ran, waited := running(d.state)
	r.Headline = "Now: " + prose.Count(ran, "workload") + " " + oneMore(ran, "runs", "run") + ", " + prose.Decimal(waited) + " without a place"
	if d.usable > 0 || d.used > 0 {
		r.Headline = "Now: " + prose.Thousandths(d.before) + " of " + words.Amount(allot.GPU, d.usable) + " in use, " + prose.Count(waited, "workload") + " without a place"
	}
	r.After = "After this plan: "
	switch {
	case starts+leaves+moves == 0 && waits == 0:
		r.After += "nothing changes, and nothing waits"
	case starts+leaves+moves == 0:
		r.After += "nothing changes; " + prose.Decimal(waits) + " " + oneMore(waits, "waits", "wait")
	default:
		if d.usable > 0 {
			r.After += prose.Thousandths(d.used) + " in use; "
		}
		r.After += d.changes(starts, waits)
	}
	r.Title = r.Headline + ". " + r.After
	if d.usable > 0 {
		r.Tiles = append(r.Tiles, tile{Label: "GPUs in use", Was: was(prose.Thousandths(d.before), prose.Thousandths(d.used)), Number: prose.Thousandths(d.used), Of: "of " + prose.Thousandths(d.usable), Note: words.Percent(d.used, d.usable) + " of what is usable"})
	}
	r.Tiles = append(r.Tiles,
		tile{Label: "Running", Was: was(prose.Decimal(ran), prose.Decimal(runs)), Number: prose.Decimal(runs), Note: prose.Plural("workload", runs, 1) + ", those that start included"},
		tile{Label: "Start or grow", Number: prose.Decimal(starts), Note: "by this plan"},
		tile{Label: "Leave or move", Number: prose.Decimal(leaves + moves), Note: "by this plan, each for a reason below"},
		tile{Label: "Wait", Was: was(prose.Decimal(waited), prose.Decimal(waits)), Number: prose.Decimal(waits), Note: "after this plan, each for a reason below"})
	d.brief(r)
}

// was is the number of now, where the plan makes another one of it.
func was(now, after string) string {
	if now == after {
		return ""
	}
	return now
}

// changes says what the plan does: "8 start, 353 still wait, nobody is evicted".
func (d *drawing) changes(starts, waits int64) string {
	var parts []string
	add := func(n int64, text string) {
		if n > 0 {
			parts = append(parts, prose.Decimal(n)+" "+text)
		}
	}
	grow, shrink, evict := d.count(allot.Resize), d.count(allot.Shrink), d.count(allot.Evict)
	move, lose := d.count(allot.Move), d.count(allot.Displace)
	starts -= grow
	add(starts, oneMore(starts, "starts", "start"))
	add(grow, oneMore(grow, "grows", "grow"))
	add(move, oneMore(move, "moves", "move"))
	add(shrink, oneMore(shrink, "shrinks", "shrink"))
	add(lose, "lost a place")
	if waits == 0 {
		parts = append(parts, "nothing waits")
	} else {
		add(waits, oneMore(waits, "waits", "wait"))
	}
	if evict == 0 {
		parts = append(parts, "nobody is evicted")
	} else {
		add(evict, oneMore(evict, "is", "are")+" evicted")
	}
	return strings.Join(parts, ", ")
}

// oneMore is the form of a verb for one or for more.
func oneMore(n int64, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// brief adds sentences for those who read no further.
func (d *drawing) brief(r *report) {
	add := func(text string) { r.Brief = append(r.Brief, text) }
	if n := d.count(allot.Evict, allot.Shrink, allot.Move); n > 0 {
		add(d.whyTheyLeave())
	}
	if n := d.count(allot.Displace); n > 0 {
		add(prose.Count(n, "workload") + " lost a place with a node or a device.")
	}
	never := int64(0)
	for _, p := range d.plan.Pending {
		if impossible(p.Reasons[0].Code) {
			never++
		}
	}
	if never > 0 {
		add(prose.Count(never, "workload") + " can never start as things are: what is asked is more than the cluster or a quota has.")
	}
	if free := d.usable - d.used; free > 0 && len(d.plan.Pending) > int(never) {
		add(words.Amount(allot.GPU, free) + " " + isAre(free, 1000) + " free while others wait; why is told with each of them.")
	}
	var borrowers []string
	for i := range d.plan.Shares {
		s := &d.plan.Shares[i]
		if s.Resource == allot.GPU && s.Class == "" && s.Divided && s.Borrowed > 0 && !d.children[s.Queue] {
			borrowers = append(borrowers, s.Queue+" ("+words.Amount(s.Resource, s.Borrowed)+")")
		}
	}
	switch {
	case len(borrowers) > 5:
		add(prose.Count(len(borrowers), "queue") + " borrow beyond their quota.")
	case len(borrowers) > 0:
		add("Beyond their quota run: " + strings.Join(borrowers, ", ") + ".")
	}
	off := int64(0)
	for _, m := range d.machines {
		for i := range m.node.Devices {
			if m.usableMilli(i) == 0 && m.node.Devices[i].Foreign == 0 {
				off++
			}
		}
	}
	if off > 0 {
		add(prose.Count(off, "GPU") + " " + isAre(off, 1) + " out of use: cordoned, lost or unhealthy.")
	}
	if n := int64(len(d.plan.Warnings)); n > 0 {
		add(prose.Count(n, "warning") + " about the state; see below.")
	}
}

func isAre(n, one int64) string {
	if n > 0 && n <= one {
		return "is"
	}
	return "are"
}

// whyTheyLeave counts evictions and moves by the right that took them.
func (d *drawing) whyTheyLeave() string {
	var quotas, shares, priority, others int64
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind != allot.Evict && a.Kind != allot.Shrink && a.Kind != allot.Move {
			continue
		}
		switch a.Reason.Code {
		case allot.ReclaimedByQuota:
			quotas++
		case allot.ReclaimedByShare:
			shares++
		case allot.Preempted:
			priority++
		default:
			others++
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int64
		text string
	}{
		{quotas, "so that another queue gets its guaranteed quota"},
		{shares, "so that another queue gets its fair share"},
		{priority, "for work of higher priority in the same queue"},
		{others, "to make the free room fit or to keep the rules"},
	} {
		if p.n > 0 {
			parts = append(parts, strconv.FormatInt(p.n, 10)+" "+p.text)
		}
	}
	return "Running work leaves or moves: " + strings.Join(parts, ", ") + "."
}

// impossible says that the cluster as it is never takes it.
func impossible(c allot.Code) bool { return strings.HasPrefix(c.String(), "impossible-") }
