package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/placement"
)

// Format writes a state as statements that [State] reads back to an equal one
// (times are then in UTC). The state must be one that [allot.Check] accepts.
// It is the form in which to report a bug.
func Format(s *allot.State) string {
	var text strings.Builder
	write := func(line string) {
		if line != "" {
			text.WriteString(line + "\n")
		}
	}
	if s.Revision != "" {
		write("revision " + quote(s.Revision))
	}
	write(formatLevels(s.Levels))
	names := make([]string, len(s.Nodes))
	for i := range s.Nodes {
		names[i] = s.Nodes[i].ID
	}
	for _, r := range runs(names, func(i, j int) bool { return sameNode(s.Nodes[i], s.Nodes[j]) }) {
		write(formatNodes(rangeOf(names, r), &s.Nodes[r.from], s.Levels))
	}
	for i := range s.Pools {
		p := &s.Pools[i]
		l := newLine("pool", quote(p.ID))
		l.nodeSet(p.Nodes)
		if p.MaxTasks != 0 {
			l.add("max-tasks", strconv.Itoa(p.MaxTasks))
		}
		if p.MaxTasksPerWorkload != 0 {
			l.add("max-tasks-per-workload", strconv.Itoa(p.MaxTasksPerWorkload))
		}
		write(l.String())
	}
	for i := range s.Pools {
		p := &s.Pools[i]
		write(formatPolicy(p.ID, &p.Policy))
		for m := range p.Policy.Scoring.Mix {
			write(formatMix(p.ID, &p.Policy.Scoring.Mix[m]))
		}
	}
	for i := range s.Queues {
		write(formatQueue(&s.Queues[i]))
	}
	for i := range s.Workloads {
		write(formatDefinition(&s.Workloads[i]))
		for _, line := range formatTasks(&s.Workloads[i]) {
			write(line)
		}
		write(formatPromise(&s.Workloads[i]))
	}
	for _, b := range s.Budgets {
		write(formatBudget(b))
	}
	for i := range s.Reservations {
		write(formatReservation(&s.Reservations[i]))
	}
	write("now " + formatInstant(s.Now))
	return text.String()
}

// sameNode reports whether two nodes differ in nothing but their names.
func sameNode(a, b allot.Node) bool {
	a.ID = b.ID
	return reflect.DeepEqual(a, b)
}

// formatNodes writes nodes as runNodes reads them.
func formatNodes(names string, n *allot.Node, levels []allot.Level) string {
	l := newLine("nodes", names)
	l.devices(n.Devices)
	l.inside(n)
	for _, level := range sortedKeys(n.Domains) {
		l.add(domainKey(levels, level), quoteOrNone(n.Domains[level]))
	}
	l.amounts("", n.Capacity)
	if n.Class != "" {
		l.add("class", quote(n.Class))
	}
	for _, key := range sortedKeys(n.Labels) {
		l.add("label", quote(key)+":"+quote(n.Labels[key]))
	}
	for _, t := range n.Taints {
		l.add("taint", formatTaint(t))
	}
	if n.MaxTasks != 0 {
		l.add("slots", strconv.Itoa(n.MaxTasks))
	}
	l.amounts("foreign.", n.Foreign)
	if n.ForeignTasks != 0 {
		l.add("foreign.slots", strconv.Itoa(n.ForeignTasks))
	}
	if n.Rank != 0 {
		l.add("rank", formatInteger(n.Rank))
	}
	l.flag("cordoned", n.Cordoned)
	l.flag("lost", n.Lost)
	return l.String()
}

// devices writes gpu, model and gpumem where all devices are of one kind, and
// else devices; then what is said of single ones.
func (l *line) devices(devices []allot.Device) {
	type kind struct {
		model  string
		memory int64
	}
	var kinds []string
	var unhealthy []int
	var foreign []string
	uniform := true
	for i, d := range devices {
		k := kind{d.Model, d.Memory}
		if i == 0 || k != (kind{devices[i-1].Model, devices[i-1].Memory}) {
			uniform = uniform && i == 0
			count := slices.IndexFunc(devices[i:], func(o allot.Device) bool { return kind{o.Model, o.Memory} != k })
			if count < 0 {
				count = len(devices) - i
			}
			kinds = append(kinds, formatKind(count, d))
		}
		if d.Unhealthy {
			unhealthy = append(unhealthy, i)
		}
		if d.Foreign != 0 {
			foreign = append(foreign, fmt.Sprintf("%d:%s", i, prose.Thousandths(d.Foreign)))
		}
	}
	switch {
	case len(devices) == 0:
		return
	case !uniform:
		l.add("devices", strings.Join(kinds, ","))
	default:
		l.add("gpu", strconv.Itoa(len(devices)))
		if devices[0].Model != "" {
			l.add("model", quote(devices[0].Model))
		}
		if devices[0].Memory != 0 {
			l.add("gpumem", formatBytes(devices[0].Memory))
		}
	}
	if len(unhealthy) > 0 {
		l.add("unhealthy", formatNumbers(unhealthy))
	}
	if len(foreign) > 0 {
		l.add("foreign.gpu", strings.Join(foreign, ","))
	}
}

func formatKind(count int, d allot.Device) string {
	text := fmt.Sprintf("%dx", count)
	if d.Model != "" {
		text += quote(d.Model)
	}
	if d.Memory != 0 {
		text += ":" + formatBytes(d.Memory)
	}
	return text
}

func formatTaint(t placement.Taint) string {
	text := quote(t.Key)
	if t.Value != "" {
		text += "=" + quote(t.Value)
	}
	if t.Effect != placement.DefaultEffect {
		text += ":" + t.Effect.String()
	}
	return text
}

// formatDefinition writes a workload without its tasks, as submit reads it.
func formatDefinition(o *allot.Workload) string {
	l := newLine("submit", formatWorkload(o.Queue, o.ID))
	if o.Pool != "" {
		l.add("pool", quote(o.Pool))
	}
	if o.Class != "" {
		l.add("class", quote(o.Class))
	}
	if o.Priority != 0 {
		l.add("priority", strconv.Itoa(int(o.Priority)))
	}
	if o.Preemption != allot.PreemptionByClass {
		l.flag(o.Preemption.String(), true)
	}
	if o.Strategy != 0 {
		l.add("strategy", o.Strategy.String())
	}
	l.add("at", formatInstant(o.Submitted))
	l.flag("ending", o.Ending)
	if o.Owner != "" {
		l.add("owner", quote(o.Owner))
	}
	if !o.Checkpoint.IsZero() {
		l.add("checkpoint", formatInstant(o.Checkpoint))
	}
	l.exitActions(o.ExitActions)
	if o.Retries.Given() {
		l.add("retries", formatBound(o.Retries, formatInteger))
	}
	if o.LeavingForm.Given() {
		l.add("leaving-form", formatBound(o.LeavingForm, formatInteger))
	}
	if !o.PartialSince.IsZero() {
		l.add("partial-since", formatInstant(o.PartialSince))
	}
	l.times(o)
	l.form(&o.Topology, o.PodSets, o.Groups)
	for _, f := range o.Alternatives {
		l.flag("or", true)
		if f.Queue != "" {
			l.add("queue", quote(f.Queue))
		}
		l.form(&f.Topology, f.PodSets, f.Groups)
	}
	return l.String()
}

// form writes the constraint of all, groups and pod sets; a lone pod set without a
// name needs none unless it has a constraint of its own.
func (l *line) form(whole *allot.Topology, sets []allot.PodSet, groups []allot.Group) {
	l.topology(whole)
	for _, g := range groups {
		text := quote(g.Name)
		if g.Min != 0 || g.Parent != "" {
			text += ":" + strconv.Itoa(g.Min)
		}
		if g.Parent != "" {
			text += ":" + quote(g.Parent)
		}
		l.add("group", text)
		l.topology(&g.Topology)
	}
	for _, s := range sets {
		own := s.Topology.Required != "" || s.Topology.Preferred != "" || s.Topology.Mode != 0
		if s.Name != "" || len(sets) > 1 || own {
			l.add("set", quote(s.Name))
		}
		l.topology(&s.Topology)
		l.slices(&s.Topology)
		l.podSet(&s)
	}
}

func (l *line) podSet(s *allot.PodSet) {
	if s.Count != 1 {
		l.add("tasks", strconv.Itoa(s.Count))
	}
	if s.Min != 0 {
		l.add("min", strconv.Itoa(s.Min))
	}
	if s.Step != 0 {
		l.add("step", s.Step.String())
	}
	if s.Missing != 0 {
		l.add("missing", strconv.Itoa(s.Missing))
	}
	if s.Group != "" {
		l.add("in", quote(s.Group))
	}
	l.request(&s.Request)
}

// request writes what readRequest reads.
func (l *line) request(r *allot.Request) {
	l.gpu(&r.GPU)
	l.amounts("", r.Resources)
	l.selector("selector", "expr", &r.Selector)
	for _, t := range r.Tolerations {
		l.add("toleration", formatToleration(t))
	}
}

func (l *line) gpu(g *allot.GPURequest) {
	switch {
	case g.Milli > 0 && g.Milli < 1000 && g.Count == 0:
		l.add("gpu", prose.Thousandths(g.Milli))
	case g.Milli != 0:
		l.add("gpu", fmt.Sprintf("%dx%s", g.Count, prose.Thousandths(g.Milli)))
	case g.Memory != 0 && g.Count != 0:
		l.add("gpumem", fmt.Sprintf("%dx%s", g.Count, formatBytes(g.Memory)))
	case g.Memory != 0:
		l.add("gpumem", formatBytes(g.Memory))
	case g.Count != 0:
		l.add("gpu", strconv.Itoa(g.Count))
	}
	if len(g.Models) > 0 {
		models := quoteAll(g.Models)
		if len(g.Models) == 1 {
			models = quoteOrNone(g.Models[0])
		}
		l.add("model", models)
	}
	if g.MinMemory != 0 {
		l.add("min-gpumem", formatBytes(g.MinMemory))
	}
	if g.Island != 0 {
		l.add("island", g.Island.String())
	}
	if g.PreferIsland != 0 {
		l.add("prefer-island", g.PreferIsland.String())
	}
}

func formatToleration(t placement.Toleration) string {
	text := "*"
	if t.Key != "" {
		text = quote(t.Key)
	}
	if t.Operator == placement.TolerationEqual {
		text += "=" + quote(t.Value)
	}
	if t.Effect != placement.DefaultEffect {
		text += ":" + t.Effect.String()
	}
	return text
}

// formatTasks writes a statement per stretch of tasks of one phase and time.
func formatTasks(o *allot.Workload) []string {
	var lines []string
	listedOf := map[int]*tasksListed{} // by form
	for at := 0; at < len(o.Tasks); {
		first := o.Tasks[at]
		l := newLine(phaseStatement(first.Phase), formatWorkload(o.Queue, o.ID))
		if o.Form != 0 {
			l.add("form", strconv.Itoa(o.Form))
		}
		l.add("since", formatInstant(first.Since))
		l.instant("started", first.Started)
		l.instant("until", first.Until)
		l.flag("on", true)
		listed := listedOf[o.FormOf(first)]
		if listed == nil {
			listed = new(tasksListed)
			listedOf[o.FormOf(first)] = listed
		}
		for at < len(o.Tasks) && heldAlike(&o.Tasks[at], &first) {
			t := o.Tasks[at]
			owner := formatOwner(t.PodSet, t.Index, listed.next(t.PodSet))
			l.flag(owner+formatPlace(t.Node, t.Devices), true)
			listed.add(t.PodSet, t.Index)
			at++
		}
		lines = append(lines, l.String())
	}
	return lines
}

// heldAlike says that two tasks can be told by one statement.
func heldAlike(a, b *allot.Task) bool {
	return a.Phase == b.Phase && sameInstant(a.Since, b.Since) && sameInstant(a.Started, b.Started) && sameInstant(a.Until, b.Until)
}

func sameInstant(a, b time.Time) bool { return a.Equal(b) && a.IsZero() == b.IsZero() }

func phaseStatement(p allot.Phase) string {
	switch p {
	case allot.Claimed:
		return "claim"
	case allot.Terminating:
		return "terminate"
	default:
		return "run"
	}
}
