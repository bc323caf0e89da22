package explain

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/jsonform"
)

// alterations are what two versions do not have in common.
func alterations(before, after *allot.Snapshot) []Alteration {
	var out []Alteration
	if fields := fieldDifferences(schema.Object(reflect.TypeFor[allot.State]()), head(before), head(after)); len(fields) > 0 {
		out = append(out, Alteration{Object: ObjectState, Fields: fields})
	}
	c := after.Since(before)
	out = appendAlterations(out, ObjectNode, c.Nodes, c.Remove.Nodes, func(n *allot.Node) string { return n.ID }, before.Node)
	out = appendAlterations(out, ObjectPool, c.Pools, c.Remove.Pools, func(p *allot.Pool) string { return p.ID }, before.Pool)
	out = appendAlterations(out, ObjectQueue, c.Queues, c.Remove.Queues, func(q *allot.Queue) string { return q.ID }, before.Queue)
	out = appendAlterations(out, ObjectWorkload, c.Workloads, c.Remove.Workloads, func(k *allot.Workload) string { return k.ID }, before.Workload)
	out = appendAlterations(out, ObjectBudget, c.Budgets, c.Remove.Budgets, func(b *allot.DisruptionBudget) string { return b.Owner }, before.Budget)
	return appendAlterations(out, ObjectReservation, c.Reservations, c.Remove.Reservations, func(r *allot.Reservation) string { return r.ID }, before.Reservation)
}

// head is what the state says beside its objects.
func head(s *allot.Snapshot) *allot.State {
	return &allot.State{Now: s.Now(), Revision: s.Revision(), Levels: s.Levels()}
}

// appendAlterations tells what was put and what is gone of one object, by ID.
func appendAlterations[T any](out []Alteration, object Object, put []T, gone []string, id func(*T) string, old func(id string) (T, bool)) []Alteration {
	form, from := schema.Object(reflect.TypeFor[T]()), len(out)
	for i := range put {
		a := Alteration{Object: object, ID: id(&put[i])}
		before, known := old(a.ID)
		a.Came, a.Fields = !known, fieldDifferences(form, &before, &put[i])
		if a.Came || len(a.Fields) > 0 { // else it was put again as it was
			out = append(out, a)
		}
	}
	for _, name := range gone {
		before, _ := old(name)
		out = append(out, Alteration{Object: object, ID: name, Went: true, Fields: fieldDifferences(form, &before, new(T))})
	}
	slices.SortFunc(out[from:], func(a, b Alteration) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// fieldDifferences are what is not alike in two values, by their JSON.
func fieldDifferences[T any](form *jsonform.Form, a, b *T) []FieldDifference {
	w := fieldWalk{}
	w.value(form, reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
	return w.found
}

// A fieldWalk goes through two values of one form side by side.
type fieldWalk struct {
	found    []FieldDifference
	steps    jsonform.Path
	resource string // of which the amounts here are
}

func (w *fieldWalk) below(step jsonform.Step, f *jsonform.Form, a, b reflect.Value) {
	w.steps = append(w.steps, step)
	w.value(f, a, b)
	w.steps = w.steps[:len(w.steps)-1]
}

func (w *fieldWalk) value(f *jsonform.Form, a, b reflect.Value) {
	switch f.Kind {
	case jsonform.Object:
		w.object(f, a, b)
	case jsonform.List:
		if f.Elem.Kind == jsonform.Object {
			w.list(f, a, b)
		} else {
			w.leaf(f, a, b)
		}
	case jsonform.Map:
		w.mapping(f, a, b)
	case jsonform.Pointer:
		if a.IsNil() || b.IsNil() {
			w.leaf(f, a, b) // nothing there is not the same as a zero value
		} else {
			w.value(f.Elem, a.Elem(), b.Elem())
		}
	default:
		w.leaf(f, a, b)
	}
}

func (w *fieldWalk) object(f *jsonform.Form, a, b reflect.Value) {
	keyed := len(w.steps) == 0 || w.steps[len(w.steps)-1].Index == jsonform.IsKey
	for i := range f.Fields {
		field := &f.Fields[i]
		if keyed && slices.Contains(nameFields[f.Type], field.Name) {
			continue // which it is, not what it says
		}
		if f.Type == reflect.TypeFor[allot.QueueResource]() && field.Form.Kind == jsonform.Custom && field.Name != "weight" {
			w.resource = w.steps[len(w.steps)-1].Name
		}
		w.below(jsonform.Step{Name: field.Name, Index: jsonform.IsField}, field.Form, a.Field(field.Index), b.Field(field.Index))
		w.resource = ""
	}
}

// nameFields are those by which things are told from others of their kind.
var nameFields = map[reflect.Type][]string{
	reflect.TypeFor[allot.Node]():             {"id"},
	reflect.TypeFor[allot.Pool]():             {"id"},
	reflect.TypeFor[allot.Queue]():            {"id"},
	reflect.TypeFor[allot.Workload]():         {"id"},
	reflect.TypeFor[allot.DisruptionBudget](): {"owner"},
	reflect.TypeFor[allot.QueueResource]():    {"resource", "class"},
	reflect.TypeFor[allot.ExitAction]():       {"code"},
	reflect.TypeFor[allot.Class]():            {"name"},
	reflect.TypeFor[allot.PodSet]():           {"name"},
	reflect.TypeFor[allot.Group]():            {"name"},
}

// list tells what is not alike in the entries that belong together: by their
// names, or else by their places. Of devices and tasks that only one side has
// the number says enough.
func (w *fieldWalk) list(f *jsonform.Form, a, b reflect.Value) {
	if left, right := namesOf(a), namesOf(b); distinct(left) && distinct(right) && sameOrder(left, right) {
		for i, name := range left {
			w.entry(jsonform.Step{Name: name, Index: jsonform.IsKey}, f.Elem, a.Index(i), entryAt(b, slices.Index(right, name)))
		}
		for i, name := range right {
			if !slices.Contains(left, name) {
				w.entry(jsonform.Step{Name: name, Index: jsonform.IsKey}, f.Elem, reflect.Value{}, b.Index(i))
			}
		}
		return
	}
	length := max(a.Len(), b.Len())
	if f.Elem.Type == reflect.TypeFor[allot.Device]() || f.Elem.Type == reflect.TypeFor[allot.Task]() {
		w.add(strconv.Itoa(a.Len()), strconv.Itoa(b.Len()))
		length = min(a.Len(), b.Len())
	}
	for i := range length {
		w.entry(jsonform.Step{Index: i}, f.Elem, entryAt(a, i), entryAt(b, i))
	}
}

// entryAt is not valid where the list has none.
func entryAt(list reflect.Value, i int) reflect.Value {
	if i < 0 || i >= list.Len() {
		return reflect.Value{}
	}
	return list.Index(i)
}

// entry tells of entries that belong together, of which one may not be there:
// it is told by what it says, or, where that is nothing, by itself.
func (w *fieldWalk) entry(step jsonform.Step, f *jsonform.Form, a, b reflect.Value) {
	before, zero := len(w.found), reflect.Zero(f.Type)
	switch {
	case !a.IsValid():
		w.below(step, f, zero, b)
	case !b.IsValid():
		w.below(step, f, a, zero)
	default:
		w.below(step, f, a, b)
		return
	}
	if len(w.found) == before {
		w.steps = append(w.steps, step)
		w.add(jsonText(f, a), jsonText(f, b))
		w.steps = w.steps[:len(w.steps)-1]
	}
}

// distinct says that all entries of a list have a name, each its own.
func distinct(names []string) bool {
	inOrder := slices.Sorted(slices.Values(names))
	return len(names) == 0 || inOrder[0] != "" && len(slices.Compact(inOrder)) == len(names)
}

// sameOrder says that the names in both lists come in the same order.
func sameOrder(a, b []string) bool {
	notInB := func(name string) bool { return !slices.Contains(b, name) }
	notInA := func(name string) bool { return !slices.Contains(a, name) }
	return slices.Equal(slices.DeleteFunc(slices.Clone(a), notInB), slices.DeleteFunc(slices.Clone(b), notInA))
}

func namesOf(list reflect.Value) []string {
	names := make([]string, list.Len())
	for i := range names {
		names[i] = entryName(list.Index(i))
	}
	return names
}

// entryName is by what an entry is told from the others; empty if by its place.
func entryName(entry reflect.Value) string {
	switch e := entry.Interface().(type) {
	case allot.QueueResource:
		return resourceText(e.Resource, e.Class)
	case allot.ExitAction:
		return strconv.Itoa(e.Code)
	case allot.Class:
		return e.Name
	case allot.PodSet:
		return e.Name
	case allot.Group:
		return e.Name
	}
	return ""
}

// mapping goes by the keys of both. All maps of a State with numbers in them
// are amounts of resources.
func (w *fieldWalk) mapping(f *jsonform.Form, a, b reflect.Value) {
	var keys []string
	for _, m := range []reflect.Value{a, b} {
		for _, key := range m.MapKeys() { // sorted before use
			keys = append(keys, key.String())
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if f.Elem.Kind == jsonform.Int {
			w.resource = key
		}
		w.steps = append(w.steps, jsonform.Step{Name: key, Index: jsonform.IsKey})
		at := reflect.ValueOf(key)
		w.add(jsonText(f.Elem, a.MapIndex(at)), jsonText(f.Elem, b.MapIndex(at)))
		w.steps = w.steps[:len(w.steps)-1]
	}
	w.resource = ""
}

// leaf tells two values that have no parts of their own. Numbers and yes or no
// are always something; all else may be absent.
func (w *fieldWalk) leaf(f *jsonform.Form, a, b reflect.Value) {
	text := func(v reflect.Value) string {
		if f.Kind != jsonform.Int && f.Kind != jsonform.Bool && f.Absent(v) {
			return ""
		}
		return jsonText(f, v)
	}
	w.add(text(a), text(b))
}

// jsonText is a value as in JSON, empty if it is not there.
func jsonText(f *jsonform.Form, v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	return f.Text(v)
}

func (w *fieldWalk) add(before, after string) {
	if before != after {
		w.found = append(w.found, FieldDifference{Path: w.steps.String(), Resource: w.resource, Before: before, After: after})
	}
}
