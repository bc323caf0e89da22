package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/verify"
)

// begun: after Begin, Solve does nothing but start claims, whatever the order
// in which the plan's victims leave; when the last has left, the same runs in
// the same places as after Apply (S4, M5).
func (t *trial) begun() string {
	next, err := allot.Begin(t.state, t.plan)
	if err != nil {
		return "Begin: " + err.Error()
	}
	if difference := t.unmodified(); difference != "" {
		return "Begin changes the state"
	}
	if t.cut() {
		return "" // a later solve takes what this one was not allowed to
	}
	applied, err := allot.Apply(t.state, t.plan)
	if err != nil {
		return "Apply: " + err.Error()
	}
	// Apply may leave claims that wait for nothing but were given after somebody
	// who leaves anyway.
	applied, _, violation := rest(applied, false)
	if violation != "" {
		return violation
	}
	leaving := t.leaving(next)
	orders := [][]string{leaving}
	if len(leaving) > 1 {
		backwards := slices.Clone(leaving)
		slices.Reverse(backwards)
		orders = append(orders, backwards)
	}
	for _, order := range orders {
		if violation := t.leave(next, applied, order); violation != "" {
			return violation
		}
	}
	return ""
}

// maxDepartures bounds the solves that one order of leaving costs: where more
// workloads leave, several do so at once.
const maxDepartures = 6

// leave lets the workloads leave one after the other, solves after each, and
// compares what runs in the end with what is to run.
func (t *trial) leave(begun, applied *allot.State, order []string) string {
	state := deepCopy(*begun)
	step := max(1, (len(order)+maxDepartures-1)/maxDepartures)
	batches := [][]string{nil} // at first nobody has left
	batches = slices.AppendSeq(batches, slices.Chunk(order, step))
	for _, gone := range batches {
		t.depart(&state, gone)
		plan, err := allot.Solve(&state)
		if err != nil {
			return "Solve: " + err.Error()
		}
		if action := notOfClaims(&state, plan); action != "" {
			return "then, " + departed(gone) + ": " + action
		}
		if err := verify.Plan(&state, plan); err != nil {
			return "then, " + departed(gone) + ": " + err.Error()
		}
		next, err := allot.Begin(&state, plan)
		if err != nil {
			return "Begin: " + err.Error()
		}
		state = deepCopy(*next)
	}
	if difference := differenceOfLines(heldPlaces(applied), heldPlaces(&state)); difference != "" {
		return "when " + strings.Join(order, ", ") + " have left, in this order: " + difference
	}
	return ""
}

func departed(gone []string) string {
	if len(gone) == 0 {
		return "before anybody has left"
	}
	return "when " + strings.Join(gone, ", ") + " has left"
}

// leaving are the workloads, by ID, of which something is Terminating in the
// state that was not so before the solve.
func (t *trial) leaving(begun *allot.State) []string {
	before := placesIn(&t.before, allot.Terminating)
	var names []string
	for i := range begun.Workloads {
		o := &begun.Workloads[i]
		fresh := func(task allot.Task) bool {
			return task.Phase == allot.Terminating && !before[placeOf(o.ID, task)]
		}
		if slices.ContainsFunc(o.Tasks, fresh) {
			names = append(names, o.ID)
		}
	}
	slices.Sort(names)
	return names
}

// depart takes away what is Terminating of the workloads and was not so before
// the solve, and a workload of which nothing is left and that ends for good.
func (t *trial) depart(s *allot.State, gone []string) {
	before := placesIn(&t.before, allot.Terminating)
	for i := range s.Workloads {
		o := &s.Workloads[i]
		if slices.Contains(gone, o.ID) {
			o.Tasks = slices.DeleteFunc(o.Tasks, func(task allot.Task) bool {
				return task.Phase == allot.Terminating && !before[placeOf(o.ID, task)]
			})
		}
	}
	s.Workloads = slices.DeleteFunc(s.Workloads, func(o allot.Workload) bool {
		return o.Ending && len(o.Tasks) == 0 && slices.Contains(gone, o.ID)
	})
}

// notOfClaims is the first action that does more than to start tasks in the
// places that they claim, "" if there is none.
func notOfClaims(s *allot.State, p *allot.Plan) string {
	claims := placesIn(s, allot.Claimed)
	for i := range p.Actions {
		a := &p.Actions[i]
		unclaimed := func(task allot.Placement) bool { return !claims[placementOf(a.Workload, task)] }
		starts := a.Kind == allot.Start || a.Kind == allot.Resize
		if !starts || slices.ContainsFunc(a.Tasks, unclaimed) {
			return formatAction(a, queuesOf(s))
		}
	}
	return ""
}

// placesIn is the set of the tasks of the phase and their places, as texts.
func placesIn(s *allot.State, phase allot.Phase) map[string]bool {
	places := map[string]bool{}
	for i := range s.Workloads {
		for _, task := range s.Workloads[i].Tasks {
			if task.Phase == phase {
				places[placeOf(s.Workloads[i].ID, task)] = true
			}
		}
	}
	return places
}

func placeOf(workload string, t allot.Task) string {
	return placementOf(workload, allot.Placement{PodSet: t.PodSet, Index: t.Index, Node: t.Node, Devices: t.Devices})
}

func placementOf(workload string, p allot.Placement) string {
	devices := slices.Clone(p.Devices)
	slices.Sort(devices)
	return fmt.Sprintf("%s %s:%d@%s", quote(workload), quote(p.PodSet), p.Index, formatPlace(p.Node, devices))
}

// heldPlaces is a line per task that runs or claims its place, with the form
// and since when, sorted.
func heldPlaces(s *allot.State) []string {
	var lines []string
	for i := range s.Workloads {
		o := &s.Workloads[i]
		for _, task := range o.Tasks {
			if task.Phase != allot.Terminating {
				lines = append(lines, fmt.Sprintf("%s form %d %s since %s",
					placeOf(o.ID, task), o.Form, phaseStatement(task.Phase), formatInstant(task.Since)))
			}
		}
	}
	slices.Sort(lines)
	return lines
}
