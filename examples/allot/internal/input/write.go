package input

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/internal/jsonform"
)

// YAML is the state in the form for people: what [State] reads of it is the same state,
// exactly. The error is that of the state's JSON.
func YAML(s *allot.State) ([]byte, error) {
	text, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	tree, err := treeOf(text)
	if err != nil {
		return nil, err
	}
	var fields []*yaml.Node
	for i := 0; i+1 < len(tree.Content); i += 2 {
		if tree.Content[i].Value != "version" {
			fields = append(fields, tree.Content[i], tree.Content[i+1])
		}
	}
	tree.Content = fields
	say(tree, stateForm, bare, "")
	return output.Lines(tree)
}

// treeOf is JSON as a tree of YAML without its look.
func treeOf(text []byte) (*yaml.Node, error) {
	var tree yaml.Node
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	root := tree.Content[0]
	plain(root)
	return root, nil
}

func plain(n *yaml.Node) {
	n.Style = 0
	for _, below := range n.Content {
		plain(below)
	}
}

// say turns the numbers of a tree that are amounts into what people say, and devices
// in a row that are alike into one entry with their number.
func say(n *yaml.Node, f *jsonform.Form, m measure, resource string) {
	for f.Kind == jsonform.Pointer {
		f = f.Elem
	}
	switch {
	case f.Type == policyType && n.Kind == yaml.MappingNode && presetOf(n) != "":
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: presetOf(n)}
	case f.Kind == jsonform.Object && n.Kind == yaml.MappingNode:
		if f.Type == resourceType {
			resource = valueOf(n, "resource")
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			for _, below := range f.Fields {
				if below.Name == n.Content[i].Value {
					say(n.Content[i+1], below.Form, measures[f.Type][below.Name], resource)
				}
			}
		}
	case f.Kind == jsonform.List && n.Kind == yaml.SequenceNode:
		for _, below := range n.Content {
			say(below, f.Elem, bare, "")
		}
		if f.Elem.Type == deviceType {
			gather(n)
		}
		if len(n.Content) > 0 && n.Content[0].Kind == yaml.ScalarNode {
			n.Style = yaml.FlowStyle
		}
	case f.Kind == jsonform.Map && n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			say(n.Content[i+1], f.Elem, m, n.Content[i].Value)
		}
		n.Style = yaml.FlowStyle
	case m != bare && n.Tag == "!!int":
		kind, _ := m.kind(resource)
		text := kind.Text(atoi(n.Value))
		n.Value, n.Tag = text, "!!str"
		if strings.Trim(text, "-0123456789") == "" {
			n.Tag = "!!int"
		} else if strings.Trim(text, "-0123456789.") == "" {
			n.Tag = "!!float"
		}
	}
}

// presetOf is the name of the preset that a policy is, "" if it is none.
func presetOf(n *yaml.Node) string {
	for _, p := range presets() {
		if valueOf(n, "name") != p.Name {
			continue
		}
		text, err := policyJSON(p)
		if err != nil {
			return ""
		}
		if tree, err := treeOf(text); err == nil && equal(n, tree) {
			return p.Name
		}
	}
	return ""
}

// valueOf is the text of a field.
func valueOf(n *yaml.Node, name string) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1].Value
		}
	}
	return ""
}

func atoi(text string) int64 {
	var n int64
	node := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: text}
	if node.Decode(&n) != nil {
		return 0
	}
	return n
}

// gather makes one entry of devices in a row that are alike.
func gather(list *yaml.Node) {
	var out []*yaml.Node
	for i := 0; i < len(list.Content); {
		same := i + 1
		for same < len(list.Content) && equal(list.Content[i], list.Content[same]) {
			same++
		}
		one := list.Content[i]
		if same > i+1 {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "count"}
			count := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(same - i)}
			one.Content = append([]*yaml.Node{key, count}, one.Content...)
		}
		one.Style = yaml.FlowStyle
		out = append(out, one)
		i = same
	}
	list.Content = out
}

// equal: the trees say the same.
func equal(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.Tag != b.Tag || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !equal(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// Plain is a YAML document as plain values: maps, lists, texts and numbers.
func Plain(text []byte) (any, error) {
	var tree yaml.Node
	if separators(text) > maxSeparators {
		return nil, fmt.Errorf("has more than %d commas, colons, lines and the like", maxSeparators)
	}
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	w := &walker{left: maxValues}
	if len(tree.Content) == 0 {
		return nil, nil
	}
	w.rawBelow(tree.Content[0])
	dec := json.NewDecoder(&w.out)
	dec.UseNumber()
	var out any
	return out, dec.Decode(&out)
}
