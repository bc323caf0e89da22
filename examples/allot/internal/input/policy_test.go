package input

import (
	"reflect"
	"strings"
	"testing"

	"github.com/allotsched/allot"
)

// A policy stands by itself in all of its forms; what is none is refused, with its line.
func TestPolicy(t *testing.T) {
	want := allot.RunAI()
	want.SearchBudget = 7
	for _, text := range []string{
		"preset: runai\nsearchBudget: 7\n", `{"preset": "runai", "searchBudget": 7}`, "policy: {preset: runai, searchBudget: 7}",
		"version: 1\npools: [{id: a, policy: {preset: runai, searchBudget: 7}}]",
	} {
		if got, err := Policy(File{Name: "p.yaml", Data: []byte(text)}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "is empty", "searchBudget: 7\nnope: 1": "p.yaml:2", "maxMovedPercent: -5": "p.yaml:1", "pools: []": "has 0 pools", "runia": "one of osmo", "[": "YAML",
	} {
		if _, err := Policy(File{Name: "p.yaml", Data: []byte(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
