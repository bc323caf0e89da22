package explain

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// An Outcome is all that a plan says of one workload.
type Outcome struct {
	// Fate is the sum of it.
	Fate Fate `json:"fate"`
	// Queue is where it is charged or waits, as the plan says it.
	Queue string `json:"queue,omitzero"`
	// Actions are those of the plan that concern it, in their order.
	Actions []allot.Action `json:"actions,omitempty"`
	// Reasons are why it waits, the most telling first (X1); none if it does not.
	Reasons []allot.Reason `json:"reasons,omitempty"`
}

// A WorkloadDifference is a workload of which two plans do not say the same.
type WorkloadDifference struct {
	// Workload is its ID.
	Workload string `json:"workload"`
	// Before is what the first plan says of it, After what the second does.
	Before Outcome `json:"before"`
	After  Outcome `json:"after"`
}

// A ShareDifference has the figures of a queue and resource that two plans do
// not give alike.
type ShareDifference struct {
	// Pool, Queue, Resource and Class are as in [allot.Share].
	Pool     string `json:"pool,omitzero"`
	Queue    string `json:"queue,omitzero"`
	Resource string `json:"resource"`
	Class    string `json:"class,omitzero"`
	// Before are the figures of the first plan, After those of the second; nil
	// where a plan does not have them.
	Before *allot.Share `json:"before,omitzero"`
	After  *allot.Share `json:"after,omitzero"`
}

// A Difference is what of a second plan is otherwise than in a first one, see
// [Diff]. The zero Difference is none.
type Difference struct {
	// Workloads are those of which the plans do not say the same, by ID.
	Workloads []WorkloadDifference `json:"workloads,omitempty"`
	// Shares are the figures that are not alike, by pool, queue, resource (GPU
	// first) and class.
	Shares []ShareDifference `json:"shares,omitempty"`
	// WarningsBefore and WarningsAfter are the warnings that only the first and
	// only the second plan has.
	WarningsBefore []allot.Fault `json:"warningsBefore,omitempty"`
	WarningsAfter  []allot.Fault `json:"warningsAfter,omitempty"`
}

// Diff tells how the second plan differs from the first: which workloads start, wait, are
// evicted, moved or shrunk in one of them only, or in both but elsewhere or for
// other reasons, and which figures of the queues are otherwise. A nil plan is
// one that does nothing.
//
// The plans may be of different states. Revision and Work are not compared, nor
// in which order actions of different workloads come. What is the same is left
// out, so that the Difference of a plan and itself is zero; and that of b and a
// is that of a and b with Before and After exchanged. It shares memory with the
// plans. It takes time in the size of the plans.
func Diff(a, b *allot.Plan) *Difference {
	if a == nil {
		a = new(allot.Plan)
	}
	if b == nil {
		b = new(allot.Plan)
	}
	d := new(Difference)
	merge(outcomes(a), outcomes(b), func(x, y *told) {
		w := WorkloadDifference{Workload: cmp.Or(x, y).workload}
		if x != nil {
			w.Before = x.outcome
		}
		if y != nil {
			w.After = y.outcome
		}
		if !alike(reflect.ValueOf(w.Before), reflect.ValueOf(w.After)) {
			d.Workloads = append(d.Workloads, w)
		}
	}, compareTold)
	merge(sorted(a.Shares, compareFigures), sorted(b.Shares, compareFigures), func(x, y *allot.Share) {
		if x == nil || y == nil || *x != *y {
			at := cmp.Or(x, y)
			d.Shares = append(d.Shares, ShareDifference{at.Pool, at.Queue, at.Resource, at.Class, copied(x), copied(y)})
		}
	}, compareFigures)
	merge(sorted(a.Warnings, compareFaults), sorted(b.Warnings, compareFaults), func(x, y *allot.Fault) {
		switch {
		case y == nil:
			d.WarningsBefore = append(d.WarningsBefore, *x)
		case x == nil:
			d.WarningsAfter = append(d.WarningsAfter, *y)
		}
	}, compareFaults)
	return d
}

// copied is a pointer to a copy; nil stays nil.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// IsZero says that there is no difference.
func (d *Difference) IsZero() bool {
	return len(d.Workloads) == 0 && len(d.Shares) == 0 && len(d.WarningsBefore) == 0 && len(d.WarningsAfter) == 0
}

// told is what a plan says of a workload.
type told struct {
	workload string
	outcome  Outcome
}

func compareTold(x, y *told) int { return strings.Compare(x.workload, y.workload) }

// outcomes lists the workloads of which a plan says something, by ID.
func outcomes(p *allot.Plan) []*told {
	index := make(map[string]*told)
	var list []*told
	of := func(id string) *told {
		t := index[id]
		if t == nil {
			t = &told{workload: id}
			index[id] = t
			list = append(list, t)
		}
		return t
	}
	for i := range p.Actions {
		o := &of(p.Actions[i].Workload).outcome
		o.Actions = append(o.Actions, p.Actions[i])
		o.Queue = p.Actions[i].Queue
	}
	for i := range p.Pending {
		o := &of(p.Pending[i].Workload).outcome
		o.Reasons = append(o.Reasons, p.Pending[i].Reasons...)
		o.Queue = p.Pending[i].Queue
	}
	for _, t := range list {
		t.outcome.Fate = t.outcome.fate()
	}
	slices.SortFunc(list, compareTold)
	return list
}

// merge visits the entries of two sorted lists in their order, those that
// compare equal together; nil is that a list has none.
func merge[T any](a, b []*T, visit func(x, y *T), compare func(x, y *T) int) {
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = compare(a[0], b[0])
		}
		var x, y *T
		if order <= 0 {
			x, a = a[0], a[1:]
		}
		if order >= 0 {
			y, b = b[0], b[1:]
		}
		visit(x, y)
	}
}

// sorted are pointers to the entries of a list, in order.
func sorted[T any](list []T, compare func(x, y *T) int) []*T {
	pointers := make([]*T, len(list))
	for i := range list {
		pointers[i] = &list[i]
	}
	slices.SortStableFunc(pointers, compare)
	return pointers
}

// compareFigures is by pool and queue, and GPU first.
func compareFigures(x, y *allot.Share) int {
	return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Queue, y.Queue),
		compareGPUFirst(x.Resource, y.Resource), cmp.Compare(x.Class, y.Class))
}

func compareGPUFirst(x, y string) int {
	switch {
	case x == y:
		return 0
	case x == allot.GPU:
		return -1
	case y == allot.GPU:
		return 1
	}
	return cmp.Compare(x, y)
}

// compareFaults is the order in which a Plan has its warnings.
func compareFaults(x, y *allot.Fault) int {
	return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Code, y.Code),
		cmp.Compare(x.Value, y.Value), cmp.Compare(x.Want, y.Want))
}

// alike says that two values of one type mean the same: an empty list is no
// list, and a time is the same in every zone.
func alike(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		if t, ok := a.Interface().(time.Time); ok {
			return t.Equal(b.Interface().(time.Time))
		}
		if a.Type() == reflect.TypeFor[quota.Bound]() {
			return a.Interface() == b.Interface()
		}
		for i := range a.NumField() {
			if !alike(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, key := range a.MapKeys() { // all must agree: the order cannot matter
			if other := b.MapIndex(key); !other.IsValid() || !alike(a.MapIndex(key), other) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return alike(a.Elem(), b.Elem())
	}
	return a.Equal(b)
}
