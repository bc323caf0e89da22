package allot

import (
	"slices"
	"strconv"

	"github.com/allotsched/allot/internal/prose"
)

// A taskID is a task within its workload: the index of the pod set, and the
// task's own.
type taskID struct{ set, index int }

// checkTasks checks the places of a workload's tasks (S4, S5) and enters what
// they hold into the ledger.
func (c *checker) checkTasks(at *path, w *Workload) {
	sets, form := w.setsOf(w.Form), w.Form
	leavesAnother := w.leavesAnother()
	list := at.field("tasks")
	set := 0
	previous := taskID{set: none}
	sorted := true
	for i := range w.Tasks {
		task := &w.Tasks[i]
		below := list.at(i)
		if at := w.FormOf(*task); at != form {
			sets, form, set, sorted = w.setsOf(at), at, 0, false
		}
		if leavesAnother && task.Phase == Running {
			c.faultAt(&below, "phase", FaultTaskPhase, task.Phase.String(), "must be claimed, as tasks of another form are leaving")
		}
		// Tasks mostly come by pod set.
		if set >= len(sets) || sets[set].Name != task.PodSet {
			set = slices.IndexFunc(sets, func(p PodSet) bool { return p.Name == task.PodSet })
		}
		if set < 0 {
			c.faultAt(&below, "podSet", FaultUnknownPodSet, strconv.QuoteToASCII(task.PodSet), "must name a pod set of the form")
			set, sorted = len(sets), false
			continue
		}
		id := taskID{set, task.Index}
		sorted = sorted && (previous.set < id.set || previous.set == id.set && previous.index < id.index)
		previous = id
		c.checkTask(&below, w, &sets[set], task)
	}
	if !sorted {
		c.checkTwice(&list, w.Tasks)
	}
}

// setsOf are the pod sets of a form.
func (k *Workload) setsOf(form int) []PodSet {
	if form > 0 {
		return k.Alternatives[form-1].PodSets
	}
	return k.PodSets
}

// leavesAnother says whether tasks of another form than Form are Terminating.
func (k *Workload) leavesAnother() bool {
	return k.LeavingForm.Given() && k.LeavingForm.Amount() != int64(k.Form) &&
		slices.ContainsFunc(k.Tasks, func(t Task) bool { return t.Phase == Terminating })
}

// checkTwice reports tasks that are listed twice, but for a task that moves: it
// leaves one place and claims another (M4). So may tasks of two forms that are
// named alike.
func (c *checker) checkTwice(list *path, tasks []Task) {
	type named struct {
		set   string
		index int
	}
	seen := make(map[named]int, len(tasks))
	moves := make(map[named]bool)
	for i := range tasks {
		id := named{tasks[i].PodSet, tasks[i].Index}
		if first, twice := seen[id]; twice {
			if !moves[id] && movesBetween(tasks[first].Phase, tasks[i].Phase) {
				moves[id] = true
				continue
			}
			here, there := list.at(i), list.at(first)
			c.fault(&here, FaultTaskTwice, strconv.QuoteToASCII(id.set)+" "+strconv.Itoa(id.index), "must be another task than "+there.String())
			continue
		}
		seen[id] = i
	}
}

// movesBetween says whether a task in both phases is one that moves.
func movesBetween(a, b Phase) bool {
	return a == Terminating && b == Claimed || a == Claimed && b == Terminating
}

func (c *checker) checkTask(at *path, w *Workload, set *PodSet, t *Task) {
	if !prose.Known(phaseNames[:], t.Phase) {
		unknownValue(c, at, "phase", t.Phase)
		return
	}
	if w.Ending && t.Phase != Terminating {
		c.faultAt(at, "phase", FaultTaskPhase, t.Phase.String(), "must be terminating, as the workload is ending")
	}
	if c.within(at, "index", int64(t.Index), 0, maxCount) && t.Phase != Terminating && t.Index >= set.Count-set.Missing {
		c.faultAt(at, "index", FaultTaskIndex, strconv.Itoa(t.Index), "must be < "+strconv.Itoa(set.Count-set.Missing)+", the tasks submitted")
	}
	c.time(at, "since", t.Since)
	c.time(at, "started", t.Started)
	c.time(at, "until", t.Until)
	c.text(at, "behind", t.Behind)
	n, ok := c.nodes[t.Node]
	if !ok {
		c.faultAt(at, "node", FaultUnknownNode, strconv.QuoteToASCII(t.Node), "must name a node")
		return
	}
	enterTask(c, at, n, set, t)
}

// enterTask enters into the ledger what a task holds of node n, if its devices are sound.
func enterTask(c *checker, at *path, n int32, set *PodSet, t *Task) {
	if !c.checkDevices(at, &c.s.Nodes[n], set, t) {
		return
	}
	if c.ledger == nil {
		c.ledger = newLedger(c.s.Nodes)
	}
	c.ledger[n].enter(&c.s.Nodes[n], set, t, 1)
}

// checkDevices checks the devices of a task and reports whether they are sound.
func (c *checker) checkDevices(at *path, n *Node, set *PodSet, t *Task) bool {
	sound := true
	var seen [maxDevices]bool
	for i, d := range t.Devices {
		if d >= 0 && d < min(len(n.Devices), maxDevices) && !seen[d] {
			seen[d] = true
			continue
		}
		sound = false
		list := at.field("devices")
		below := list.at(i)
		if d >= 0 && d < min(len(n.Devices), maxDevices) {
			c.fault(&below, FaultDeviceTwice, strconv.Itoa(d), "must be listed once")
			continue
		}
		c.fault(&below, FaultUnknownDevice, strconv.Itoa(d),
			"must be the index of one of the "+strconv.Itoa(len(n.Devices))+" devices of "+strconv.QuoteToASCII(n.ID))
	}
	if want := set.Request.GPU.devices(); int64(len(t.Devices)) != want {
		sound = false
		c.faultAt(at, "devices", FaultDeviceCount, strconv.Itoa(len(t.Devices)), "must be "+strconv.FormatInt(want, 10)+" devices, as requested")
	}
	if !sound {
		return false
	}
	for _, d := range t.Devices {
		if first := t.Devices[0]; n.Devices[d].Model != n.Devices[first].Model {
			c.faultAt(at, "devices", FaultMixedModels,
				strconv.QuoteToASCII(n.Devices[first].Model)+" and "+strconv.QuoteToASCII(n.Devices[d].Model), "must be of one model")
			break
		}
	}
	return true
}
