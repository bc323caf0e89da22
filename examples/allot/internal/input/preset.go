package input

import (
	"fmt"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/jsonform"
)

// presets are the policies that have a name, in the order of their documentation.
func presets() []allot.Policy {
	return []allot.Policy{allot.OSMO(), allot.RunAI(), allot.RunAI20(), allot.DeterminedFairShare(), allot.DeterminedPriority()}
}

// Presets are the names of the presets. "none" is the zero policy.
func Presets() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, p.Name)
	}
	return append(names, "none")
}

// Preset is the policy of a name; the error lists the names.
func Preset(name string) (allot.Policy, error) {
	for _, p := range presets() {
		if p.Name == name {
			return p, nil
		}
	}
	if name == "none" {
		return allot.Policy{}, nil
	}
	return allot.Policy{}, fmt.Errorf("must be one of %s", strings.Join(Presets(), ", "))
}

// policyJSON is the exact JSON of a policy, without a version.
func policyJSON(p allot.Policy) ([]byte, error) { return jsonform.Write(policyForm, &p) }
