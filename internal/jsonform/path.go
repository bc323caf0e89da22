package jsonform

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A Step leads from a value to a part of it: the field of a name, the key of a
// name, or the list entry of an index.
type Step struct {
	Name string
	// Index is of a list entry, or IsField or IsKey.
	Index int
}

// What the Index of a Step is if it does not lead into a list.
const (
	IsField = -1
	IsKey   = -2
)

// A Path is the steps from a document to a place in it. The empty Path is the
// whole.
type Path []Step

// String is the path as text, `nodes[3].labels["zone"].name`; the whole is "$".
func (p Path) String() string {
	if len(p) == 0 {
		return "$"
	}
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Index == IsKey:
			b.WriteString("[" + strconv.Quote(s.Name) + "]")
		case s.Index >= 0:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case i > 0:
			b.WriteString("." + s.Name)
		default:
			b.WriteString(s.Name)
		}
	}
	return b.String()
}

// Rank is the path with the fields of the form as their places among the fields,
// for [ComparePlaces]. Every field of the path must be one of the form.
func (f *Form) Rank(p Path) Path {
	ranked := slices.Clone(p)
	for i, step := range p {
		for f.Kind == Pointer {
			f = f.Elem
		}
		if step.Index != IsField {
			f = f.Elem
			continue
		}
		rank := f.field([]byte(step.Name), 0)
		ranked[i] = Step{Index: rank}
		f = f.Fields[rank].Form
	}
	return ranked
}

// ComparePlaces compares two paths that [Form.Rank] gave by the order in which
// their places stand in a document: by field, list index and key, a whole before
// its parts.
func ComparePlaces(a, b Path) int {
	return slices.CompareFunc(a, b, func(x, y Step) int {
		return cmp.Or(cmp.Compare(x.Index, y.Index), cmp.Compare(x.Name, y.Name))
	})
}
