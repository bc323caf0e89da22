package allot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allotsched/allot/internal/jsonform"
)

// A path is a place in a State or Plan while somebody walks it: a step and,
// through up, the steps before. The walkers keep their paths on the stack and
// only a fault turns one into text, so a sound state pays nothing for it.
type path struct {
	up *path // nil before the whole
	jsonform.Step
}

// root is the whole State or Plan.
func root() path { return path{} }

func (p *path) field(name string) path {
	return path{p, jsonform.Step{Name: name, Index: jsonform.IsField}}
}
func (p *path) at(index int) path { return path{p, jsonform.Step{Index: index}} }
func (p *path) key(name string) path {
	return path{p, jsonform.Step{Name: name, Index: jsonform.IsKey}}
}

// steps are the path's steps without the root. The names are cloned so that
// nothing of p gets to the heap: otherwise the compiler would put all paths
// there, those of a sound state too.
func (p *path) steps() jsonform.Path {
	var steps jsonform.Path
	for ; p.up != nil; p = p.up {
		steps = append(steps, jsonform.Step{Name: strings.Clone(p.Name), Index: p.Index})
	}
	slices.Reverse(steps)
	return steps
}

func (p *path) String() string { return p.steps().String() }

// A placed fault still knows where it belongs among the others.
type placed struct {
	Fault
	rank jsonform.Path
}

// placeFault is the fault at a place of a State.
func placeFault(at *path, f Fault) placed { return placed{f, stateForm.Rank(at.steps())} }

// sortByPlace puts faults into the order of the fields, list indices and map
// keys of State, a whole before its parts; several at one place, which may have
// been found in the order of a map, by what they say.
func sortByPlace(faults []placed) []Fault {
	slices.SortStableFunc(faults, func(a, b placed) int {
		place := jsonform.ComparePlaces(a.rank, b.rank)
		return cmp.Or(place, cmp.Compare(a.Code, b.Code), strings.Compare(a.Value, b.Value), strings.Compare(a.Want, b.Want))
	})
	sorted := make([]Fault, len(faults))
	for i := range faults {
		sorted[i] = faults[i].Fault
	}
	return sorted
}
