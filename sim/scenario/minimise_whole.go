package scenario

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// What goes with something else: a state has references, and what they lead to
// cannot go alone.

// dropIDs drops the entries with one of the IDs.
func dropIDs[T any](list *[]T, ids []string, id func(*T) string) bool {
	before := len(*list)
	*list = slices.DeleteFunc(*list, func(e T) bool { return slices.Contains(ids, id(&e)) })
	return len(*list) < before
}

func dropWorkloads(s *allot.State, ids []string) bool {
	return dropIDs(&s.Workloads, ids, workloadID)
}

func dropBudgets(s *allot.State, owners []string) bool {
	return dropIDs(&s.Budgets, owners, budgetOwner)
}

func dropReservations(s *allot.State, ids []string) bool {
	return dropIDs(&s.Reservations, ids, reservationID)
}

// dropNodes drops nodes with the tasks on them.
func dropNodes(s *allot.State, ids []string) bool {
	gone := func(id string) bool { return slices.Contains(ids, id) }
	for i := range s.Pools {
		s.Pools[i].Nodes.IDs = slices.DeleteFunc(s.Pools[i].Nodes.IDs, gone)
	}
	for i := range s.Queues {
		s.Queues[i].Nodes.IDs = slices.DeleteFunc(s.Queues[i].Nodes.IDs, gone)
	}
	for i := range s.Workloads {
		dropTasks(&s.Workloads[i], func(t *allot.Task) bool { return gone(t.Node) })
	}
	for i := range s.Reservations {
		r := &s.Reservations[i]
		r.Nodes = slices.DeleteFunc(r.Nodes, func(n allot.ReservedNode) bool { return gone(n.Node) })
	}
	s.Reservations = slices.DeleteFunc(s.Reservations, func(r allot.Reservation) bool { return len(r.Nodes)+len(r.Domains) == 0 })
	return dropIDs(&s.Nodes, ids, nodeID)
}

// dropSlice drops nodes with the workloads that have tasks there: of a full
// cluster the rest is as full as it was.
func dropSlice(s *allot.State, ids []string) bool {
	before := len(s.Workloads)
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool {
		return slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return slices.Contains(ids, t.Node) })
	})
	return len(s.Workloads) < before && dropNodes(s, ids)
}

func dropTasks(w *allot.Workload, which func(*allot.Task) bool) bool {
	before := len(w.Tasks)
	w.Tasks = slices.DeleteFunc(w.Tasks, func(t allot.Task) bool { return which(&t) })
	if len(w.Tasks) == 0 {
		w.Form, w.PartialSince = 0, time.Time{}
	}
	if !slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase == allot.Terminating }) {
		w.LeavingForm = quota.Bound{}
	}
	return len(w.Tasks) < before
}

// dropQueues drops queues with all below them and in them.
func dropQueues(s *allot.State, ids []string) bool {
	gone := slices.Clone(ids)
	for grown := true; grown; {
		grown = false
		for i := range s.Queues {
			if q := &s.Queues[i]; q.Parent != "" && slices.Contains(gone, q.Parent) && !slices.Contains(gone, q.ID) {
				gone, grown = append(gone, q.ID), true
			}
		}
	}
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return w.Queue != "" && slices.Contains(gone, w.Queue) })
	for i := range s.Workloads {
		w := &s.Workloads[i]
		for f := len(w.Alternatives) - 1; f >= 0; f-- {
			if queue := w.Alternatives[f].Queue; queue != "" && slices.Contains(gone, queue) {
				dropForm(w, f)
			}
		}
	}
	s.Reservations = slices.DeleteFunc(s.Reservations, func(r allot.Reservation) bool { return r.Queue != "" && slices.Contains(gone, r.Queue) })
	return dropIDs(&s.Queues, gone, queueID)
}

// dropForm drops an alternative, with the tasks if they are of it.
func dropForm(w *allot.Workload, f int) bool {
	if f >= len(w.Alternatives) {
		return false
	}
	w.Alternatives = slices.Delete(w.Alternatives, f, f+1)
	dropTasks(w, func(t *allot.Task) bool { return w.FormOf(*t) == f+1 })
	if w.Form == f+1 { // what is left of it leaves another
		w.Form, w.LeavingForm, w.PartialSince = int(w.LeavingForm.Amount()), quota.Bound{}, time.Time{}
	}
	if w.Form > f+1 {
		w.Form--
	}
	if leaving := w.LeavingForm.Amount(); leaving > int64(f+1) {
		w.LeavingForm = quota.Of(leaving - 1)
	}
	return true
}

// onlyForm has the workload have no form but an alternative, with the tasks if
// they are of it.
func onlyForm(w *allot.Workload, f int) bool {
	if f >= len(w.Alternatives) {
		return false
	}
	form := w.Alternatives[f]
	dropTasks(w, func(t *allot.Task) bool { return w.FormOf(*t) != f+1 })
	if w.Form != f+1 {
		w.PartialSince = time.Time{}
	}
	w.LeavingForm = quota.Bound{}
	if form.Queue != "" {
		w.Queue = form.Queue
	}
	w.Form, w.PodSets, w.Groups, w.Topology, w.Alternatives = 0, form.PodSets, form.Groups, form.Topology, nil
	return true
}

// dropPools drops pools with their queues and what is in them.
func dropPools(s *allot.State, ids []string) bool {
	var queues []string
	for i := range s.Queues {
		if q := &s.Queues[i]; q.Pool != "" && slices.Contains(ids, q.Pool) {
			queues = append(queues, q.ID)
		}
	}
	dropQueues(s, queues)
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return w.Pool != "" && slices.Contains(ids, w.Pool) })
	return dropIDs(&s.Pools, ids, poolID)
}

// wholeSteps are the steps that take away one thing with what refers to it, or
// put something simpler in its place, for a state of this size.
func wholeSteps(s *allot.State) (steps []step) {
	steps = append(topologySteps(s), trying(noQueues), trying(noWeights), trying(noModels))
	for _, id := range idsOf(s.Queues, queueID) {
		steps = append(steps, trying(func(s *allot.State) bool { return liftQueue(s, id) }))
	}
	for _, name := range resourceNames(s) {
		steps = append(steps, trying(func(s *allot.State) bool { return dropResource(s, name) }))
	}
	for i := range s.Nodes {
		id := s.Nodes[i].ID
		for d := len(s.Nodes[i].Devices) - 1; d >= 0; d-- {
			steps = append(steps, trying(func(s *allot.State) bool { return dropDevice(s, id, d) }))
		}
	}
	for i := range s.Workloads {
		steps = append(steps, workloadSteps(&s.Workloads[i])...)
	}
	return steps
}

// noQueues leaves the queue that is there without queues.
func noQueues(s *allot.State) bool {
	changed := len(s.Queues) > 0
	s.Queues = nil
	s.Reservations = slices.DeleteFunc(s.Reservations, func(r allot.Reservation) bool { return r.Queue != "" })
	for i := range s.Workloads {
		s.Workloads[i].Queue = ""
		for f := range s.Workloads[i].Alternatives {
			s.Workloads[i].Alternatives[f].Queue = ""
		}
	}
	return changed
}

// noWeights has all queues weigh by their quota: siblings give all a weight, or
// none does (F4).
func noWeights(s *allot.State) (changed bool) {
	for i := range s.Queues {
		for r := range s.Queues[i].Resources {
			weight := &s.Queues[i].Resources[r].Weight
			changed = changed || weight.Given()
			*weight = quota.Bound{}
		}
	}
	return changed
}

// noModels makes all devices of one model, and requests without changed.
func noModels(s *allot.State) (changed bool) {
	for i := range s.Nodes {
		for d := range s.Nodes[i].Devices {
			device := &s.Nodes[i].Devices[d]
			changed = changed || device.Model != ""
			device.Model = ""
		}
	}
	eachRequest(s, func(r *allot.Request) {
		changed = changed || len(r.GPU.Models) > 0
		r.GPU.Models = nil
	})
	return changed
}

// eachRequest visits all requests of a state.
func eachRequest(s *allot.State, visit func(*allot.Request)) {
	for i := range s.Workloads {
		w := &s.Workloads[i]
		for f := range 1 + len(w.Alternatives) {
			for p := range podSets(w, f) {
				visit(&podSets(w, f)[p].Request)
			}
		}
	}
	for i := range s.Pools {
		for m := range s.Pools[i].Policy.Scoring.Mix {
			visit(&s.Pools[i].Policy.Scoring.Mix[m].Request)
		}
	}
}

// podSets are those of a form.
func podSets(w *allot.Workload, form int) []allot.PodSet {
	switch {
	case form == 0:
		return w.PodSets
	case form <= len(w.Alternatives):
		return w.Alternatives[form-1].PodSets
	}
	return nil
}

// liftQueue takes a queue out of the tree: what is below it or in it comes to
// stand where it stood.
func liftQueue(s *allot.State, id string) bool {
	i := slices.IndexFunc(s.Queues, func(q allot.Queue) bool { return q.ID == id })
	if i < 0 {
		return false
	}
	parent := s.Queues[i].Parent
	s.Queues = slices.Delete(s.Queues, i, i+1)
	for j := range s.Queues {
		if s.Queues[j].Parent == id {
			s.Queues[j].Parent = parent
		}
	}
	for j := range s.Workloads {
		w := &s.Workloads[j]
		if w.Queue == id {
			w.Queue = parent
		}
		for f := range w.Alternatives {
			if w.Alternatives[f].Queue == id {
				w.Alternatives[f].Queue = parent
			}
		}
	}
	return true
}

// resourceNames are those of all resources but GPU that something asks, sorted.
func resourceNames(s *allot.State) (names []string) {
	eachRequest(s, func(r *allot.Request) { names = append(names, sortedKeys(r.Resources)...) })
	slices.Sort(names)
	return slices.Compact(names)
}

// dropResource has nobody ask for a resource, own or be given changed of it.
func dropResource(s *allot.State, name string) bool {
	for i := range s.Nodes {
		delete(s.Nodes[i].Capacity, name)
		delete(s.Nodes[i].Foreign, name)
	}
	for i := range s.Pools {
		delete(s.Pools[i].Policy.Granules, name)
	}
	for i := range s.Queues {
		s.Queues[i].Resources = slices.DeleteFunc(s.Queues[i].Resources, func(r allot.QueueResource) bool { return r.Resource == name })
	}
	changed := false
	eachRequest(s, func(r *allot.Request) {
		_, asked := r.Resources[name]
		changed = changed || asked
		delete(r.Resources, name)
	})
	return changed
}

// dropDevice drops a device that no task uses; those behind it get other
// indices.
func dropDevice(s *allot.State, node string, device int) bool {
	i := slices.IndexFunc(s.Nodes, func(n allot.Node) bool { return n.ID == node })
	if i < 0 || device >= len(s.Nodes[i].Devices) {
		return false
	}
	s.Nodes[i].Devices = slices.Delete(s.Nodes[i].Devices, device, device+1)
	dropLinks(&s.Nodes[i], device)
	for w := range s.Workloads {
		for t := range s.Workloads[w].Tasks {
			task := &s.Workloads[w].Tasks[t]
			if task.Node != node {
				continue
			}
			for d := range task.Devices {
				switch {
				case task.Devices[d] == device:
					return false
				case task.Devices[d] > device:
					task.Devices[d]--
				}
			}
		}
	}
	return true
}

// workloadSteps are those that change a workload and its tasks together.
func workloadSteps(w *allot.Workload) (steps []step) {
	id := w.ID
	with := func(change func(*allot.Workload) bool) step {
		return trying(func(s *allot.State) bool {
			i := slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })
			return i >= 0 && change(&s.Workloads[i])
		})
	}
	steps = append(steps, with(func(w *allot.Workload) bool { return dropTasks(w, func(*allot.Task) bool { return true }) }))
	for f := len(w.Alternatives) - 1; f >= 0; f-- {
		steps = append(steps, with(func(w *allot.Workload) bool { return onlyForm(w, f) }))
		steps = append(steps, with(func(w *allot.Workload) bool { return dropForm(w, f) }))
	}
	for f := range 1 + len(w.Alternatives) {
		for p := len(podSets(w, f)) - 1; p >= 0; p-- {
			steps = append(steps, with(func(w *allot.Workload) bool { return dropPodSet(w, f, p) }))
			steps = append(steps, func(m *minimiser) bool {
				return m.lower(countOf(&m.state, id, f, p), lowerCounts, func(s *allot.State, n int64) bool { return setCount(s, id, f, p, int(n)) })
			})
			steps = append(steps, func(m *minimiser) bool {
				return m.lower(gpusOf(&m.state, id, f, p), lowerCounts, func(s *allot.State, n int64) bool { return setGPUs(s, id, f, p, int(n)) })
			})
			steps = append(steps, with(func(w *allot.Workload) bool { return wholeGPUs(w, f, p) }))
		}
	}
	return steps
}

// dropPodSet drops a pod set with its tasks.
func dropPodSet(w *allot.Workload, form, p int) bool {
	sets := podSets(w, form)
	if len(sets) < 2 || p >= len(sets) {
		return false
	}
	name := sets[p].Name
	sets = slices.Delete(sets, p, p+1)
	if form == 0 {
		w.PodSets = sets
	} else {
		w.Alternatives[form-1].PodSets = sets
	}
	dropTasks(w, func(t *allot.Task) bool { return w.FormOf(*t) == form && t.PodSet == name })
	return true
}

// podSetOf is a pod set and its workload, nil if there is none changed more.
func podSetOf(s *allot.State, id string, form, p int) (*allot.Workload, *allot.PodSet) {
	i := slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })
	if i < 0 {
		return nil, nil
	}
	sets := podSets(&s.Workloads[i], form)
	if p >= len(sets) {
		return nil, nil
	}
	return &s.Workloads[i], &sets[p]
}

func countOf(s *allot.State, id string, form, p int) int64 {
	if _, set := podSetOf(s, id, form, p); set != nil {
		return int64(set.Count)
	}
	return 0
}

// setCount sets the number of tasks; those beyond it are gone.
func setCount(s *allot.State, id string, form, p, n int) bool {
	w, set := podSetOf(s, id, form, p)
	if set == nil {
		return false
	}
	set.Count, set.Min, set.Missing = n, min(set.Min, n), min(set.Missing, n)
	dropTasks(w, func(t *allot.Task) bool { return w.FormOf(*t) == form && t.PodSet == set.Name && t.Index >= n })
	return true
}

func gpusOf(s *allot.State, id string, form, p int) int64 {
	if _, set := podSetOf(s, id, form, p); set != nil {
		return int64(set.Request.GPU.Count)
	}
	return 0
}

// setGPUs sets the number of devices of each task; tasks keep their first ones.
func setGPUs(s *allot.State, id string, form, p, n int) bool {
	w, set := podSetOf(s, id, form, p)
	if set == nil {
		return false
	}
	set.Request.GPU.Count = n
	for i := range w.Tasks {
		if t := &w.Tasks[i]; w.FormOf(*t) == form && t.PodSet == set.Name {
			t.Devices = t.Devices[:min(n, len(t.Devices))]
		}
	}
	return true
}

// wholeGPUs asks for whole devices in place of parts.
func wholeGPUs(w *allot.Workload, form, p int) bool {
	sets := podSets(w, form)
	if p >= len(sets) {
		return false
	}
	g := &sets[p].Request.GPU
	if g.Milli == 0 && g.Memory == 0 {
		return false
	}
	g.Count, g.Milli, g.Memory = max(1, g.Count), 0, 0
	return true
}
