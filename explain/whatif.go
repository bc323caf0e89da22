package explain

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

// Consequences are what some changes of a state would do, see [WhatIf].
type Consequences struct {
	// Changes are what is otherwise in the state itself, by kind and ID.
	Changes []Alteration `json:"changes,omitempty"`
	// Difference is what is otherwise in the plan. A workload that only one of
	// the two states has is [Absent] on the other side.
	Difference Difference `json:"difference,omitzero"`
}

// An Alteration is one thing of a state that came, went or is otherwise.
type Alteration struct {
	// Object is what kind of thing it is, ID its name: the owner of a budget;
	// empty for the state itself.
	Object Object `json:"object"`
	ID     string `json:"id,omitzero"`
	// Came and Went: only the state after, or only the one before, has it.
	Came bool `json:"came,omitzero"`
	Went bool `json:"went,omitzero"`
	// Fields are what is not alike in it; of what came or went, what it says.
	Fields []FieldDifference `json:"fields,omitempty"`
}

// A FieldDifference is a field that is not alike before and after.
type FieldDifference struct {
	// Path is the place in the JSON of the thing, such as
	// resources["gpu"].quota or devices[3].unhealthy. What has a name in a list
	// stands by its name; devices and tasks themselves stand for their number.
	Path string `json:"path"`
	// Resource is of what Before and After are amounts; empty if of nothing.
	Resource string `json:"resource,omitzero"`
	// Before and After are the values as in JSON; empty is none.
	Before string `json:"before,omitzero"`
	After  string `json:"after,omitzero"`
}

// WhatIf tells what changes of a state would do to its plan: it decides on the
// state as it is and as it would be, and tells the difference of the two plans.
//
// Everything is a change of this kind: another quota or weight is an [allot.Queue] put
// anew, another policy an [allot.Pool], a new machine or one to be drained an [allot.Node]. A
// Cordoned node takes nothing new, a Lost one has nothing left on it, which is
// where a drain ends. The plan before is only compared, not carried out first:
// to ask what comes after it, give [allot.Snapshot.Apply] of it.
//
// The error is the context's, or that of [allot.Snapshot.With] for the changes. It takes
// the time of two solves. The snapshot stays as it is.
func WhatIf(ctx context.Context, s *allot.Snapshot, changes ...allot.Change) (*Consequences, error) {
	next, err := s.With(changes...)
	if err != nil {
		return nil, err
	}
	before, err := s.DecideContext(ctx)
	if err != nil {
		return nil, err
	}
	after, err := next.DecideContext(ctx)
	if err != nil {
		return nil, err
	}
	return Compare(before, after)
}

// Compare tells what is otherwise in the state and the plan of a second decision: what
// [WhatIf] does for a caller that has decided already, on two versions of a snapshot or on any two.
//
// The error tells of a fault of the library. It takes the time of both plans, and one time
// through both states.
func Compare(before, after *allot.Decision) (*Consequences, error) {
	first, err := before.Plan()
	if err != nil {
		return nil, err
	}
	second, err := after.Plan()
	if err != nil {
		return nil, err
	}
	s, next := before.Snapshot(), after.Snapshot()
	c := &Consequences{Changes: alterations(s, next), Difference: *Diff(first, second)}
	for i := range c.Difference.Workloads {
		w := &c.Difference.Workloads[i]
		if _, known := s.Workload(w.Workload); !known {
			w.Before.Fate = Absent
		}
		if _, known := next.Workload(w.Workload); !known {
			w.After.Fate = Absent
		}
	}
	return c, nil
}

// String says what changes, and then what comes of it as [Difference.String] does
// (X4).
//
//	Changed:
//	  queue research: gpu limit 12 -> 16
//	1 workload starts now:
//	  …
//
// Neighbours of which the same is to be said have one line.
func (c *Consequences) String() string {
	var b bytes.Buffer
	_ = c.WriteText(&b) // a buffer takes everything
	return b.String()
}

// WriteText writes [Consequences.String]; the error is w's.
func (c *Consequences) WriteText(w io.Writer) error {
	var b bytes.Buffer
	if len(c.Changes) == 0 {
		b.WriteString("Nothing is changed.\n")
	} else {
		b.WriteString("Changed:\n")
	}
	for i := 0; i < len(c.Changes); {
		first, says := &c.Changes[i], c.Changes[i].text()
		names := []string{prose.Word(first.ID)}
		for i++; i < len(c.Changes) && c.Changes[i].Object == first.Object && c.Changes[i].text() == says; i++ {
			names = append(names, prose.Word(c.Changes[i].ID))
		}
		b.WriteString("  " + first.Object.String())
		switch {
		case first.Object == ObjectState:
		case len(names) > maxNamed:
			b.WriteString("s " + names[0] + " to " + names[len(names)-1] + " (" + prose.Decimal(len(names)) + ")")
		case len(names) > 1:
			b.WriteString("s " + strings.Join(names, ", "))
		default:
			b.WriteString(" " + names[0])
		}
		b.WriteString(says + "\n")
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	return c.Difference.WriteText(w)
}

// maxNamed is how many neighbours are named one by one.
const maxNamed = 4

// String is the alteration for people, for example "queue research: gpu limit 12 ->
// 16".
func (a *Alteration) String() string {
	if a.Object == ObjectState {
		return a.Object.String() + a.text()
	}
	return a.Object.String() + " " + prose.Word(a.ID) + a.text()
}

// text is what follows the name.
func (a *Alteration) text() string {
	fields := make([]string, len(a.Fields))
	for i := range a.Fields {
		fields[i] = a.Fields[i].text(a.Came, a.Went)
	}
	says := strings.Join(fields, ", ")
	switch {
	case a.Came:
		return " added" + inBrackets(says)
	case a.Went:
		return " removed" + inBrackets(says)
	}
	return ": " + says
}

func inBrackets(says string) string {
	if says == "" {
		return ""
	}
	return " (" + says + ")"
}

// text is the field and its values: the one that is there, or both.
func (f *FieldDifference) text(came, went bool) string {
	name := f.Path
	if f.Resource != "" {
		name = prose.Word(f.Resource) + " " + lastField(f.Path)
	}
	switch {
	case came:
		return name + " " + f.value(f.After)
	case went:
		return name + " " + f.value(f.Before)
	}
	return name + " " + f.value(f.Before) + " -> " + f.value(f.After)
}

// lastField is the last step of a path that has a name of its own, which says what
// is given of a resource. Points and brackets inside a quoted key are no steps.
func lastField(path string) (field string) {
	for path != "" {
		switch path[0] {
		case '[':
			key, _ := strconv.QuotedPrefix(path[1:])
			path = path[1+len(key):]
			path = path[strings.IndexByte(path, ']')+1:]
		case '.':
			path = path[1:]
		default:
			field, path = path, ""
			if end := strings.IndexAny(field, ".["); end > 0 {
				field, path = field[:end], field[end:]
			}
		}
	}
	return field
}

// value is a value for people. A text that could be taken for something else
// is quoted.
func (f *FieldDifference) value(json string) string {
	switch json {
	case "":
		return "unset"
	case "true":
		return "yes"
	case "false":
		return "no"
	}
	if n, err := strconv.ParseInt(json, 10, 64); err == nil && f.Resource != "" {
		resource, _, _ := strings.Cut(f.Resource, "@")
		return prose.Figure(resource, n)
	}
	text, err := strconv.Unquote(json)
	if err != nil {
		return json
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil || text == "unset" || text == "yes" || text == "no" || strings.ContainsAny(text, "{(") {
		return json
	}
	return prose.Word(text)
}
