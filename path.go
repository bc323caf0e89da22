package allot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A path is a place in a State or Plan while somebody walks it: a step and,
// through up, the steps before. The walkers keep their paths on the stack and
// only a fault turns one into text, so a sound state pays nothing for it.
type path struct {
	up    *path // nil before the whole
	name  string
	index int // of a list entry, or isField or isKey
}

const (
	isField = -1
	isKey   = -2
)

// root is the whole State or Plan.
func root() path { return path{} }

func (p *path) field(name string) path { return path{p, name, isField} }
func (p *path) at(index int) path      { return path{p, "", index} }
func (p *path) key(name string) path   { return path{p, name, isKey} }

// steps are the path's steps without the root. The names are cloned so that
// nothing of p gets to the heap: otherwise the compiler would put all paths
// there, those of a sound state too.
func (p *path) steps() []path {
	var steps []path
	for ; p.up != nil; p = p.up {
		steps = append(steps, path{name: strings.Clone(p.name), index: p.index})
	}
	slices.Reverse(steps)
	return steps
}

func (p *path) String() string { return pathText(p.steps()) }

// pathText is the text of steps from the root.
func pathText(steps []path) string {
	if len(steps) == 0 {
		return "$"
	}
	var b strings.Builder
	for i, s := range steps {
		switch {
		case s.index == isKey:
			b.WriteString("[" + strconv.Quote(s.name) + "]")
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case i > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// A placed fault still knows where it belongs among the others.
type placed struct {
	Fault
	order []path // the steps, with fields as their rank in the struct
}

// placeFault is the fault at a place of a State.
func placeFault(at *path, f Fault) placed {
	order := at.steps()
	form := stateForm
	for i, step := range order {
		for form.kind == pointerForm {
			form = form.elem
		}
		if step.index != isField {
			form = form.elem
			continue
		}
		rank := form.field([]byte(step.name), 0)
		order[i] = path{index: rank}
		form = form.fields[rank].form
	}
	return placed{f, order}
}

// sortByPlace puts faults into the order of the fields, list indices and map
// keys of State, a whole before its parts; several at one place, which may have
// been found in the order of a map, by what they say.
func sortByPlace(faults []placed) []Fault {
	slices.SortStableFunc(faults, func(a, b placed) int {
		place := slices.CompareFunc(a.order, b.order, func(x, y path) int {
			return cmp.Or(cmp.Compare(x.index, y.index), cmp.Compare(x.name, y.name))
		})
		return cmp.Or(place, cmp.Compare(a.Code, b.Code), strings.Compare(a.Value, b.Value), strings.Compare(a.Want, b.Want))
	})
	sorted := make([]Fault, len(faults))
	for i := range faults {
		sorted[i] = faults[i].Fault
	}
	return sorted
}
