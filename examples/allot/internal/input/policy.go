package input

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/allotsched/allot"
)

// Policy reads a policy: its fields, the name of a preset with fields above it, or a
// document with the policy of its only pool.
func Policy(f File) (allot.Policy, error) {
	if len(f.Data) > MaxYAML {
		return allot.Policy{}, fmt.Errorf("%s: is larger than %d MiB", f.Name, MaxYAML>>20)
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(f.Data, &tree); err != nil {
		return allot.Policy{}, &Error{[]Fault{*syntax(f.Name, err)}}
	}
	if len(tree.Content) == 0 {
		return allot.Policy{}, fmt.Errorf("%s: is empty", f.Name)
	}
	document := tree.Content[0]
	if valueOfNode(document, "policy") == nil && valueOfNode(document, "pools") == nil {
		word := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "policy"}
		document = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{word, document}}
	}
	w := &walker{places: make(map[string]int), note: true, left: valuesOf(len(f.Data))}
	w.document(document, stateForm)
	var s allot.State
	err := s.UnmarshalJSON(w.out.Bytes())
	if err == nil && len(w.faults) == 0 {
		err = allot.Check(&s)
	}
	if err != nil || len(w.faults) > 0 {
		return allot.Policy{}, &Error{located(f, append(w.faults, faultsOf(err)...), w.places)}
	}
	if len(s.Pools) != 1 {
		return allot.Policy{}, fmt.Errorf("%s: must be a policy or have one pool, has %d pools", f.Name, len(s.Pools))
	}
	return s.Pools[0].Policy, nil
}
