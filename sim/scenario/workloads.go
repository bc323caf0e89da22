package scenario

import (
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// A definition is a workload while its arguments are read. Pod-set arguments
// go to the form and the set that were named last.
type definition struct {
	workload allot.Workload
	classes  []arg // words that must be classes of the policy
	podSets  *[]allot.PodSet
	groups   *[]allot.Group
	topology *allot.Topology // of what was named last
	fixed    bool            // an existing workload: pod sets are chosen, not made
	submitAt bool            // at= is given
}

func newDefinition(existing *allot.Workload) *definition {
	d := &definition{}
	if existing != nil {
		d.workload, d.fixed = deepCopy(*existing), true
	}
	d.podSets, d.groups, d.topology = &d.workload.PodSets, &d.workload.Groups, &d.workload.Topology
	return d
}

// read takes one argument; false if it is none of a workload's.
func (d *definition) read(a arg) (known bool, err error) {
	if known, err := d.readWorkload(a); known || err != nil {
		return known, err
	}
	if known, err := d.readTimes(a); known || err != nil {
		return known, err
	}
	if known, err := d.readForm(a); known || err != nil {
		return known, err
	}
	if known, err := d.readTopology(a); known || err != nil {
		return known, err
	}
	return d.readPodSet(a)
}

// readWorkload reads what is said of the whole workload.
func (d *definition) readWorkload(a arg) (known bool, err error) {
	w := &d.workload
	switch a.key {
	case "pool":
		return true, set(&w.Pool, a, unquote)
	case "class":
		return true, set(&w.Class, a, unquote)
	case "priority":
		return true, set(&w.Priority, a, integer[int32])
	case "preemption":
		return true, set(&w.Preemption, a, fromText)
	case "strategy":
		return true, set(&w.Strategy, a, fromText)
	case "at":
		d.submitAt = true
		return true, a.at(&w.Submitted)
	case "ending":
		return true, a.flag(&w.Ending)
	case "owner":
		return true, set(&w.Owner, a, unquote)
	case "checkpoint":
		return true, a.at(&w.Checkpoint)
	case "exit":
		return true, a.exitAction(&w.ExitActions)
	case "retries":
		return true, a.bound(&w.Retries, integer[int64])
	case "leaving-form":
		return true, a.bound(&w.LeavingForm, integer[int64])
	case "partial-since":
		return true, a.at(&w.PartialSince)
	}
	if a.given {
		return false, nil
	}
	switch a.key {
	case allot.Preemptible.String():
		w.Preemption = allot.Preemptible
		return true, nil
	case allot.NonPreemptible.String():
		w.Preemption = allot.NonPreemptible
		return true, nil
	}
	return false, nil
}

// readForm reads what begins a form, a group or a pod set.
func (d *definition) readForm(a arg) (known bool, err error) {
	switch {
	case a.key == "or" && !a.given:
		if d.fixed {
			return true, a.errorf("the forms of a workload do not change")
		}
		d.workload.Alternatives = append(d.workload.Alternatives, allot.Form{})
		form := &d.workload.Alternatives[len(d.workload.Alternatives)-1]
		d.podSets, d.groups, d.topology = &form.PodSets, &form.Groups, &form.Topology
		return true, nil
	case a.key == "queue":
		last := len(d.workload.Alternatives) - 1
		if last < 0 || d.fixed {
			return true, a.errorf("queue= stands behind 'or'")
		}
		return true, set(&d.workload.Alternatives[last].Queue, a, unquote)
	case a.key == "group":
		group, err := read(a, parseGroup)
		d.chooseGroup(group)
		return true, err
	case a.key == "set":
		name, err := read(a, unquote)
		if err != nil {
			return true, err
		}
		return true, d.choose(a, name)
	}
	return false, nil
}

// choose makes a pod set, or turns to one of an existing workload: the sets up
// to it are what podSet sees from then on.
func (d *definition) choose(a arg, name string) error {
	if !d.fixed {
		*d.podSets = append(*d.podSets, allot.PodSet{Name: name, Count: 1})
		d.topology = &d.podSet().Topology
		return nil
	}
	all := d.workload.PodSets
	at := slices.IndexFunc(all, func(s allot.PodSet) bool { return s.Name == name })
	if at < 0 {
		return a.errorf("there is no pod set %q", name)
	}
	view := all[: at+1 : at+1]
	d.podSets, d.topology = &view, &view[at].Topology
	return nil
}

// chooseGroup makes a group, or turns to one of an existing workload.
func (d *definition) chooseGroup(group allot.Group) {
	at := -1
	if d.fixed {
		at = slices.IndexFunc(*d.groups, func(g allot.Group) bool { return g.Name == group.Name })
	}
	if at < 0 {
		*d.groups = append(*d.groups, group)
		at = len(*d.groups) - 1
	} else {
		group.Topology = (*d.groups)[at].Topology
		(*d.groups)[at] = group
	}
	d.topology = &(*d.groups)[at].Topology
}

// podSet is the set that arguments go to now.
func (d *definition) podSet() *allot.PodSet {
	if len(*d.podSets) == 0 {
		*d.podSets = append(*d.podSets, allot.PodSet{Count: 1})
	}
	return &(*d.podSets)[len(*d.podSets)-1]
}

// readPodSet reads what is said of the current pod set.
func (d *definition) readPodSet(a arg) (known bool, err error) {
	switch a.key {
	case "tasks":
		return true, set(&d.podSet().Count, a, integer[int])
	case "min":
		return true, set(&d.podSet().Min, a, integer[int])
	case "missing":
		return true, set(&d.podSet().Missing, a, integer[int])
	case "step":
		return true, set(&d.podSet().Step, a, fromText)
	case "in":
		return true, set(&d.podSet().Group, a, unquote)
	}
	if !a.given {
		return false, nil
	}
	return readRequest(a, func() *allot.Request { return &d.podSet().Request })
}

// readRequest reads what a task asks. The request is fetched only for an
// argument that is one, as fetching it makes the pod set.
func readRequest(a arg, request func() *allot.Request) (known bool, err error) {
	switch a.key {
	case "gpu":
		return true, readGPU(&request().GPU, a)
	case "gpumem":
		return true, readGPUMemory(&request().GPU, a)
	case "model":
		return true, set(&request().GPU.Models, a, namesOrNone)
	case "min-gpumem":
		return true, set(&request().GPU.MinMemory, a, bytes)
	case "island":
		return true, set(&request().GPU.Island, a, fromText)
	case "prefer-island":
		return true, set(&request().GPU.PreferIsland, a, fromText)
	case "selector":
		return true, readLabel(&request().Selector, a)
	case "expr":
		return true, readExpression(&request().Selector, a)
	case "toleration":
		toleration, err := read(a, parseToleration)
		if err == nil {
			r := request()
			r.Tolerations = append(r.Tolerations, toleration)
		}
		return true, err
	}
	resource, ok := resourceOf(a.key)
	if !ok {
		return false, nil
	}
	return true, a.amountIn(&request().Resources, resource)
}

// readGPU reads N, a fraction of one, or NxFRACTION.
func readGPU(g *allot.GPURequest, a arg) error {
	value, many, err := timesEach(&g.Count, a, milli)
	switch {
	case err != nil:
		return err
	case many || value%1000 != 0:
		g.Milli = value
	default:
		g.Count, g.Milli = int(value/1000), 0
	}
	return nil
}

// readGPUMemory reads MEMORY or NxMEMORY.
func readGPUMemory(g *allot.GPURequest, a arg) error {
	value, _, err := timesEach(&g.Count, a, bytes)
	g.Memory = value
	return err
}

// timesEach reads EACH or NxEACH; many says that N was given, and is in count.
func timesEach(count *int, a arg, convert func(string) (int64, error)) (each int64, many bool, err error) {
	first, second, many := strings.Cut(a.value, "x")
	if !many {
		each, err = read(a, convert)
		return each, false, err
	}
	if *count, err = natural(first); err != nil {
		return 0, true, a.errorf("%s: %v", a.key, err)
	}
	each, err = read(a, func(string) (int64, error) { return convert(second) })
	return each, true, err
}

// parseGroup reads NAME[:MIN[:PARENT]].
func parseGroup(text string) (allot.Group, error) {
	var g allot.Group
	parts := split(text, ":")
	var err error
	if g.Name, err = unquote(parts[0]); err != nil {
		return g, err
	}
	if len(parts) > 1 {
		if g.Min, err = integer[int](parts[1]); err != nil {
			return g, err
		}
	}
	if len(parts) > 2 {
		g.Parent, err = unquote(strings.Join(parts[2:], ":"))
	}
	return g, err
}

// parseToleration reads KEY[=VALUE][:EFFECT]; without a value any is
// tolerated, and the key * is any key.
func parseToleration(text string) (placement.Toleration, error) {
	t := placement.Toleration{Operator: placement.TolerationExists} // until there is a value
	mark, effect, hasEffect := cut(text, ":")
	key, value, hasValue := cut(mark, "=")
	var err error
	if key != "*" {
		if t.Key, err = unquote(key); err != nil {
			return t, err
		}
	}
	if hasValue {
		t.Operator = placement.TolerationEqual
		if t.Value, err = unquote(value); err != nil {
			return t, err
		}
	}
	if hasEffect {
		t.Effect, err = fromText[placement.Effect](effect)
	}
	return t, err
}
