package topology

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
)

// A role is what the plan means for a workload; the legend follows this order.
type role int

const (
	started role = iota
	waiting
	evicted
	changed // moved, grown, shrunk, or placed anew after a loss
	running
	roles
)

var roleTitles = [roles]string{
	started: "Started by the plan", waiting: "Still waiting, and why", evicted: "Evicted by the plan",
	changed: "Changed by the plan", running: "Running as before",
}

// A work is a workload in the picture.
type work struct {
	*allot.Workload // after the plan
	role            role
	// key is the letter on its devices, colour its number among the colours; both
	// are of those that hold a device when the plan is carried out.
	key    string
	colour int
	// code is the kind of reason for which it waits.
	code string
	// what is what the plan does to it, in words.
	what []string
	// nodes are those on which it has devices in the end, each once, in the order
	// of the picture; beside are the other nodes that it uses.
	nodes, beside []*box
	// left are the places that the plan takes from it.
	left []allot.Placement
	// stops are where its links end, its nodes or the domains that hold them;
	// common is the narrowest domain that holds all of them.
	stops  []*box
	common *box
}

// A scene is all that is drawn.
type scene struct {
	plan  *allot.Plan
	works []*work // by role, then by ID
	byID  map[string]*work
	root  *box
	nodes []*box // in depth-first order
	// summarised: nodes are cells, coloured by queue.
	summarised bool
	// queues are those that hold something, in the order of their colours, where
	// those are of queues.
	queues []string
	fresh  map[freshTask]bool
	// sheets are the numbers of the domains that a click shows.
	sheets map[string]int
	// unlit counts the gangs whose links some domain has no lane for.
	unlit int
}

// most is how many nodes are drawn with every device.
const most = 200

// newScene is what there is to draw of a state and the plan that was made of it.
func newScene(state *allot.State, plan *allot.Plan, summarised bool) (*scene, error) {
	after, err := allot.Apply(state, plan)
	if err != nil {
		return nil, err
	}
	s := &scene{plan: plan, byID: make(map[string]*work), summarised: summarised, fresh: make(map[freshTask]bool)}
	s.root, s.nodes = tree(after)
	s.addWorks(state, after)
	s.noteFresh()
	s.occupy(after)
	s.name()
	s.light()
	s.hope()
	return s, nil
}

// A freshTask is a task to which the plan gives its place.
type freshTask struct {
	workload, podSet string
	index            int
}

func (s *scene) noteFresh() {
	for i := range s.plan.Actions {
		a := &s.plan.Actions[i]
		if a.Kind == allot.Start || a.Kind == allot.Resize || a.Kind == allot.Move {
			for _, p := range a.Tasks {
				s.fresh[freshTask{a.Workload, p.PodSet, p.Index}] = true
			}
		}
	}
}

// addWorks finds the role of every workload.
func (s *scene) addWorks(before, after *allot.State) {
	for i := range before.Workloads {
		w := &before.Workloads[i]
		s.byID[w.ID] = &work{Workload: w, role: waiting}
		if len(w.Tasks) > 0 {
			s.byID[w.ID].role = running
		}
		s.works = append(s.works, s.byID[w.ID])
	}
	for i := range after.Workloads {
		s.byID[after.Workloads[i].ID].Workload = &after.Workloads[i]
	}
	for i := range s.plan.Actions {
		s.byID[s.plan.Actions[i].Workload].take(&s.plan.Actions[i])
	}
	for _, p := range s.plan.Pending {
		w := s.byID[p.Workload]
		if w.role != evicted {
			w.role = waiting
		}
		w.code = p.Reasons[0].Code.String()
		for _, r := range p.Reasons[:min(len(p.Reasons), reasonsShown)] {
			if w.role == waiting {
				w.tell(r.String())
			}
		}
	}
	slices.SortFunc(s.works, func(a, b *work) int {
		return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.ID, b.ID))
	})
}

// reasonsShown is how many of its reasons a waiting workload tells.
const reasonsShown = 2

// take notes what an action does to the workload.
func (w *work) take(a *allot.Action) {
	switch {
	case a.Kind == allot.Evict:
		w.role = evicted
	case a.Kind == allot.Start && w.role == waiting:
		w.role = started
	case w.role != started:
		w.role = changed
	}
	switch a.Kind {
	case allot.Evict, allot.Shrink:
		w.left = append(w.left, a.Tasks...)
	case allot.Move:
		w.left = append(w.left, a.From...)
	case allot.Start:
		return // its reason is none
	}
	w.tell(a.Reason.String())
}

// tell adds a sentence to what is told of the workload, once.
func (w *work) tell(what string) {
	if !slices.Contains(w.what, what) {
		w.what = append(w.what, what)
	}
}

// occupy puts the workloads onto the devices.
func (s *scene) occupy(after *allot.State) {
	nodes := make(map[string]*box)
	for _, n := range s.nodes {
		nodes[n.node.ID] = n
	}
	for _, w := range s.works {
		for i := range w.Tasks {
			t := &w.Tasks[i]
			n := nodes[t.Node]
			for _, d := range t.Devices {
				device := &n.node.Devices[d]
				n.devices[d].parts = append(n.devices[d].parts, part{w, w.milli(t, device.Memory), s.fresh[freshTask{w.ID, t.PodSet, t.Index}]})
			}
			on := &w.nodes
			if len(t.Devices) == 0 {
				on = &w.beside
			}
			if !slices.Contains(*on, n) {
				*on = append(*on, n)
			}
		}
		slices.SortFunc(w.nodes, func(a, b *box) int { return cmp.Compare(a.order, b.order) })
		for _, p := range w.left {
			for _, d := range p.Devices {
				nodes[p.Node].devices[d].left = true
			}
		}
	}
}

// milli is what a task takes of each of its devices.
func (w *work) milli(t *allot.Task, memory int64) int64 {
	sets := w.setsOf(w.FormOf(*t))
	for i := range sets {
		set := &sets[i]
		if set.Name != t.PodSet {
			continue
		}
		switch request := &set.Request.GPU; {
		case request.Memory > 0 && memory > 0:
			// In units of a thousandth of the device, so that no product overflows.
			return min(1000, max(1, request.Memory/max(1, memory/1000)))
		case request.Milli > 0:
			return request.Milli
		}
	}
	return 1000
}

// sets are the pod sets of the form that the workload has, or its first.
func (w *work) sets() []allot.PodSet { return w.setsOf(w.Form) }

func (w *work) setsOf(form int) []allot.PodSet {
	if form > 0 && form <= len(w.Alternatives) {
		return w.Alternatives[form-1].PodSets
	}
	return w.PodSets
}

// name gives letters and colours to all that hold a device: the shortest letters to
// what is on several nodes. Of a summary the colours are those of queues.
func (s *scene) name() {
	n := 0
	for _, several := range []bool{true, false} {
		for _, w := range s.works {
			if len(w.nodes) > 0 && (len(w.nodes) > 1) == several {
				w.key, w.colour = words.Letters(n), n
				n++
			}
		}
	}
	if !s.summarised {
		return
	}
	for _, w := range s.works {
		if len(w.nodes) > 0 && !slices.Contains(s.queues, w.queue()) {
			s.queues = append(s.queues, w.queue())
		}
	}
	slices.SortFunc(s.queues, words.CompareNames)
	for _, w := range s.works {
		w.colour = max(0, slices.Index(s.queues, w.queue()))
	}
}

// queue is that of the form that the workload has.
func (w *work) queue() string {
	queue, _ := words.FormOf(w.Workload, w.Form)
	return queue
}

// lanes is how many gangs a domain can show.
const lanes = 8

// light finds the domains that a gang's links pass: from its nodes up to the one
// that holds all of them. Where nodes are tiles the links end at the domains that
// hold them.
func (s *scene) light() {
	for _, w := range s.works {
		for _, n := range w.nodes {
			stop := n
			if s.summarised && n.parent.parent != nil {
				stop = n.parent
			}
			if !slices.Contains(w.stops, stop) {
				w.stops = append(w.stops, stop)
			}
		}
		if len(w.stops) == 0 {
			continue
		}
		w.common = w.stops[0]
		for _, b := range w.stops {
			for !w.common.holds(b) {
				w.common = w.common.parent
			}
		}
		if len(w.stops) < 2 {
			continue
		}
		passed := w.passed()
		if slices.ContainsFunc(passed, func(b *box) bool { return len(b.lanes) == lanes }) {
			s.unlit++
			continue
		}
		for _, b := range passed {
			b.lanes = append(b.lanes, w)
		}
	}
}

// passed lists the domains between the ends of a gang's links and the one that
// holds them all, with that.
func (w *work) passed() (passed []*box) {
	for _, stop := range w.stops {
		for b := stop; b != w.common; {
			b = b.parent
			if slices.Contains(passed, b) {
				break
			}
			passed = append(passed, b)
		}
	}
	return passed
}

// mostAlmost is how many of those who wait a domain tells.
const mostAlmost = 2

// hope notes at the best domains how much of those who wait they would take (T7).
// What only an empty cluster would take is no such thing.
func (s *scene) hope() {
	for i := range s.plan.Pending {
		p := &s.plan.Pending[i]
		if s.byID[p.Workload].role != waiting || p.Reasons[0].Code != allot.NoDomain {
			continue
		}
		for _, d := range p.Reasons[0].Domains {
			if b := s.root.find(d.Level, d.Domain); b != nil && len(b.almost) < mostAlmost {
				b.almost = append(b.almost, fmt.Sprintf("%s waits: %d of %d fit here", p.Workload, d.Have, d.Need))
			}
		}
	}
}
