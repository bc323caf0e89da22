package main

import (
	"bytes"
	_ "embed"
	"flag"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

func reportCommand() command {
	return command{
		name:      "report",
		arguments: "STATE",
		about:     "a report in HTML of a state and its plan, for managers and engineers",
		more: `The report is one file that needs no network: explain report state.json > report.html
It has the queues with what they use, the nodes with who runs where once the plan
has been set going, what is evicted and why, and what waits and why.
`,
		noJSON: true,
		flags: func(flags *flag.FlagSet, o *options) {
			flags.IntVar(&o.helps, "helps", fewHelps, "for how many of each kind that wait to tell what would help, some 30 solves each;\n-1 is 3 where there are few nodes, and else none")
		},
		answer: answerReport,
	}
}

// fewHelps leaves to the size of the state for how many it is told what would
// help.
const fewHelps = -1

//go:embed report.html
var reportHTML string

// reportTemplate escapes what it is given by where it stands.
var reportTemplate = template.Must(template.New("report").Parse(reportHTML))

func answerReport(q *asked) error {
	s, err := q.solve()
	if err != nil {
		return err
	}
	r, err := newReport(s, q.helps)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := reportTemplate.Execute(&page, r); err != nil {
		return err
	}
	// The lines of the template that only steer leave blank lines behind.
	for line := range strings.Lines(page.String()) {
		if text := strings.TrimSpace(line); text != "" {
			q.text.WriteString(text + "\n")
		}
	}
	return nil
}

// A report is what the template shows: texts and numbers, nothing to decide.
type report struct {
	Revision, Now string
	Headline      string
	Tiles         []tile
	Brief         []string
	Shares        []shareChart
	OtherShares   []shareChart
	Clusters      []clusterView
	Legend        []queueColour
	Evictions     []evictionView
	MoreEvictions *moreLines
	Starts        []startGroup
	OpenStarts    bool
	Waiting       []waitGroup
	Warnings      []string
	Pools         []poolView
	Work          string
}

// A tile is a number that stands large.
type tile struct {
	Label, Number, Of, Note string
}

// A poolView says how a pool is scheduled.
type poolView struct{ Name, Policy string }

// A drawing is what the parts of the report are made from.
type drawing struct {
	*solution
	after    *allot.State
	machines []*machine
	// work finds workloads by ID, colours are those of queues.
	work    map[string]*allot.Workload
	colours map[string]int
	usable  int64
	used    int64
}

func newReport(s *solution, helps int) (*report, error) {
	state, plan := s.state, s.plan
	after, err := allot.Begin(state, plan)
	if err != nil {
		return nil, err
	}
	d := &drawing{solution: s, after: after, machines: machinesOf(state, after)}
	d.work = make(map[string]*allot.Workload, len(state.Workloads))
	for i := range state.Workloads {
		d.work[state.Workloads[i].ID] = &state.Workloads[i]
	}
	for _, m := range d.machines {
		usable, used := m.gpus()
		d.usable += usable
		d.used += used
	}
	d.colourQueues()
	r := &report{Revision: state.Revision, Now: instant(state.Now), Work: workText(&plan.Work)}
	for _, c := range chartsOf(state, plan.Shares) {
		if c.resource == allot.GPU {
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
	if r.Evictions, r.MoreEvictions, err = d.evictions(); err != nil {
		return nil, err
	}
	r.Starts, r.OpenStarts = d.starts()
	if r.Waiting, err = d.waiting(d.helpsFor(helps)); err != nil {
		return nil, err
	}
	for _, f := range plan.Warnings {
		r.Warnings = append(r.Warnings, upperFirst(f.String()))
	}
	for i := range state.Pools {
		p := &state.Pools[i]
		r.Pools = append(r.Pools, poolView{p.ID, p.Policy.Name})
	}
	d.headline(r)
	return r, nil
}

// instant is a time for people; the zero time is none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	if t.Second() == 0 && t.Nanosecond() == 0 {
		return t.Format("2 January 2006, 15:04 UTC")
	}
	return t.Format("2 January 2006, 15:04:05.999999 UTC")
}

// elapsed is how long it is from one instant to another, roughly and in words.
func elapsed(from, to time.Time) string {
	if from.IsZero() || to.IsZero() || to.Before(from) {
		return ""
	}
	minutes := int64(to.Sub(from) / time.Minute)
	switch {
	case minutes < 1:
		return "less than a minute"
	case minutes < 120:
		return prose.Count(minutes, "minute")
	case minutes < 48*60:
		return prose.Count(minutes/60, "hour")
	}
	return prose.Count(minutes/(24*60), "day")
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
			out = append(out, queueColour{queueName(s.Queue), c})
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

// headline says first what everybody wants to know.
func (d *drawing) headline(r *report) {
	starts, leaves := d.count(allot.Start, allot.Resize), d.count(allot.Evict, allot.Shrink, allot.Displace)
	moves := d.count(allot.Move)
	waits := int64(len(d.plan.Pending))
	running := int64(0)
	for i := range d.after.Workloads {
		for _, t := range d.after.Workloads[i].Tasks {
			if t.Phase == allot.Running {
				running++
				break
			}
		}
	}
	if d.usable > 0 || d.used > 0 {
		r.Headline = prose.Thousandths(d.used) + " of " + amount(allot.GPU, d.usable) + " in use"
	} else {
		r.Headline = prose.Count(running, "workload") + " running"
	}
	switch {
	case waits == 0:
		r.Headline += ", and nothing waits"
	case waits == 1:
		r.Headline += ", 1 workload waits"
	default:
		r.Headline += ", " + strconv.FormatInt(waits, 10) + " workloads wait"
	}
	if d.usable > 0 {
		r.Tiles = append(r.Tiles, tile{Label: "GPUs in use", Number: prose.Thousandths(d.used), Of: "of " + prose.Thousandths(d.usable), Note: percent(d.used, d.usable) + " of what is usable"})
	}
	r.Tiles = append(r.Tiles,
		tile{Label: "Running", Number: strconv.FormatInt(running, 10), Note: prose.Plural("workload", running, 1) + ", those that start included"},
		tile{Label: "Start or grow", Number: strconv.FormatInt(starts, 10), Note: "by this plan"},
		tile{Label: "Leave or move", Number: strconv.FormatInt(leaves+moves, 10), Note: "by this plan, each for a reason below"},
		tile{Label: "Wait", Number: strconv.FormatInt(waits, 10), Note: "each with its reasons below"})
	d.brief(r)
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
		add(amount(allot.GPU, free) + " " + isAre(free, 1000) + " free while others wait; why is told with each of them.")
	}
	var borrowers []string
	for i := range d.plan.Shares {
		s := &d.plan.Shares[i]
		if s.Resource == allot.GPU && s.Class == "" && s.Divided && s.Borrowed > 0 && !d.hasChildren(s.Queue) {
			borrowers = append(borrowers, s.Queue+" ("+amount(s.Resource, s.Borrowed)+")")
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

func (d *drawing) hasChildren(queue string) bool {
	for i := range d.state.Queues {
		if d.state.Queues[i].Parent == queue {
			return true
		}
	}
	return false
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
