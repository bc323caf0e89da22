package allot

import (
	"maps"
	"slices"

	"github.com/allotsched/allot/placement"
)

// Most forms ask what others have asked before them: what is found out of one holds of all
// that are alike, whoever's they are.

// kinds number forms as they come: those of one number are alike. A form is compared with few others, so that those
// of two numbers may be alike too where many differ in nothing that a digest tells.
type kinds struct {
	first  []Form
	latest int32
	last   map[digest]int32 // the last kind of a digest
	before []int32          // by kind, the one before it of its digest; none is the first
	own    []int32          // by workload of a checked State: the kind of its own form
}

// mostCompared is with how many kinds of its digest a form is compared.
const mostCompared = 8

// A digest is what tells most forms apart.
type digest struct {
	sets, groups, count, min, missing, devices int
	milli, deviceMemory, cpu, memory           int64
}

func digestOf(f *Form) digest {
	d := digest{sets: len(f.PodSets), groups: len(f.Groups)}
	if d.sets > 0 {
		set := &f.PodSets[0]
		d.count, d.min, d.missing = set.Count, set.Min, set.Missing
		d.devices, d.milli, d.deviceMemory = set.Request.GPU.Count, set.Request.GPU.Milli, set.Request.GPU.Memory
		d.cpu, d.memory = set.Request.Resources[CPU], set.Request.Resources[Memory]
	}
	return d
}

// of is the number of a form.
func (k *kinds) of(f *Form) int32 {
	if len(k.first) > 0 && k.first[k.latest].asksAs(f) {
		return k.latest
	}
	d := digestOf(f)
	last, known := k.last[d]
	if !known {
		last = none
	}
	for kind, n := last, 0; kind != none && n < mostCompared; kind, n = k.before[kind], n+1 {
		if k.first[kind].asksAs(f) {
			k.latest = kind
			return kind
		}
	}
	if k.last == nil {
		k.last = make(map[digest]int32)
	}
	k.latest = int32(len(k.first))
	k.last[d], k.first, k.before = k.latest, append(k.first, *f), append(k.before, last)
	return k.latest
}

// asksAs says whether two forms ask the same in the same words, whatever their queues are.
func (f *Form) asksAs(other *Form) bool {
	return equalEach(f.PodSets, other.PodSets, (*PodSet).asksAs) &&
		equalEach(f.Groups, other.Groups, (*Group).asksAs) && f.Topology.asksAs(&other.Topology)
}

func (p *PodSet) asksAs(other *PodSet) bool {
	return p.Count == other.Count && p.Min == other.Min && p.Missing == other.Missing && p.Step == other.Step &&
		p.Request.asksAs(&other.Request) && p.Name == other.Name && p.Group == other.Group && p.Topology.asksAs(&other.Topology)
}

func (g *Group) asksAs(other *Group) bool {
	return g.Name == other.Name && g.Parent == other.Parent && g.Min == other.Min && g.Topology.asksAs(&other.Topology)
}

func (t *Topology) asksAs(other *Topology) bool {
	return t.Required == other.Required && t.Preferred == other.Preferred && t.Mode == other.Mode && equalLists(t.Slices, other.Slices)
}

func (r *Request) asksAs(other *Request) bool {
	a, b := &r.GPU, &other.GPU
	return a.Count == b.Count && a.Milli == b.Milli && a.Memory == b.Memory && a.MinMemory == b.MinMemory &&
		a.Island == b.Island && a.PreferIsland == b.PreferIsland && equalLists(a.Models, b.Models) &&
		equalMaps(r.Resources, other.Resources) && equalLists(r.Tolerations, other.Tolerations) &&
		equalMaps(r.Selector.Labels, other.Selector.Labels) &&
		equalEach(r.Selector.Expressions, other.Selector.Expressions, func(a, b *placement.Expression) bool {
			return a.Key == b.Key && a.Operator == b.Operator && equalLists(a.Values, b.Values)
		})
}

// equalLists, equalEach and equalMaps compare what is mostly empty, or one and the same list.
func equalLists[T comparable](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || slices.Equal(a, b))
}

func equalMaps[V comparable](a, b map[string]V) bool {
	return len(a) == len(b) && (len(a) == 0 || maps.Equal(a, b))
}

func equalEach[T any](a, b []T, equal func(a, b *T) bool) bool {
	if len(a) != len(b) || len(a) == 0 || &a[0] == &b[0] {
		return len(a) == len(b)
	}
	for i := range a {
		if !equal(&a[i], &b[i]) {
			return false
		}
	}
	return true
}
