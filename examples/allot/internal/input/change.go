package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
)

// The fields of the files of changes and workloads that are none of the library's.
const (
	// mergeField holds nouns of which only what is said is otherwise, addField nouns that
	// are new.
	mergeField = "merge"
	addField   = "add"
)

// Change reads a change of a state. What stands under "merge" changes what the state has:
// objects field by field, lists of named things by their names, and null takes away what
// is there; all else is the form of [allot.Change], which replaces nouns in full. What stands
// under "add" has that form too, and is what is new.
func Change(f File, s *allot.State) (c, added allot.Change, err error) {
	data, additions, err := apart(f, addField)
	if err != nil {
		return c, added, err
	}
	data, patches, err := apart(File{f.Name, data}, mergeField)
	if err != nil {
		return c, added, err
	}
	if faults := read(File{f.Name, data}, changeForm, c.UnmarshalJSON); len(faults) > 0 {
		return c, added, &Error{faults}
	}
	if additions != nil {
		faults := read(File{f.Name, additions}, changeForm, added.UnmarshalJSON)
		for i := range faults {
			faults[i].Line, faults[i].Path = 0, addField+"."+faults[i].Path
		}
		if len(faults) > 0 {
			return c, added, &Error{faults}
		}
	}
	if patches == nil {
		return c, added, nil
	}
	return c, added, merge(f, patches, s, &c)
}

// apart parts what stands in a field of its own from the rest of a file. There is none if
// there is no such field.
func apart(f File, field string) (rest []byte, patches []byte, err error) {
	root, fault := parse(f)
	if fault != nil || root.Kind != yaml.MappingNode {
		return f.Data, nil, nil // for the reading to refuse
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != field {
			continue
		}
		patch := &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root.Content[i+1]}}
		if patches, err = yaml.Marshal(patch); err != nil {
			return nil, nil, err
		}
		root.Content = append(root.Content[:i:i], root.Content[i+2:]...)
		if len(root.Content) == 0 {
			return []byte(`{"version": 1}`), patches, nil
		}
		rest, err = yaml.Marshal(root)
		return rest, patches, err
	}
	return f.Data, nil, nil
}

// keysOf are by which field the entries of a list are the same thing, the nearest
// first.
var keysOf = [][]string{{"id"}, {"resource", "class"}, {"name"}, {"owner"}, {"key", "effect"}}

// merge puts what the patches make of the nouns of the state into the change.
func merge(f File, patches []byte, s *allot.State, into *allot.Change) error {
	var patch allot.Change
	// Read as a change too, so that what is no field is refused; then as it stands, as
	// only there is what is said told from what is not.
	w, fault := unfold(File{f.Name, patches}, changeForm, nil)
	if fault != nil {
		return &Error{[]Fault{*fault}}
	}
	exact := w.out.Bytes()
	var invalid *allot.InvalidError
	if err := patch.UnmarshalJSON(exact); len(w.faults) > 0 || errors.As(err, &invalid) {
		faults := w.faults
		if invalid != nil {
			for _, one := range invalid.Faults {
				if one.Value != "null" { // takes away
					faults = append(faults, one)
				}
			}
		}
		if len(faults) > 0 {
			for i := range faults {
				faults[i].Path = mergeField + "." + faults[i].Path
			}
			return &Error{located(f, faults, none)}
		}
	}
	whole, err := s.MarshalJSON()
	if err != nil {
		return err
	}
	old, err := generic(whole)
	if err != nil {
		return err
	}
	said, err := generic(exact)
	if err != nil {
		return err
	}
	result := map[string]any{"version": json.Number("1")}
	for _, list := range []string{"nodes", "pools", "queues", "workloads", "budgets", "reservations"} {
		entries, _ := said[list].([]any)
		var out []any
		for i, e := range entries {
			before := findEntry(old[list], e)
			if before == nil {
				return &Error{[]Fault{{File: f.Name, Fault: allot.Fault{
					Path: fmt.Sprintf("%s.%s[%d]", mergeField, list, i), Code: allot.FaultUnknownValue, Want: "must be in the state, which has none of that name" + nearestEntries(old[list], e),
				}}}}
			}
			out = append(out, merged(before, e))
		}
		if out != nil {
			result[list] = out
		}
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	var made allot.Change
	if err := made.UnmarshalJSON(text); err != nil {
		return &Error{located(f, faultsOf(err), none)}
	}
	into.Nodes = append(into.Nodes, made.Nodes...)
	into.Pools = append(into.Pools, made.Pools...)
	into.Queues = append(into.Queues, made.Queues...)
	into.Workloads = append(into.Workloads, made.Workloads...)
	into.Budgets = append(into.Budgets, made.Budgets...)
	into.Reservations = append(into.Reservations, made.Reservations...)
	return nil
}

// generic is a JSON object as maps, with its numbers as they are written.
func generic(text []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var out map[string]any
	return out, dec.Decode(&out)
}

// sameThing says whether two entries of a list are of the same name.
func sameThing(a, b any) (same, named bool) {
	x, okX := a.(map[string]any)
	y, okY := b.(map[string]any)
	if !okX || !okY {
		return false, false
	}
	for _, keys := range keysOf {
		if _, has := y[keys[0]]; !has {
			continue
		}
		same := true
		for _, key := range keys {
			same = same && x[key] == y[key]
		}
		return same, true
	}
	return false, false
}

// findEntry is the entry of a list that is the same thing; nil if there is none.
func findEntry(list any, e any) any {
	entries, _ := list.([]any)
	for _, other := range entries {
		if same, _ := sameThing(other, e); same {
			return other
		}
	}
	return nil
}

// nearestEntries says which names in a list are nearest to that of an entry.
func nearestEntries(list any, e any) string {
	name := func(e any) string {
		object, _ := e.(map[string]any)
		id, _ := object["id"].(string)
		return id
	}
	entries, _ := list.([]any)
	var names []string
	for _, other := range entries {
		if id := name(other); id != "" {
			names = append(names, id)
		}
	}
	if len(names) == 0 || name(e) == "" {
		return ""
	}
	return "; the nearest: " + strings.Join(words.Nearest(name(e), names, 5), ", ")
}

// merged is what a patch makes of a value.
func merged(before, patch any) any {
	object, isObject := patch.(map[string]any)
	was, wasObject := before.(map[string]any)
	if isObject && wasObject {
		out := make(map[string]any, len(was))
		for key, value := range was { // a map again: order cannot matter
			out[key] = value
		}
		for key, value := range object {
			if value == nil {
				delete(out, key)
				continue
			}
			out[key] = merged(was[key], value)
		}
		return out
	}
	list, isList := patch.([]any)
	wasList, _ := before.([]any)
	if !isList || len(list) == 0 {
		return patch
	}
	if _, named := sameThing(list[0], list[0]); !named {
		return patch
	}
	out := append([]any(nil), wasList...)
	for _, e := range list {
		known := false
		for i := range out {
			if same, _ := sameThing(out[i], e); same {
				out[i], known = merged(out[i], e), true
			}
		}
		if !known {
			out = append(out, e)
		}
	}
	return out
}

// Workloads reads workloads: one, a list of them, or a document that has some.
func Workloads(f File) ([]allot.Workload, error) {
	root, fault := parse(f)
	if fault != nil {
		return nil, &Error{[]Fault{*fault}}
	}
	w := &walker{places: make(map[string]int), all: true, left: valuesOf(len(f.Data))}
	word := func(text, tag string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text} }
	document := root
	switch {
	case root.Kind == yaml.SequenceNode:
		document = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{word("workloads", "!!str"), root}}
	case root.Kind == yaml.MappingNode && valueOfNode(root, "workloads") == nil:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{root}}
		content := []*yaml.Node{word("workloads", "!!str"), list}
		for i := 0; i+1 < len(root.Content); i += 2 { // the version is the document's
			if root.Content[i].Value == "version" {
				content = append([]*yaml.Node{root.Content[i], root.Content[i+1]}, content...)
				root.Content = append(root.Content[:i:i], root.Content[i+2:]...)
				break
			}
		}
		document = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: content}
	}
	w.document(document, changeForm)
	var c allot.Change
	err := c.UnmarshalJSON(w.out.Bytes())
	if err != nil || len(w.faults) > 0 {
		return nil, &Error{located(f, append(w.faults, faultsOf(err)...), func([]allot.Fault) map[string]int { return w.places })}
	}
	if len(c.Workloads) == 0 {
		return nil, fmt.Errorf("%s: has no workload", f.Name)
	}
	return c.Workloads, nil
}

// valueOfNode is the value of a field; nil if there is none.
func valueOfNode(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}
