package allot

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// compileWorkloads compiles every workload, its forms and what it holds.
func (w *world) compileWorkloads() error {
	s := w.state
	order := byID(s.Workloads, func(k *Workload) string { return k.ID })
	w.works = make([]work, len(order))
	w.forms = make([]formCompiler, len(w.pools))
	for i, p := range w.pools {
		w.forms[i] = formCompiler{world: w, pool: p, index: int32(i)}
		p.interned, p.requests = make(map[string]int32), make(map[string]shape)
	}
	for i, source := range order {
		if err := w.compileWork(int32(i), source); err != nil {
			return err
		}
		w.enlist(int32(i))
	}
	w.compileTopologies()
	return nil
}

// compileWork compiles one workload and its forms.
func (w *world) compileWork(i, source int32) error {
	given, k := &w.state.Workloads[source], &w.works[i]
	*k = work{
		source: source, live: -1, submitted: micros(given.Submitted), owner: none,
		checkpoint: micros(given.Checkpoint), partialSince: micros(given.PartialSince),
	}
	if owner, known := w.owners[given.Owner]; known && given.Owner != "" {
		k.owner = owner
	}
	var err error
	own := Form{Queue: given.Queue, PodSets: given.PodSets, Groups: given.Groups, Topology: given.Topology}
	if k.form, err = w.compileForm(given, &own); err != nil {
		return err
	}
	for a := range given.Alternatives {
		alternative := given.Alternatives[a]
		alternative.Queue = cmp.Or(alternative.Queue, given.Queue)
		compiled, err := w.compileForm(given, &alternative)
		if err != nil {
			return err
		}
		k.others = append(k.others, compiled)
		w.alternatives = true
	}
	if len(given.Tasks) > 0 {
		k.current = int16(given.Form)
		w.compileTasks(i)
	}
	if given.Ending {
		k.status = ending
	}
	return nil
}

// compileTasks reads what the state lists of a workload.
func (w *world) compileTasks(i int32) {
	k := &w.works[i]
	given, names := w.source(k).Tasks, w.setNames(k, k.current)
	k.tasks = w.newTasks(len(given))
	for t := range given {
		task := &given[t]
		h := holding{work: i, form: k.current, phase: taskPhase(task.Phase), since: micros(task.Since)}
		h.set = int32(slices.Index(names, task.PodSet))
		h.index, h.node = int32(task.Index), w.nodeID[task.Node]
		for _, device := range task.Devices {
			h.devices |= 1 << device
		}
		k.tasks[t] = h
	}
	slices.SortFunc(k.tasks, func(a, b holding) int {
		return cmp.Or(w.compareNodes(a.node, b.node), cmp.Compare(a.set, b.set),
			cmp.Compare(a.index, b.index), cmp.Compare(a.phase, b.phase))
	})
}

// newTasks cuts n holdings from an arena.
func (w *world) newTasks(n int) []holding {
	if len(w.tasks) < n {
		w.tasks = make([]holding, max(n, 1024))
	}
	out := w.tasks[:n:n]
	w.tasks = w.tasks[n:]
	return out
}

// compileForm compiles one form in the pool of its queue.
func (w *world) compileForm(k *Workload, given *Form) (form, error) {
	at, ok := w.leaf[given.Queue]
	if !ok { // the implicit queue of a pool without queues
		if len(w.pools) > 1 {
			at.pool = int32(slices.IndexFunc(w.pools, func(p *pool) bool { return p.id == k.Pool }))
		}
	}
	c := &w.forms[at.pool]
	out := form{pool: at.pool, queue: at.queue}
	out.priority, out.nonPreemptible = c.pool.given.standing(k)
	out.final = c.pool.given.ends(k)
	var err error
	out.definition, err = c.define(at.queue, k.Strategy, given)
	return out, err
}

// Standing is the priority of a workload in a pool of the policy, and whether it is
// non-preemptible, by its class, its own words and the policy. The higher
// goes first, also where the policy says LowerFirst: the sign is the other one then.
func (p *Policy) Standing(k Workload) (priority int32, nonPreemptible bool) { return p.standing(&k) }

func (p *Policy) standing(k *Workload) (priority int32, nonPreemptible bool) {
	name := cmp.Or(k.Class, p.DefaultClass)
	for i := range p.Classes {
		if p.Classes[i].Name == name {
			priority, nonPreemptible = p.Classes[i].Priority, p.Classes[i].NonPreemptible
			break
		}
	}
	if k.Priority != 0 && !(p.ClassBeatsPriority && k.Class != "") {
		priority = k.Priority
		if p.NonPreemptibleFrom != 0 {
			nonPreemptible = priority >= p.NonPreemptibleFrom
		}
	}
	switch k.Preemption {
	case Preemptible:
		nonPreemptible = false
	case NonPreemptible:
		nonPreemptible = true
	}
	if p.LowerFirst {
		priority = -priority
	}
	return priority, nonPreemptible
}

// ends says whether an eviction is the end of the workload (S6): what the workload says
// of the exit code goes before what the policy says.
func (p *Policy) ends(k *Workload) bool {
	if k.Retries.Given() && k.Retries.Amount() == 0 {
		return true
	}
	for _, list := range [...][]ExitAction{k.ExitActions, p.ExitActions} {
		for _, one := range list {
			if one.Code == p.PreemptedExitCode {
				return one.Action == Fail
			}
		}
	}
	return false
}

// A formCompiler compiles the forms of one pool; it owns the scratch.
type formCompiler struct {
	world   *world
	pool    *pool
	index   int32
	key     []byte
	request []byte
	amounts quota.Amounts
	names   []string
	shapes  []shape
}

// define interns the definition of a form: equal pod sets and groups, on equal
// node sets by equal strategies, are compiled once.
func (c *formCompiler) define(q int32, own placement.Strategy, given *Form) (int32, error) {
	p, sets, groups := c.pool, given.PodSets, given.Groups
	c.shapes = c.shapes[:0]
	c.key = binary.AppendUvarint(append(c.key[:0], byte(own)), uint64(len(sets)))
	c.key = appendTopology(c.key, &given.Topology)
	for i := range sets {
		set := &sets[i]
		shape := c.shape(p.nodeSet[q], &set.Request)
		c.shapes = append(c.shapes, shape)
		c.key = binary.AppendUvarint(c.key, uint64(shape.placed))
		c.key = binary.AppendUvarint(c.key, uint64(set.Count))
		c.key = binary.AppendUvarint(c.key, uint64(set.Min))
		c.key = binary.AppendUvarint(c.key, uint64(set.Step))
		c.key = binary.AppendUvarint(c.key, uint64(set.Missing))
		c.key = appendText(c.key, set.Name)
		c.key = appendText(c.key, set.Group)
		c.key = appendTopology(c.key, &set.Topology)
	}
	for i := range groups {
		c.key = appendText(c.key, groups[i].Name)
		c.key = appendText(c.key, groups[i].Parent)
		c.key = binary.AppendUvarint(c.key, uint64(groups[i].Min))
		c.key = appendTopology(c.key, &groups[i].Topology)
	}
	if known, ok := p.interned[string(c.key)]; ok {
		return known, nil
	}
	d, err := c.newDefinition(own, given)
	if err != nil {
		return 0, err
	}
	p.definitions = append(p.definitions, d)
	known := int32(len(p.definitions) - 1)
	p.interned[string(c.key)] = known
	return known, nil
}

func (c *formCompiler) newDefinition(own placement.Strategy, given *Form) (definition, error) {
	p, sets, groups := c.pool, given.PodSets, given.Groups
	d := definition{
		sets:   slices.Clone(c.shapes),
		counts: make([]int32, len(sets)),
		place:  gang.Strategies{GPU: p.given.GPUStrategy, CPUOnly: p.given.CPUStrategy},
	}
	if own != 0 {
		d.place = gang.Strategies{GPU: own, CPUOnly: own}
		p.follow(own)
	}
	compiled, names := make([]gang.Set, len(sets)), make([]string, len(sets))
	for i := range sets {
		set := &sets[i]
		names[i], d.counts[i] = set.Name, int32(set.Count)
		d.gpu = d.gpu || d.sets[i].gpus > 0
		compiled[i] = c.compileSet(set, &d.sets[i], groups)
		if set.Step == gang.Halving {
			d.lowest = compiled[i].Min
			ladder := gang.Ladder(compiled[i].Min, compiled[i].Count)
			compiled[i].Min = ladder[len(ladder)-1]
			d.ladder = slices.DeleteFunc(ladder, func(n int32) bool { return n > compiled[i].Submitted })
		}
	}
	nested := make([]gang.Group, len(groups))
	for i := range groups {
		nested[i] = gang.Group{Parent: groupIndex(groups, groups[i].Parent), Min: int32(groups[i].Min), Constraint: c.world.constraint(&groups[i].Topology)}
	}
	d.unsure = len(sets) > 1 || len(groups) > 0 || p.classed()
	for i := range d.sets {
		r := &d.sets[i].request
		d.elastic = d.elastic || len(groups) > 0 || compiled[i].Submitted > compiled[i].Min
		d.unsure = d.unsure || r.Devices > 1 && (r.Memory > 0 || r.Milli < wholeDevice)
	}
	d.constrained = constrained(&given.Topology, sets, groups)
	p.domains = p.domains || d.constrained
	p.constrained = p.constrained || d.constrained || slices.ContainsFunc(d.sets, func(s shape) bool {
		return s.request.Island != 0 || s.request.PreferIsland != 0
	})
	var err error
	if d.gang, err = gang.NewWithin(c.world.constraint(&given.Topology), compiled, nested); err != nil {
		return d, err
	}
	none := make([]int32, len(sets))
	if d.unit, d.verdict = d.gang.First(none); d.verdict.OK && len(d.ladder) > 0 {
		d.unit = gang.Unit{Add: d.ladder[:1]} // as asked (L2)
	}
	if d.asks, err = d.gang.Amounts(nil, d.unit); err != nil {
		return d, err
	}
	if p.counted {
		d.asks = append(d.asks, quota.Amount{Resource: int32(len(p.resources) - 1), Value: 1})
	}
	all := gang.Unit{Add: make([]int32, len(sets))}
	for i := range compiled {
		all.Add[i] = compiled[i].Submitted
	}
	d.demand, err = d.gang.Amounts(nil, all)
	p.setNames = append(p.setNames, names)
	return d, err
}

// compileSet compiles one pod set.
func (c *formCompiler) compileSet(set *PodSet, shape *shape, groups []Group) gang.Set {
	return gang.Set{
		Shape:      shape.placed,
		Devices:    shape.gpus,
		Amounts:    shape.charge,
		Count:      int32(set.Count),
		Min:        int32(cmp.Or(set.Min, set.Count)),
		Submitted:  int32(set.Count - set.Missing),
		Parent:     groupIndex(groups, set.Group),
		Constraint: c.world.constraint(&set.Topology),
	}
}

func groupIndex(groups []Group, name string) int32 {
	if name == "" {
		return -1
	}
	return int32(slices.IndexFunc(groups, func(g Group) bool { return g.Name == name }))
}

// shape interns a request on a set of nodes.
func (c *formCompiler) shape(set int32, r *Request) shape {
	p := c.pool
	c.encode(set, r)
	if known, ok := p.requests[string(c.request)]; ok {
		return known
	}
	out := shape{request: c.asked(r)}
	out.request.Set = set
	if len(r.Selector.Labels)+len(r.Selector.Expressions) > 0 {
		out.request.Selector = &r.Selector
	}
	out.request.Tolerations = r.Tolerations
	out.gpus = out.request.Devices
	if out.gpus > 0 {
		out.charge = append(out.charge, quota.Amount{Resource: 0, Value: int64(out.gpus) * p.milliOf(&r.GPU)})
	}
	out.charge = append(out.charge, c.amounts...)
	out.placed = p.index.Shape(out.request)
	p.requests[string(c.request)] = out
	return out
}

// asked is what the request asks of any node that may take it. Its amounts and
// models are those in the scratch.
func (c *formCompiler) asked(r *Request) placement.Request {
	out := placement.Request{
		Devices:   int32(r.GPU.devices()),
		Memory:    r.GPU.Memory,
		MinMemory: r.GPU.MinMemory,

		Island: r.GPU.Island, PreferIsland: r.GPU.PreferIsland,
		Amounts: make(quota.Amounts, len(c.amounts)),
	}
	if out.Devices > 0 {
		out.Milli = cmp.Or(r.GPU.Milli, wholeDevice)
	}
	for i, a := range c.amounts { // placement counts no GPU: its indices are one lower
		out.Amounts[i] = quota.Amount{Resource: a.Resource - 1, Value: a.Value}
	}
	for _, m := range c.names {
		out.Models = append(out.Models, number(c.pool.models, m))
	}
	c.pool.modelCount = int32(len(c.pool.models))
	return out
}

// milliOf is what the pool charges for each device of the request (F1).
func (p *pool) milliOf(g *GPURequest) int64 {
	if g.Memory == 0 || p.smallestMemory == 0 {
		return cmp.Or(g.Milli, wholeDevice)
	}
	return ceilMilli(g.Memory, p.smallestMemory)
}

// ceilMilli is ⌈1000 × part / whole⌉ without overflow for amounts up to
// [MaxAmount].
func ceilMilli(part, whole int64) int64 {
	quotient, rest := part/whole, part%whole
	return quotient*wholeDevice + (rest*wholeDevice+whole-1)/whole
}

// encode writes the request on the set of nodes as bytes that are equal exactly
// for requests that ask the same.
func (c *formCompiler) encode(set int32, r *Request) {
	b := c.encodeAsked(binary.AppendVarint(c.request[:0], int64(set)), r)
	c.request = appendTolerations(appendSelector(b, &r.Selector), r.Tolerations)
}

// encodeAsked appends what asked looks at, names and no numbers, and leaves the
// amounts and models sorted in the scratch.
func (c *formCompiler) encodeAsked(b []byte, r *Request) []byte {
	c.amounts = c.amounts[:0]
	for name, value := range r.Resources { // sorted below
		if value > 0 {
			c.amounts = append(c.amounts, quota.Amount{Resource: c.pool.byName[name], Value: value})
		}
	}
	if len(c.amounts) > 1 {
		slices.SortFunc(c.amounts, func(a, b quota.Amount) int { return cmp.Compare(a.Resource, b.Resource) })
	}
	c.names = append(c.names[:0], r.GPU.Models...)
	slices.Sort(c.names)
	c.names = slices.Compact(c.names)

	for _, n := range [...]int64{int64(r.GPU.devices()), r.GPU.Milli % wholeDevice, r.GPU.Memory, r.GPU.MinMemory, int64(r.GPU.Island)<<8 | int64(r.GPU.PreferIsland)} {
		b = binary.AppendVarint(b, n)
	}
	b = binary.AppendUvarint(b, uint64(len(c.amounts)))
	for _, a := range c.amounts {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(a.Resource)), a.Value)
	}
	return appendTexts(b, c.names)
}

func appendSelector(b []byte, s *placement.Selector) []byte {
	keys := make([]string, 0, 4)
	for key := range s.Labels { // sorted below
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, key := range keys {
		b = appendText(appendText(b, key), s.Labels[key])
	}
	b = binary.AppendUvarint(b, uint64(len(s.Expressions)))
	for i := range s.Expressions {
		e := &s.Expressions[i]
		b = appendTexts(append(appendText(b, e.Key), byte(e.Operator)), e.Values)
	}
	return b
}

func appendTolerations(b []byte, list []placement.Toleration) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for i := range list {
		t := &list[i]
		b = append(appendText(appendText(b, t.Key), t.Value), byte(t.Operator), byte(t.Effect))
	}
	return b
}

func appendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendText(b, s)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
