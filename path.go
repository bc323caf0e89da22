package allot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/internal/jsonform"
)

// A path is a place in a State or Plan while that is walked: a step and,
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
func placeFault(s *State, at *path, f Fault) placed {
	steps := at.steps()
	if len(steps) > 1 && !(len(steps) == 3 && steps[2].Name == idField(steps[0].Name)) {
		f.ID = objectAt(s, steps[0].Name, steps[1].Index)
	}
	return placed{f, stateForm.Rank(steps)}
}

// idField is the field of an object that has its ID: a fault of it shows the ID as what
// stands there.
func idField(list string) string {
	switch list {
	case "budgets":
		return "owner"
	case "levels":
		return "name"
	}
	return "id"
}

// objectAt is the ID of the entry of one of the lists of a State; empty if there is none.
func objectAt(s *State, list string, index int) string {
	switch {
	case index < 0:
	case list == "nodes" && index < len(s.Nodes):
		return s.Nodes[index].ID
	case list == "pools" && index < len(s.Pools):
		return s.Pools[index].ID
	case list == "queues" && index < len(s.Queues):
		return s.Queues[index].ID
	case list == "workloads" && index < len(s.Workloads):
		return s.Workloads[index].ID
	case list == "budgets" && index < len(s.Budgets):
		return s.Budgets[index].Owner
	case list == "reservations" && index < len(s.Reservations):
		return s.Reservations[index].ID
	case list == "levels" && index < len(s.Levels):
		return s.Levels[index].Name
	}
	return ""
}

// nameObjects gives faults of a document the IDs of the objects in whose entries they are, as
// far as these were read.
func nameObjects(faults []Fault, s *State) {
	for i := range faults {
		list, rest, found := strings.Cut(faults[i].Path, "[")
		number, _, closed := strings.Cut(rest, "]")
		_, below, _ := strings.Cut(rest, "].")
		if index, err := strconv.Atoi(number); found && closed && err == nil && below != idField(list) {
			faults[i].ID = objectAt(s, list, index)
		}
	}
}

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
