package allot

import (
	"strconv"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/prose"
)

func (c *checker) checkWorkloads(at *path) {
	workloads := c.workloads
	list := at.field("workloads")
	// Sorted IDs need no map, and a large host sorts.
	for i := 1; i < len(workloads); i++ {
		if workloads[i-1].ID >= workloads[i].ID {
			c.directory(&list, len(workloads), func(i int) string { return workloads[i].ID })
			break
		}
	}
	for i := range workloads {
		below := list.at(i)
		kind := c.checkWorkload(&below, workloads[i])
		if c.kinds != nil {
			c.kinds.own = append(c.kinds.own, kind)
		}
	}
	c.checkSums(&list, &c.requested, "request")
	if c.tasks > maxTasks {
		c.fault(&list, FaultTooMany, strconv.FormatInt(c.tasks, 10)+" tasks", "must have at most "+strconv.Itoa(maxTasks)+" tasks in all")
	}
	for i := range c.s.Pools {
		if p := &c.s.Pools[i]; p.MaxTasks > 0 && len(c.tasksIn) > 0 && c.tasksIn[i] > int64(p.MaxTasks) {
			c.fault(&list, FaultTooMany, strconv.FormatInt(c.tasksIn[i], 10)+" tasks", "must have at most "+strconv.Itoa(p.MaxTasks)+" tasks in pool "+strconv.QuoteToASCII(p.ID))
		}
	}
}

// countTasks counts the tasks of a workload for its pool, and checks that they are not more
// than one may have there.
func countTasks(c *checker, at *path, tasks int64, pool int32) {
	if pool == none || len(c.s.Pools) == 0 {
		return
	}
	if c.tasksIn == nil {
		c.tasksIn = make([]int64, len(c.s.Pools))
	}
	c.tasksIn[pool] += tasks
	if most := c.s.Pools[pool].MaxTasksPerWorkload; most > 0 && tasks > int64(most) {
		c.faultAt(at, "podSets", FaultTooMany, strconv.FormatInt(tasks, 10)+" tasks", "must have at most "+strconv.Itoa(most)+" tasks in all forms")
	}
}

// fewestTasks is the least of what pools let their workloads have together.
func fewestTasks(pools []Pool) int64 {
	fewest := int64(maxTasks)
	for i := range pools {
		if most := int64(pools[i].MaxTasks); most > 0 {
			fewest = min(fewest, most)
		}
	}
	return fewest
}

// checkWorkload checks a workload and returns the kind of its own form.
func (c *checker) checkWorkload(at *path, w *Workload) (kind int32) {
	c.name(at, "id", w.ID)
	before := c.tasks
	pool := c.workloadPool(at, w)
	c.priority(at, "priority", w.Priority)
	if !prose.Known(preemptionNames[:], w.Preemption) {
		unknownValue(c, at, "preemption", w.Preemption)
	}
	c.time(at, "submitted", w.Submitted)
	c.text(at, "owner", w.Owner)
	c.time(at, "checkpoint", w.Checkpoint)
	c.exitActions(at, w.ExitActions)
	c.bound(at, "retries", w.Retries)
	c.time(at, "partialSince", w.PartialSince)
	checkTimes(c, at, w)
	enum(c, at, "strategy", w.Strategy)
	c.checkClass(at, "class", w, pool)
	kind = checkAlike(c, at, &Form{PodSets: w.PodSets, Groups: w.Groups, Topology: w.Topology}, pool)
	list := at.field("alternatives")
	if len(w.Alternatives) > maxAlternatives {
		c.fault(&list, FaultTooMany, strconv.Itoa(len(w.Alternatives)), "must be at most "+strconv.Itoa(maxAlternatives))
	}
	for i := range w.Alternatives {
		form := &w.Alternatives[i]
		below := list.at(i)
		formPool := pool
		if form.Queue != "" {
			if formPool = c.leafPool(&below, form.Queue); formPool != pool {
				c.checkClass(&below, "queue", w, formPool)
			}
		}
		checkAlike(c, &below, form, formPool)
	}
	countTasks(c, at, c.tasks-before, pool)
	known := c.within(at, "form", int64(w.Form), 0, int64(len(w.Alternatives)))
	if w.LeavingForm.Given() {
		known = c.within(at, "leavingForm", w.LeavingForm.Amount(), 0, int64(len(w.Alternatives))) && known
	}
	if known && len(w.Tasks) > 0 {
		c.checkTasks(at, w)
	}
	return kind
}

// workloadPool finds the pool of a workload's own form, by its queue if it
// names one; none, with a fault, if there is none.
func (c *checker) workloadPool(at *path, w *Workload) int32 {
	if w.Queue != "" {
		pool := c.leafPool(at, w.Queue)
		if pool != none && w.Pool != "" {
			if said := c.pool(at, w.Pool); said != none && said != pool {
				c.faultAt(at, "pool", FaultWrongPool, strconv.QuoteToASCII(w.Pool), "must be the pool of its queue")
			}
		}
		return pool
	}
	pool := c.pool(at, w.Pool)
	if pool != none && c.hasQueues[pool] {
		c.faultAt(at, "queue", FaultQueueRequired, `""`, "must name a queue, as its pool has some")
	}
	return pool
}

// leafPool finds the pool of the leaf queue that the field "queue" names.
func (c *checker) leafPool(at *path, id string) int32 {
	q, ok := c.queues[id]
	if !ok {
		c.faultAt(at, "queue", FaultUnknownQueue, strconv.QuoteToASCII(id), "must name a queue")
		return none
	}
	if c.inner[q] {
		c.faultAt(at, "queue", FaultNotLeaf, strconv.QuoteToASCII(id), "must be a leaf queue, with none below it")
	}
	return c.queuePool[q]
}

// checkClass reports a class that the policy of a pool, in which one of the
// workload's forms would run, does not have. The field is where the form says
// which pool that is: an alternative has no class of its own.
func (c *checker) checkClass(at *path, field string, w *Workload, pool int32) {
	if w.Class == "" || pool == none || c.classes[pool][w.Class] {
		return
	}
	want := "must be empty, as there is no pool with classes"
	if len(c.s.Pools) > 0 {
		want = "must name a class of the policy of pool " + strconv.QuoteToASCII(c.s.Pools[pool].ID)
		if field != "class" {
			want = "must be in a pool with the workload's class"
		}
	}
	c.faultAt(at, field, FaultUnknownClass, strconv.QuoteToASCII(w.Class), want)
}

// A soundKind is a kind of forms of which one is sound that asks so much in a pool.
type soundKind struct {
	asked sums
	tasks int64
	pool  int32
	sound bool
}

// checkAlike is checkForm, where no form that is alike has been found sound in the pool, and
// returns the kind of the form; none where few forms are checked.
func checkAlike(c *checker, at *path, f *Form, pool int32) (kind int32) {
	if c.kinds == nil {
		c.checkForm(at, f, pool)
		return none
	}
	kind = c.kinds.of(f)
	if int(kind) == len(c.sound) {
		c.sound = append(c.sound, soundKind{})
	}
	known := &c.sound[kind]
	if !known.sound || known.pool != pool {
		faults, before, tasks := len(c.faults), c.requested, c.tasks
		c.requested, c.tasks = sums{}, 0
		c.checkForm(at, f, pool)
		*known = soundKind{asked: c.requested, tasks: c.tasks, pool: pool, sound: len(c.faults) == faults}
		c.requested, c.tasks = before, tasks
	}
	c.tasks += known.tasks
	for _, one := range known.asked.list {
		c.requested.of(one.name).add(int64(one.total), 1)
	}
	return kind
}

// checkForm checks what one form of a workload asks.
func (c *checker) checkForm(at *path, f *Form, pool int32) {
	sets, groups := f.PodSets, f.Groups
	c.topology(at, &f.Topology)
	list := at.field("podSets")
	if len(sets) == 0 {
		c.fault(&list, FaultEmpty, "[]", "must have at least one pod set")
	}
	for i := range sets {
		below := list.at(i)
		c.checkPodSet(&below, &sets[i], pool)
		if sets[i].Step != gang.ByOne && (len(sets) > 1 || len(groups) > 0) {
			c.faultAt(&below, "step", FaultExclusive, sets[i].Step.String(), "must be by-one where there are several pod sets or groups (L1)")
		}
	}
	if len(sets) == 1 && len(groups) == 0 {
		if sets[0].Group != "" {
			below := list.at(0)
			c.unknownGroup(&below, "group", sets[0].Group)
		}
		return
	}
	c.checkNames(at, sets, groups)
	c.checkGroups(at, sets, groups)
}

// checkNames checks that the names of the form are unique and leaves in
// c.names the index of each group by name.
func (c *checker) checkNames(at *path, sets []PodSet, groups []Group) {
	if c.names == nil {
		c.names = make(map[string]int32)
	}
	clear(c.names)
	list := at.field("podSets")
	for i := range sets {
		below := list.at(i)
		name := sets[i].Name
		if name == "" && len(sets) > 1 {
			c.faultAt(&below, "name", FaultEmpty, `""`, "must not be empty where there are several pod sets")
			continue
		}
		if first, twice := c.names[name]; twice {
			c.duplicate(&list, i, "name", name, int(first))
			continue
		}
		c.names[name] = int32(i)
	}
	list = at.field("groups")
	for i := range groups {
		below := list.at(i)
		name := groups[i].Name
		c.name(&below, "name", name)
		if name == "" {
			continue
		}
		if _, twice := c.names[name]; twice {
			c.faultAt(&below, "name", FaultDuplicate, strconv.QuoteToASCII(name), "must be the only pod set or group of this name")
		}
		c.names[name] = none
	}
	clear(c.names)
	for i := range groups {
		c.names[groups[i].Name] = int32(i)
	}
}

func (c *checker) unknownGroup(at *path, field, name string) {
	c.faultAt(at, field, FaultUnknownGroup, strconv.QuoteToASCII(name), "must name a group of the form")
}

// checkGroups checks the nesting (G3), by the groups' names in c.names.
func (c *checker) checkGroups(at *path, sets []PodSet, groups []Group) {
	children := make([]int64, len(groups))
	parent := make([]int32, len(groups))
	list := at.field("podSets")
	for i := range sets {
		below := list.at(i)
		c.joinGroup(&below, "group", sets[i].Group, children)
	}
	list = at.field("groups")
	for i := range groups {
		below := list.at(i)
		c.topology(&below, &groups[i].Topology)
		parent[i] = c.joinGroup(&below, "parent", groups[i].Parent, children)
	}
	for _, i := range cycles(parent) {
		below := list.at(int(i))
		c.faultAt(&below, "parent", FaultCycle, strconv.QuoteToASCII(groups[i].Parent), "must not lead back to the group")
	}
	for i := range groups {
		below := list.at(i)
		if children[i] == 0 {
			c.fault(&below, FaultEmpty, strconv.QuoteToASCII(groups[i].Name), "must be the group of a pod set or the parent of a group")
		}
		if c.within(&below, "min", int64(groups[i].Min), 0, maxCount) && int64(groups[i].Min) > max(1, children[i]) {
			c.faultAt(&below, "min", FaultMinAboveCount, strconv.Itoa(groups[i].Min), "must be ≤ "+strconv.FormatInt(children[i], 10)+", the number of its children")
		}
	}
}

// joinGroup counts one more child of the named group and returns its index.
func (c *checker) joinGroup(at *path, field, name string, children []int64) int32 {
	if name == "" {
		return none
	}
	i, ok := c.names[name]
	if !ok {
		c.unknownGroup(at, field, name)
		return none
	}
	children[i]++
	return i
}

// checkPodSet checks a pod set and adds what it asks in all.
func (c *checker) checkPodSet(at *path, p *PodSet, pool int32) {
	c.text(at, "name", p.Name)
	enum(c, at, "step", p.Step)
	if c.within(at, "count", int64(p.Count), 1, maxCount) {
		if p.Min > p.Count {
			c.faultAt(at, "min", FaultMinAboveCount, strconv.Itoa(p.Min), "must be ≤ "+strconv.Itoa(p.Count)+", the count")
		}
		if p.Missing > p.Count {
			c.faultAt(at, "missing", FaultMissingAboveCount, strconv.Itoa(p.Missing), "must be ≤ "+strconv.Itoa(p.Count)+", the count")
		}
		c.tasks += int64(p.Count)
	}
	if p.Min < 0 {
		c.within(at, "min", int64(p.Min), 0, maxCount)
	}
	if p.Missing < 0 {
		c.within(at, "missing", int64(p.Missing), 0, maxCount)
	}
	c.setTopology(at, p)
	below := at.field("request")
	c.checkRequest(&below, &p.Request)
	c.addRequest(&p.Request, int64(p.Count), pool)
}

func (c *checker) checkRequest(at *path, r *Request) {
	gpu := at.field("gpu")
	c.within(&gpu, "count", int64(r.GPU.Count), 0, maxCount)
	c.within(&gpu, "milli", r.GPU.Milli, 0, 1000)
	c.within(&gpu, "memory", r.GPU.Memory, 0, MaxAmount)
	c.within(&gpu, "minMemory", r.GPU.MinMemory, 0, MaxAmount)
	if r.GPU.Milli != 0 && r.GPU.Memory != 0 {
		c.faultAt(&gpu, "memory", FaultExclusive, strconv.FormatInt(r.GPU.Memory, 10), "must not be given together with milli")
	}
	c.islands(&gpu, &r.GPU)
	for i, model := range r.GPU.Models {
		if model == "" || !soundText(model) {
			list := gpu.field("models")
			below := list.at(i)
			c.checkModel(&below, model)
		}
	}
	c.amounts(at, "resources", r.Resources)
	selector := at.field("selector")
	c.selector(&selector, &r.Selector)
	for i, toleration := range r.Tolerations {
		list := at.field("tolerations")
		below := list.at(i)
		c.text(&below, "key", toleration.Key)
		c.text(&below, "value", toleration.Value)
		c.adopt(&below, FaultToleration, toleration.Validate())
	}
}

func (c *checker) checkModel(at *path, model string) {
	if model == "" {
		c.fault(at, FaultEmpty, `""`, "must not be empty")
		return
	}
	c.unsoundText(at, model)
}

// addRequest adds what count tasks ask to the sum of all workloads. Every form
// counts: that is more than can ever be used, and simple.
func (c *checker) addRequest(r *Request, count int64, pool int32) {
	for name, n := range r.Resources { // sums have no order
		c.requested.of(name).add(n, count)
	}
	devices := r.GPU.devices()
	if devices == 0 {
		return
	}
	milli := int64(cluster.WholeDevice)
	switch {
	case r.GPU.Memory > 0 && r.GPU.Memory <= MaxAmount && pool != none:
		if least := c.smallestMemory(pool); least > 0 {
			milli = ceilMilli(r.GPU.Memory, least) // F1
		}
	case r.GPU.Milli > 0 && r.GPU.Milli < cluster.WholeDevice:
		milli = r.GPU.Milli
	}
	var task total
	task.add(milli, devices)
	c.requested.of(GPU).add(int64(task), count)
}

// devices is the number of devices that one task asks: a fraction or an amount
// of memory without a count is of one.
func (g *GPURequest) devices() int64 {
	if g.Count == 0 && (g.Milli != 0 || g.Memory != 0) {
		return 1
	}
	return int64(g.Count)
}
