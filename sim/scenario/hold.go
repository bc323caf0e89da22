package scenario

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
)

// hold gives places to tasks of the workload: those that the seats name, or
// without seats its first tasks, each on the first node that takes it.
func (w *world) hold(st statement, target *allot.Workload, since time.Time, order holdOrder) error {
	if order.since != nil {
		since = *order.since
	}
	if order.form < 0 || order.form > len(target.Alternatives) {
		return st.command.errorf("workload %q has no form %d", target.ID, order.form)
	}
	target.Form = order.form
	seats := order.seats
	if len(seats) == 0 {
		count := tasksWithoutPlace(target, order)
		if count > maxRange {
			return st.command.errorf("workload %q has more than %d tasks to place", target.ID, maxRange)
		}
		seats = slices.Repeat([]seat{{word: st.args[0]}}, count)
	}
	var listed tasksListed
	for _, t := range target.Tasks {
		if target.FormOf(t) == target.FormOf(allot.Task{Phase: order.phase}) {
			listed.add(t.PodSet, t.Index)
		}
	}
	for _, s := range seats {
		task, request, err := nextTask(target, order.phase, s, &listed)
		if err != nil {
			return err
		}
		task.Phase, task.Since, task.Started = order.phase, since, order.started
		task.Until = order.until
		if err := w.seat(&task, target, request, s); err != nil {
			return err
		}
		target.Tasks = append(target.Tasks, task)
		listed.add(task.PodSet, task.Index)
	}
	return nil
}

// form is the pod sets of the workload's current form, or of that which its tasks of
// the phase leave.
func form(target *allot.Workload, phase allot.Phase) []allot.PodSet {
	at := target.FormOf(allot.Task{Phase: phase})
	if at <= 0 || at > len(target.Alternatives) {
		return target.PodSets
	}
	return target.Alternatives[at-1].PodSets
}

// tasksWithoutPlace counts them, at most 'only' if that is given; one more than
// maxRange stands for any larger number.
func tasksWithoutPlace(target *allot.Workload, order holdOrder) int {
	count := 0
	for _, set := range form(target, order.phase) {
		count += min(max(0, max(0, set.Count)-max(0, set.Missing)), maxRange+1)
	}
	for _, t := range target.Tasks {
		if target.FormOf(t) == target.FormOf(allot.Task{Phase: order.phase}) {
			count--
		}
	}
	if order.only >= 0 {
		count = min(count, order.only)
	}
	return min(max(0, count), maxRange+1)
}

// nextTask is the task that a seat is for: the one it names, or the first
// that is not listed yet.
func nextTask(target *allot.Workload, phase allot.Phase, s seat, listed *tasksListed) (allot.Task, allot.Request, error) {
	sets := form(target, phase)
	for _, set := range sets {
		if s.named && set.Name != s.podSet {
			continue
		}
		index := s.index
		if !s.indexed {
			index = listed.next(set.Name)
			if index >= set.Count && !s.named && len(sets) > 1 {
				continue // the next set
			}
		}
		return allot.Task{PodSet: set.Name, Index: index}, set.Request, nil
	}
	if s.named {
		return allot.Task{}, allot.Request{}, s.errorf("workload %q has no pod set %q", target.ID, s.podSet)
	}
	return allot.Task{}, allot.Request{}, s.errorf("every task of %q has a place already", target.ID)
}

// tasksListed knows which tasks have been listed, to tell the first that has
// not. The zero value has none.
type tasksListed map[string]*listedSet

type listedSet struct {
	seen map[int]bool
	next int // every index below has been seen
}

func (l *tasksListed) set(name string) *listedSet {
	if *l == nil {
		*l = tasksListed{}
	}
	if (*l)[name] == nil {
		(*l)[name] = &listedSet{seen: map[int]bool{}}
	}
	return (*l)[name]
}

func (l *tasksListed) add(set string, index int) {
	s := l.set(set)
	s.seen[index] = true
	for s.seen[s.next] {
		s.next++
	}
}

// next is the first index of the set that has not been listed.
func (l *tasksListed) next(set string) int { return l.set(set).next }

// seat puts the task where the seat says; what it leaves open becomes the
// first node, in the order of the state, and the lowest devices that are free.
func (w *world) seat(task *allot.Task, target *allot.Workload, request allot.Request, s seat) error {
	task.Node, task.Devices = s.node, s.devices
	switch {
	case s.exact:
		return nil
	case s.node != "":
		n := w.node(s.node)
		if n == nil {
			return s.errorf("there is no node %q", s.node)
		}
		devices, ok := w.freeDevices(n, request.GPU, task.Phase)
		if !ok {
			return s.errorf("node %q has not the devices free that %q asks", s.node, target.ID)
		}
		task.Devices = devices
		return nil
	}
	for i := range w.state.Nodes {
		n := &w.state.Nodes[i]
		if !w.mayUse(n, target) || !w.hasRoom(n, request, task.Phase) {
			continue
		}
		if devices, ok := w.freeDevices(n, request.GPU, task.Phase); ok {
			task.Node, task.Devices = n.ID, devices
			return nil
		}
	}
	return s.errorf("no node takes task %d of %q", task.Index, target.ID)
}

// mayUse reports whether the node is sound and the workload's pool and queues
// have it.
func (w *world) mayUse(n *allot.Node, target *allot.Workload) bool {
	if n.Lost || n.Cordoned {
		return false
	}
	pool := target.Pool
	queue := target.Queue
	if target.Form > 0 && target.Alternatives[target.Form-1].Queue != "" {
		queue = target.Alternatives[target.Form-1].Queue
	}
	for range w.state.Queues { // at most one step per queue, should there be a cycle
		q := w.queue(queue)
		if q == nil {
			break
		}
		if !inNodeSet(q.Nodes, n) {
			return false
		}
		if q.Pool != "" {
			pool = q.Pool
		}
		queue = q.Parent
	}
	if pool == "" && len(w.state.Pools) == 1 {
		pool = w.state.Pools[0].ID
	}
	p := w.pool(pool)
	return p == nil || inNodeSet(p.Nodes, n)
}

func inNodeSet(set allot.NodeSet, n *allot.Node) bool {
	if set.Selector == nil {
		return len(set.IDs) == 0 || slices.Contains(set.IDs, n.ID)
	}
	return slices.Contains(set.IDs, n.ID) || set.Selector.Matches(n.Labels)
}

// hasRoom reports whether the node takes the task but for its devices.
func (w *world) hasRoom(n *allot.Node, request allot.Request, phase allot.Phase) bool {
	if !request.Selector.Matches(n.Labels) {
		return false
	}
	for _, taint := range n.Taints {
		if taint.TurnsAway(request.Tolerations) {
			return false
		}
	}
	slots := n.MaxTasks - n.ForeignTasks
	room := map[string]int64{}
	for resource := range request.Resources { // each by itself: the order cannot matter
		room[resource] = n.Capacity[resource] - n.Foreign[resource]
	}
	w.eachHolder(n, phase, func(_ allot.Task, held allot.Request) {
		slots--
		for resource := range room { // each by itself: the order cannot matter
			room[resource] -= held.Resources[resource]
		}
	})
	for resource, asked := range request.Resources { // all must hold: the order cannot matter
		if room[resource] < asked {
			return false
		}
	}
	return n.MaxTasks == 0 || slots > 0
}

// eachHolder calls f for the tasks on the node that a task of the phase must
// not overlap: a claim may overlap what is leaving (S4).
func (w *world) eachHolder(n *allot.Node, phase allot.Phase, f func(allot.Task, allot.Request)) {
	for i := range w.state.Workloads {
		o := &w.state.Workloads[i]
		for _, t := range o.Tasks {
			if t.Node != n.ID || phase == allot.Claimed && t.Phase == allot.Terminating {
				continue
			}
			for _, set := range form(o, t.Phase) {
				if set.Name == t.PodSet {
					f(t, set.Request)
				}
			}
		}
	}
}

// freeDevices is the lowest devices of one model that take what is asked;
// false if there are none.
func (w *world) freeDevices(n *allot.Node, g allot.GPURequest, phase allot.Phase) ([]int, bool) {
	count := g.Count
	if count == 0 && (g.Milli != 0 || g.Memory != 0) {
		count = 1
	}
	if count == 0 {
		return nil, true
	}
	free := make([]int64, len(n.Devices)) // in thousandths of a byte of each device
	for i, d := range n.Devices {
		free[i] = (1000 - d.Foreign) * max(1, d.Memory)
	}
	w.eachHolder(n, phase, func(t allot.Task, held allot.Request) {
		for _, index := range t.Devices {
			if index < len(free) {
				free[index] -= portion(n.Devices[index], held.GPU)
			}
		}
	})
	for first, d := range n.Devices {
		var found []int
		for i := first; i < len(n.Devices) && len(found) < count; i++ {
			if n.Devices[i].Model == d.Model && accepts(n.Devices[i], g) && free[i] >= portion(n.Devices[i], g) {
				found = append(found, i)
			}
		}
		if len(found) == count {
			return found, true
		}
	}
	return nil, false
}

// accepts reports whether the request may use such a device.
func accepts(d allot.Device, g allot.GPURequest) bool {
	if d.Unhealthy || d.Memory < g.MinMemory || d.Memory == 0 && g.Memory > 0 {
		return false
	}
	return len(g.Models) == 0 || slices.Contains(g.Models, d.Model)
}

// portion is what the request takes of the device, in thousandths of a byte
// of its memory, so that fractions and memory add up exactly.
func portion(d allot.Device, g allot.GPURequest) int64 {
	switch {
	case g.Memory > 0:
		return 1000 * g.Memory
	case g.Milli > 0:
		return g.Milli * max(1, d.Memory)
	}
	return 1000 * max(1, d.Memory)
}
