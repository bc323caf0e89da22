package allot

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// compileWorkloads compiles every workload, its forms and what it holds.
func (w *world) compileWorkloads() error {
	w.Works = make([]cluster.Work, len(w.workloads))
	w.forms = make([]formCompiler, len(w.pools))
	for i, p := range w.pools {
		w.forms[i] = formCompiler{world: w, pool: p, index: int32(i)}
		p.interned, p.timeless, p.requests = make(map[string]int32), make(map[string]int32), make(map[string]*cluster.Shape)
	}
	for i := range w.workloads {
		if err := w.compileWork(int32(i)); err != nil {
			return err
		}
		w.Enlist(int32(i))
	}
	w.kinds, w.defined = nil, nil // what comes to a world that is kept comes one by one
	w.compileTopologies()
	return nil
}

// compileWork compiles one workload and its forms.
func (w *world) compileWork(i int32) error {
	given, k := w.workloads[i], &w.Works[i]
	*k = cluster.Work{Source: i, Live: -1, Submitted: micros(given.Submitted), Rare: w.newRare(given)}
	w.noteTimed(i, given)
	var err error
	own := Form{Queue: given.Queue, PodSets: given.PodSets, Groups: given.Groups, Topology: given.Topology}
	if k.Form, err = w.compileForm(given, &own, w.kindOf(i, &own)); err != nil {
		return err
	}
	for a := range given.Alternatives {
		compiled, err := w.compileForm(given, &given.Alternatives[a], none)
		if err != nil {
			return err
		}
		k.Others = append(k.Others, compiled)
		w.Alternatives = true
	}
	if len(given.Tasks) > 0 {
		k.Current = int16(given.FormOf(given.Tasks[0]))
		for _, task := range given.Tasks { // what claims or runs says it, else what leaves
			if task.Phase != Terminating {
				k.Current = int16(given.Form)
				break
			}
		}
		w.compileTasks(i)
	}
	if given.Ending {
		k.Status = cluster.Ending
	}
	w.compileTimes(i, given)
	w.noteClosing(i)
	return nil
}

// compileTasks reads what the state lists of a workload.
func (w *world) compileTasks(i int32) {
	k := &w.Works[i]
	source := w.source(k)
	given, form, names := source.Tasks, k.Current, w.setNames(k, k.Current)
	k.Tasks = w.newTasks(len(given))
	for t := range given {
		task := &given[t]
		if at := int16(source.FormOf(*task)); at != form {
			form, names = at, w.setNames(k, at)
		}
		h := cluster.Holding{Work: i, Form: form, Phase: cluster.Phase(task.Phase), Since: micros(task.Since), Begun: task.hasBegun()}
		h.Set = int32(slices.Index(names, task.PodSet))
		h.Index, h.Node = int32(task.Index), w.nodeID[task.Node]
		for _, device := range task.Devices {
			h.Devices |= 1 << device
		}
		k.Tasks[t] = h
	}
	slices.SortFunc(k.Tasks, func(a, b cluster.Holding) int {
		return cmp.Or(w.CompareNodes(a.Node, b.Node), cmp.Compare(a.Set, b.Set),
			cmp.Compare(a.Index, b.Index), cmp.Compare(a.Phase, b.Phase))
	})
}

// newRare is what the workload has that few have; its forms and tasks are to come.
func (w *world) newRare(given *Workload) *cluster.Rare {
	owner, owned := w.owners[given.Owner]
	if owned = owned && given.Owner != ""; !owned {
		owner = none
	}
	if !owned && len(given.Tasks)+len(given.Alternatives) == 0 && given.Checkpoint.IsZero() && given.PartialSince.IsZero() && !w.isEarly(given) && given.Deadline == (Deadline{}) {
		return cluster.Nothing
	}
	if len(w.rare) == 0 {
		w.rare = make([]cluster.Rare, 256)
	}
	out := &w.rare[0]
	w.rare = w.rare[1:]
	*out = cluster.Rare{Checkpoint: micros(given.Checkpoint), PartialSince: micros(given.PartialSince), Owner: owner, NotBefore: -1}
	if w.isEarly(given) {
		out.NotBefore = micros(w.notBefore(given))
	}
	if given.Deadline != (Deadline{}) {
		out.Due = given.Deadline.latestStart(w.timesInFirst(given)) - cluster.Never
	}
	return out
}

// newTasks cuts n holdings from an arena.
func (w *world) newTasks(n int) []cluster.Holding {
	if len(w.tasks) < n {
		w.tasks = make([]cluster.Holding, max(n, 1024))
	}
	out := w.tasks[:n:n]
	w.tasks = w.tasks[n:]
	return out
}

// leafOf is the queue of a form of the workload: that which the form names, or the workload's.
func (w *world) leafOf(k *Workload, queue string) cluster.Leaf {
	at, ok := w.leaf[cmp.Or(queue, k.Queue)]
	if !ok && len(w.pools) > 1 { // the implicit queue of a pool without queues
		at.Pool = w.poolID[k.Pool]
	}
	return at
}

// kindOf is the kind of the own form of a work; none where few are read.
func (w *world) kindOf(i int32, own *Form) int32 {
	switch {
	case w.kinds == nil:
		return none
	case w.kinds.own == nil:
		return w.kinds.of(own)
	}
	return w.kinds.own[i]
}

// compileForm compiles one form, which is of a kind, in the pool of its queue.
func (w *world) compileForm(k *Workload, given *Form, kind int32) (cluster.Form, error) {
	at := w.leafOf(k, given.Queue)
	if !w.foresees && w.isEarly(k) {
		given, kind = given.notSubmitted(), none
	}
	c := &w.forms[at.Pool]
	out := cluster.Form{Pool: at.Pool, Queue: at.Queue}
	out.Priority, out.NonPreemptible = c.pool.given.standing(k)
	out.Final = c.pool.given.ends(k)
	var err error
	if c.times = cluster.Unknown; w.foresees || c.pool.Policy.Reserve.Depth > 0 || len(c.pool.Reserved) > 0 {
		c.times = c.pool.timesOf(k, given, at.Queue)
	}
	if c.stranger, c.closed = nil, nil; len(c.pool.Reserved) > 0 {
		c.stranger = c.pool.strangerTo(w.state, k.ID, at.Queue)
		now := max(w.Now, 0)
		c.closed = c.pool.ClosedTo(nil, c.stranger, out.NonPreemptible, true, now, cluster.TimeAfter(now, c.pool.Most(&c.times, 0)))
	}
	out.Definition, err = c.defineAlike(at.Queue, k.Strategy, given, kind)
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
	shapes  []*cluster.Shape
	// Of the form at hand: how long it takes, what it is no member of, and what of that is
	// closed to it now (B9).
	times            cluster.Times
	stranger, closed []int32
}

// A defined is the definition that forms of a kind had last: those of the kind that follow have it, too, where
// all is as it was. What people reserve depends on whose they are.
type defined struct {
	pool, set  int32
	strategy   placement.Strategy
	times      cluster.Times
	definition int32 // plus one; 0 is none
}

// defineAlike is define, where no form of the kind has been defined right so.
func (c *formCompiler) defineAlike(q int32, own placement.Strategy, given *Form, kind int32) (definition int32, err error) {
	if kind == none || len(c.pool.Reserved) > 0 {
		return c.define(q, own, given)
	}
	for int(kind) >= len(c.world.defined) {
		c.world.defined = append(c.world.defined, defined{})
	}
	last := &c.world.defined[kind]
	as := defined{c.index, c.pool.NodeSet[q], own, c.times, last.definition}
	if last.definition == 0 || *last != as {
		if definition, err = c.define(q, own, given); err != nil {
			return 0, err
		}
		as.definition = definition + 1
		*last = as
	}
	return last.definition - 1, nil
}

// define interns the definition of a form: equal pod sets and groups, on equal
// node sets by equal strategies, are compiled once.
func (c *formCompiler) define(q int32, own placement.Strategy, given *Form) (int32, error) {
	p, sets, groups := c.pool, given.PodSets, given.Groups
	c.shapes = c.shapes[:0]
	c.key = c.key[:0]
	timeless := 0 // where what is asked begins in the key, whatever time it takes
	if c.times != cluster.Unknown {
		const timed = 255 // no strategy
		c.key = append(c.key, timed)
		for _, one := range [...]int64{c.times.Duration, c.times.Limit, c.times.Least, c.times.Rest} {
			c.key = binary.AppendVarint(c.key, one)
		}
		if c.key = append(c.key, 0); c.times.Fixed {
			c.key[len(c.key)-1] = 1
		}
		timeless = len(c.key)
	}
	c.key = binary.AppendUvarint(append(c.key, byte(own)), uint64(len(sets)))
	c.key = binary.AppendUvarint(c.key, uint64(len(c.stranger)))
	for _, i := range c.stranger {
		c.key = binary.AppendUvarint(c.key, uint64(i))
	}
	c.key = appendTopology(c.key, &given.Topology)
	for i := range sets {
		set := &sets[i]
		shape := c.shape(p.NodeSet[q], &set.Request)
		c.shapes = append(c.shapes, shape)
		c.key = binary.AppendUvarint(c.key, uint64(shape.Placed))
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
	known := int32(len(p.Definitions))
	if like, ok := p.timeless[string(c.key[timeless:])]; ok {
		p.Definitions = append(p.Definitions, p.Definitions[like].Lasting(c.times))
		p.setNames = append(p.setNames, p.setNames[like])
	} else {
		d, err := c.newDefinition(own, given)
		if err != nil {
			return 0, err
		}
		p.Definitions = append(p.Definitions, d)
		p.timeless[string(c.key[timeless:])] = known
	}
	p.interned[string(c.key)] = known
	return known, nil
}

func (c *formCompiler) newDefinition(own placement.Strategy, given *Form) (cluster.Definition, error) {
	p, sets, groups := c.pool, given.PodSets, given.Groups
	d := cluster.Definition{
		Sets:  make([]cluster.Shape, len(sets)),
		Times: c.times, Stranger: c.stranger,
		Counts: make([]int32, len(sets)),
		Place:  gang.Strategies{GPU: p.given.GPUStrategy, CPUOnly: p.given.CPUStrategy},
	}
	if own != 0 {
		d.Place = gang.Strategies{GPU: own, CPUOnly: own}
		p.follow(own)
	}
	compiled, names := make([]gang.Set, len(sets)), make([]string, len(sets))
	group := groupIndices(groups)
	for i := range sets {
		set := &sets[i]
		names[i], d.Counts[i], d.Sets[i] = set.Name, int32(set.Count), *c.shapes[i]
		d.GPU = d.GPU || d.Sets[i].GPUs > 0
		compiled[i] = c.compileSet(set, &d.Sets[i], group)
		if set.Step == gang.Halving {
			d.Lowest = compiled[i].Min
			ladder := gang.Ladder(compiled[i].Min, compiled[i].Count)
			compiled[i].Min = ladder[len(ladder)-1]
			d.Ladder = slices.DeleteFunc(ladder, func(n int32) bool { return n > compiled[i].Submitted })
		}
	}
	nested := make([]gang.Group, len(groups))
	for i := range groups {
		nested[i] = gang.Group{Parent: group[groups[i].Parent] - 1, Min: int32(groups[i].Min), Constraint: c.world.constraint(&groups[i].Topology)}
	}
	d.Unsure = len(sets) > 1 || len(groups) > 0 || p.Classed()
	for i := range d.Sets {
		r := &d.Sets[i].Request
		d.Elastic = d.Elastic || len(groups) > 0 || compiled[i].Submitted > compiled[i].Min
		d.Unsure = d.Unsure || r.Devices > 1 && (r.Memory > 0 || r.Milli < cluster.WholeDevice)
	}
	d.Constrained = constrained(&given.Topology, sets, groups)
	p.Domains = p.Domains || d.Constrained
	p.Constrained = p.Constrained || d.Constrained || slices.ContainsFunc(d.Sets, func(s cluster.Shape) bool {
		return s.Request.Island != 0 || s.Request.PreferIsland != 0
	})
	var err error
	if d.Gang, err = gang.NewWithin(c.world.constraint(&given.Topology), compiled, nested); err != nil {
		return d, err
	}
	none := make([]int32, len(sets))
	if d.Unit, d.Verdict = d.Gang.First(none); d.Verdict.OK && len(d.Ladder) > 0 {
		d.Unit = gang.Unit{Add: d.Ladder[:1]} // as asked (L2)
	}
	if d.Asks, err = d.Gang.Amounts(nil, d.Unit); err != nil {
		return d, err
	}
	if p.Counted {
		d.Asks = append(d.Asks, quota.Amount{Resource: int32(len(p.resources) - 1), Value: 1})
	}
	all := gang.Unit{Add: make([]int32, len(sets))}
	for i := range compiled {
		all.Add[i] = compiled[i].Submitted
	}
	if d.Demand, err = d.Gang.Amounts(nil, all); err == nil {
		d.Demand, err = d.AddClasses(d.Demand, all)
	}
	d.Part = p.partOf(d.Sets, all.Add)
	p.setNames = append(p.setNames, names)
	return d, err
}

// compileSet compiles one pod set.
func (c *formCompiler) compileSet(set *PodSet, shape *cluster.Shape, group map[string]int32) gang.Set {
	return gang.Set{
		Shape:      shape.Placed,
		Devices:    shape.GPUs,
		Amounts:    shape.Charge,
		Count:      int32(set.Count),
		Min:        int32(cmp.Or(set.Min, set.Count)),
		Submitted:  int32(set.Count - set.Missing),
		Parent:     group[set.Group] - 1,
		Constraint: c.world.constraint(&set.Topology),
	}
}

// groupIndices are by name where a group stands in the list, plus one.
func groupIndices(groups []Group) map[string]int32 {
	if len(groups) == 0 {
		return nil
	}
	out := make(map[string]int32, len(groups))
	for i := range groups {
		out[groups[i].Name] = int32(i) + 1
	}
	return out
}

// shape interns a request on a set of nodes.
func (c *formCompiler) shape(set int32, r *Request) *cluster.Shape {
	p := c.pool
	c.encode(set, r)
	if known, ok := p.requests[string(c.request)]; ok {
		return known
	}
	out := &cluster.Shape{Request: c.asked(r)}
	out.Request.Set, out.Request.Closed = set, c.closed
	if len(r.Selector.Labels)+len(r.Selector.Expressions) > 0 {
		out.Request.Selector = &r.Selector
	}
	out.Request.Tolerations = r.Tolerations
	out.GPUs = out.Request.Devices
	if out.GPUs > 0 {
		out.Charge = append(out.Charge, quota.Amount{Resource: 0, Value: int64(out.GPUs) * p.milliOf(&r.GPU)})
	}
	out.Charge = append(out.Charge, c.amounts...)
	out.Classes = c.world.classesOf(p, r, out.Charge)
	out.Placed = p.Index.Shape(out.Request)
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
		out.Milli = cmp.Or(r.GPU.Milli, cluster.WholeDevice)
	}
	for i, a := range c.amounts { // placement counts no GPU: its indices are one lower
		out.Amounts[i] = quota.Amount{Resource: a.Resource - 1, Value: a.Value}
	}
	for _, m := range c.names {
		out.Models = append(out.Models, number(c.pool.models, m))
	}
	c.pool.ModelCount = int32(len(c.pool.models))
	return out
}

// milliOf is what the pool charges for each device of the request (F1).
func (p *pool) milliOf(g *GPURequest) int64 {
	if g.Memory == 0 || p.smallestMemory == 0 {
		return cmp.Or(g.Milli, cluster.WholeDevice)
	}
	return ceilMilli(g.Memory, p.smallestMemory)
}

// partOf is what the parts of devices come in that so many tasks of each set ask for; 0
// where the policy gives the granule (F5).
func (p *pool) partOf(sets []cluster.Shape, tasks []int32) int64 {
	if _, given := p.given.Granules[GPU]; given {
		return 0
	}
	var milli []int64
	for i := range sets {
		if gpus := sets[i].GPUs; gpus > 0 && tasks[i] > 0 {
			milli = append(milli, sets[i].Charge[0].Value/int64(gpus)) // GPUs are charged first
		}
	}
	return division.PartOf(milli...)
}

// ceilMilli is ⌈1000 × part / whole⌉ without overflow for amounts up to
// [MaxAmount].
func ceilMilli(part, whole int64) int64 {
	quotient, rest := part/whole, part%whole
	return quotient*cluster.WholeDevice + (rest*cluster.WholeDevice+whole-1)/whole
}

// encode writes the request on the set of nodes as bytes that are equal exactly
// for requests that ask the same.
func (c *formCompiler) encode(set int32, r *Request) {
	b := binary.AppendUvarint(binary.AppendVarint(c.request[:0], int64(set)), uint64(len(c.closed)))
	for _, one := range c.closed {
		b = binary.AppendUvarint(b, uint64(one))
	}
	b = c.encodeAsked(b, r)
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

	for _, n := range [...]int64{int64(r.GPU.devices()), r.GPU.Milli % cluster.WholeDevice, r.GPU.Memory, r.GPU.MinMemory, int64(r.GPU.Island)<<8 | int64(r.GPU.PreferIsland)} {
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
