package mirror

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
)

// A group is the pods of one workload.
type group struct {
	id        string
	pods      map[*pod]bool
	succeeded map[types.UID]bool
	// slots are the pods by the names of their tasks in the workload as it was last sent.
	slots map[slot]*pod
	// partial is since when less than the minimum runs; zero is that it does not.
	partial time.Time
	// promised is what the workload has been promised; recalled is that it was read what a
	// scheduler before this one has.
	promised *allot.Promise
	recalled bool
}

// A slot is the name of a task in its workload.
type slot struct {
	set   string
	index int
}

func (m *Mirror) groupNamed(id string) *group {
	g := m.groups[id]
	if g == nil {
		g = &group{id: id, pods: make(map[*pod]bool), succeeded: make(map[types.UID]bool)}
		m.groups[id] = g
	}
	return g
}

// single says whether a workload is one pod.
func (g *group) single() bool { return strings.Contains(g.id, "/pods/") }

func (g *group) name() types.NamespacedName {
	namespace, name, _ := strings.Cut(g.id, "/")
	return types.NamespacedName{Namespace: namespace, Name: strings.TrimPrefix(name, "pods/")}
}

// members are the pods of a group that count, in their order: those that leave are apart. A
// pod that is gated, that is deleted before it was bound, or whose node is gone is not there.
func (m *Mirror) members(g *group) (live, leaving []*pod) {
	for p := range g.pods { // sorted below
		switch {
		case p.at != "" && !m.nodes[p.at].there():
		case p.at == "" && (p.object.DeletionTimestamp != nil || len(p.object.Spec.SchedulingGates) > 0):
		case p.leaving():
			leaving = append(leaving, p)
		default:
			live = append(live, p)
		}
	}
	slices.SortFunc(live, byName)
	slices.SortFunc(leaving, byName)
	return live, leaving
}

// A demand is what a group says of itself as a whole.
type demand struct {
	labels, annotations map[string]string
	priority            *int32
	priorityClass       string
	created             time.Time
	least               int // that run together
	topology            *schedulingv1alpha2.PodGroupSchedulingConstraints
	promised            string // as its condition says
}

// demandOf is what the PodGroup says, or the pod where there is none.
func (m *Mirror) demandOf(g *group, first *pod) (demand, error) {
	o := first.object
	if g.single() {
		return demand{
			labels: o.Labels, annotations: o.Annotations, priority: o.Spec.Priority, priorityClass: o.Spec.PriorityClassName,
			created: o.CreationTimestamp.UTC(), least: 1, promised: promisedOfPod(o),
		}, nil
	}
	pg := m.podGroups[g.name()]
	if pg == nil {
		return demand{}, fmt.Errorf("there is no PodGroup %s", g.name().Name)
	}
	d := demand{
		labels: pg.Labels, annotations: pg.Annotations, priority: pg.Spec.Priority, priorityClass: pg.Spec.PriorityClassName,
		created: pg.CreationTimestamp.UTC(), least: 1, topology: pg.Spec.SchedulingConstraints,
		promised: promisedOf(pg.Status.Conditions),
	}
	if d.priorityClass == "" && (d.priority == nil || *d.priority == 0) {
		d.priority, d.priorityClass = o.Spec.Priority, o.Spec.PriorityClassName
	}
	if d.labels[v1alpha1.QueueLabel] == "" {
		d.labels = o.Labels
	}
	if gang := pg.Spec.SchedulingPolicy.Gang; gang != nil {
		d.least = max(1, int(gang.MinCount)-len(g.succeeded))
	}
	return d, nil
}

// workload says a group in Allot's words; nil is nothing to say. The slots are the tasks'.
func (m *Mirror) workload(g *group, now time.Time) (*allot.Workload, map[slot]*pod, error) {
	live, leaving := m.members(g)
	all := slices.Concat(live, leaving)
	if len(all) == 0 {
		return nil, nil, nil
	}
	for _, p := range all {
		if m.ask(p); p.problem != nil {
			return nil, nil, fmt.Errorf("pod %s: %w", p.object.Name, p.problem)
		}
	}
	d, err := m.demandOf(g, all[0])
	if err != nil {
		return nil, nil, err
	}
	w := &allot.Workload{ID: g.id, Queue: d.labels[v1alpha1.QueueLabel], Submitted: d.created}
	if err := m.rank(w, &d); err != nil {
		return nil, nil, err
	}
	if err := m.topology(w, &d); err != nil {
		return nil, nil, err
	}
	if err := d.durations(w, all); err != nil {
		return nil, nil, err
	}
	slots := make(map[slot]*pod, len(all))
	if len(live) == 0 { // nobody comes back: it ends
		w.Ending = true
		m.sets(w, leaving, len(leaving), slots)
	} else {
		m.sets(w, live, d.least, slots)
		m.after(w, leaving, slots)
	}
	m.tasks(w, slots)
	g.recall(w, &d)
	if !w.Ending {
		w.Reserved = g.promised
	}
	g.keepPartial(w, d.least, now, m.podGroups[g.name()])
	return w, slots, nil
}

// rank says by what a workload is ordered, and where.
func (m *Mirror) rank(w *allot.Workload, d *demand) error {
	pool := ""
	if len(m.sent.queues) > 0 {
		q := m.sent.queues[w.Queue]
		if q == nil {
			return fmt.Errorf("there is no queue %q: label %s names one", w.Queue, v1alpha1.QueueLabel)
		}
		pool = q.Pool
	} else {
		w.Queue = ""
	}
	policy := m.policyOf(pool)
	known := func(class string) bool {
		return policy != nil && slices.ContainsFunc(policy.Classes, func(c allot.Class) bool { return c.Name == class })
	}
	switch class := d.labels[v1alpha1.ClassLabel]; {
	case class != "" && !known(class):
		return fmt.Errorf("the policy has no class %q", class)
	case class != "":
		w.Class = class
	case known(d.priorityClass):
		w.Class = d.priorityClass
	case d.priority != nil:
		w.Priority = *d.priority
	}
	switch text := d.labels[v1alpha1.PreemptibleLabel]; text {
	case "":
	case "true":
		w.Preemption = allot.Preemptible
	case "false":
		w.Preemption = allot.NonPreemptible
	default:
		return fmt.Errorf("label %s is %q, neither true nor false", v1alpha1.PreemptibleLabel, text)
	}
	return nil
}

// policyOf is that of a pool, by name or the only one.
func (m *Mirror) policyOf(pool string) *allot.Policy {
	if p := m.sent.pools[pool]; p != nil {
		return &p.Policy
	}
	if len(m.sent.pools) == 1 {
		for _, p := range m.sent.pools { // the only one
			return &p.Policy
		}
	}
	return nil
}

// topology says how near to each other the pods are to be.
func (m *Mirror) topology(w *allot.Workload, d *demand) error {
	level := func(key string) (string, error) {
		if key == "kubernetes.io/hostname" {
			return allot.NodeLevel, nil
		}
		if !slices.Contains(m.options.Levels, key) {
			return "", fmt.Errorf("topology key %q is none of the levels that the scheduler was given", key)
		}
		return key, nil
	}
	var err error
	if d.topology != nil {
		for _, c := range d.topology.Topology { // one at most
			if w.Topology.Required, err = level(c.Key); err != nil {
				return err
			}
		}
	}
	if key := d.annotations[v1alpha1.PreferredTopology]; key != "" { // of one pod it says nothing
		w.Topology.Preferred, err = level(key)
	}
	return err
}

// sets makes pod sets of the pods that ask the same, and gives each pod its slot. Where the
// pods are unlike and not all of them have to run, any may be missing: then each is a set.
func (m *Mirror) sets(w *allot.Workload, pods []*pod, least int, slots map[slot]*pod) {
	kinds := make(map[string]int)
	for _, p := range pods {
		if _, known := kinds[p.key]; !known {
			kinds[p.key] = len(kinds)
		}
	}
	if len(kinds) > 1 && least < len(pods) {
		w.Groups = []allot.Group{{Name: "gang", Min: least}}
		for i, p := range pods {
			name := "pod-" + strconv.Itoa(i)
			w.PodSets = append(w.PodSets, allot.PodSet{Name: name, Count: 1, Group: "gang", Request: p.request})
			slots[slot{name, 0}] = p
		}
		return
	}
	for _, p := range pods {
		at := kinds[p.key]
		name := ""
		if len(kinds) > 1 {
			name = "set-" + strconv.Itoa(at)
		}
		if at == len(w.PodSets) {
			w.PodSets = append(w.PodSets, allot.PodSet{Name: name, Request: p.request})
		}
		set := &w.PodSets[at]
		slots[slot{name, set.Count}] = p
		set.Count++
	}
	first := &w.PodSets[0]
	if missing := least - len(pods); missing > 0 {
		first.Missing = missing
		first.Count += missing
	}
	if len(kinds) == 1 && least < first.Count {
		first.Min = least
	}
}

// after gives those that leave slots behind all others: they do not wait again. One whose
// set is not there any more is use of its node's.
func (m *Mirror) after(w *allot.Workload, leaving []*pod, slots map[slot]*pod) {
	if len(w.Groups) > 0 {
		return
	}
	next := make(map[string]int)
	for _, p := range leaving {
		for i := range w.PodSets {
			set := &w.PodSets[i]
			if other := slots[slot{set.Name, 0}]; other == nil || other.key != p.key {
				continue
			}
			slots[slot{set.Name, set.Count + next[set.Name]}] = p
			next[set.Name]++
		}
	}
}

// tasks lists those that have a place, or claim one.
func (m *Mirror) tasks(w *allot.Workload, slots map[slot]*pod) {
	for s, p := range slots { // sorted below
		t := allot.Task{PodSet: s.set, Index: s.index, Node: p.at, Devices: p.devices, Since: p.since}
		switch {
		case p.at != "" && p.leaving():
			t.Phase = allot.Terminating
		case p.at != "":
		case p.order != nil && p.order.Kind == Claim && !w.Ending:
			t.Phase, t.Node, t.Devices, t.Since = allot.Claimed, p.order.Node, p.order.devices, p.order.since
		default:
			continue
		}
		w.Tasks = append(w.Tasks, t)
	}
	slices.SortFunc(w.Tasks, func(a, b allot.Task) int {
		return cmp.Or(cmp.Compare(a.PodSet, b.PodSet), cmp.Compare(a.Index, b.Index))
	})
}

// PartialReason is the reason of the PodGroup's condition PodGroupScheduled while less than
// the minimum runs: since when it says for the schedulers to come.
const PartialReason = "Partial"

// keepPartial keeps since when a gang runs with less than its minimum.
func (g *group) keepPartial(w *allot.Workload, least int, now time.Time, pg *schedulingv1alpha2.PodGroup) {
	held := 0
	for i := range w.Tasks {
		if w.Tasks[i].Phase != allot.Terminating {
			held++
		}
	}
	if held == 0 || held >= least {
		g.partial = time.Time{}
	} else if g.partial.IsZero() {
		g.partial = now
		if pg != nil {
			for _, c := range pg.Status.Conditions {
				if c.Type == schedulingv1alpha2.PodGroupScheduled && c.Status == metav1.ConditionFalse && c.Reason == PartialReason {
					g.partial = c.LastTransitionTime.UTC()
				}
			}
		}
	}
	w.PartialSince = g.partial
}
