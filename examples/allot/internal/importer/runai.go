package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/units"
	"github.com/allotsched/allot/quota"
)

// A runaiUnit is a department or project of Run:ai, as its API tells it.
type runaiUnit struct {
	Name   string `json:"name"`
	Parent struct {
		Name string `json:"name"`
	} `json:"parent"`
	DepartmentName string `json:"departmentName"`
	Resources      []struct {
		NodePool struct {
			Name string `json:"name"`
		} `json:"nodePool"`
		GPU    kaiAmounts `json:"gpu"`
		CPU    kaiAmounts `json:"cpu"`
		Memory kaiAmounts `json:"memory"`
	} `json:"resources"`
}

type kaiAmounts struct {
	Deserved        *float64 `json:"deserved"`
	Limit           *float64 `json:"limit"`
	OverQuotaWeight *float64 `json:"overQuotaWeight"`
}

// runaiFile makes queues of departments and projects.
func (m *importing) runaiFile(departments, projects []json.RawMessage) error {
	m.preset = allot.RunAI
	m.note("", "the policy is the preset runai")
	for i, list := range [][]json.RawMessage{departments, projects} {
		for _, raw := range list {
			var u runaiUnit
			if err := json.Unmarshal(raw, &u); err != nil {
				return fmt.Errorf("a department or project: %w", err)
			}
			if err := m.runaiUnit(&u, i == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *importing) runaiUnit(u *runaiUnit, department bool) error {
	if len(m.state.Queues) >= mostThings {
		return fmt.Errorf("has more than %d projects", mostThings)
	}
	q := allot.Queue{ID: u.Name, Parent: u.Parent.Name + u.DepartmentName}
	if u.Parent.Name != "" && u.DepartmentName != "" {
		q.Parent = u.Parent.Name
	}
	switch {
	case department:
		q.ID, q.Parent = departmentID(u.Name), ""
	case q.Parent != "":
		q.Parent = departmentID(q.Parent)
	}
	var all kaiAmounts
	sum := func(to **float64, n *float64) {
		switch {
		case n == nil:
		case *to == nil || *n < 0 || **to < 0: // below 0 is unlimited
			value := *n
			if *to != nil && **to < 0 {
				value = **to
			}
			*to = &value
		default:
			value := **to + *n
			*to = &value
		}
	}
	for _, r := range u.Resources {
		sum(&all.Deserved, r.GPU.Deserved)
		sum(&all.Limit, r.GPU.Limit)
		if all.OverQuotaWeight == nil {
			all.OverQuotaWeight = r.GPU.OverQuotaWeight
		}
		for _, other := range []kaiAmounts{r.CPU, r.Memory} {
			if other.Deserved != nil && *other.Deserved != 0 || other.Limit != nil && *other.Limit > 0 {
				m.note(q.ID, "quotas of CPU and memory are left out, as their units differ by version")
			}
		}
	}
	if len(u.Resources) > 1 {
		m.note(q.ID, "the quotas of several node pools are one: node pools are left out")
	}
	q.Resources = []allot.QueueResource{{
		Resource: allot.GPU, Quota: m.scaled(q.ID, all.Deserved, 1000), Limit: m.scaled(q.ID, all.Limit, 1000),
		Weight: m.scaled(q.ID, weight(all.OverQuotaWeight), 1000),
	}}
	m.state.Queues = append(m.state.Queues, q)
	return nil
}

// departmentID is the queue that stands for a department, which may be called as a project
// is.
func departmentID(name string) string { return "department:" + name }

// osmoFile makes queues of the pools of osmo pool list -t json. Numbers may be texts.
func (m *importing) osmoFile(text []byte) error {
	m.preset = allot.OSMO
	m.note("", "the policy is the preset osmo; pools are queues that share all nodes")
	type pool struct {
		Name  string `json:"name"`
		Usage struct {
			Limit    json.RawMessage `json:"quota_limit"`
			Capacity json.RawMessage `json:"total_capacity"`
		} `json:"resource_usage"`
		Limit json.RawMessage `json:"quota_limit"`
	}
	var document struct {
		NodeSets []struct {
			Pools []pool `json:"pools"`
		} `json:"node_sets"`
		Pools json.RawMessage `json:"pools"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	var pools []pool
	for _, set := range document.NodeSets {
		pools = append(pools, set.Pools...)
	}
	if len(document.Pools) > 0 {
		var list []pool
		if err := json.Unmarshal(document.Pools, &list); err != nil {
			var byName map[string]pool
			if json.Unmarshal(document.Pools, &byName) != nil {
				return fmt.Errorf("pools: %w", err)
			}
			for _, name := range slices.Sorted(maps.Keys(byName)) {
				p := byName[name]
				p.Name = name
				list = append(list, p)
			}
		}
		pools = append(pools, list...)
	}
	for _, p := range pools {
		raw := p.Usage.Limit
		if len(raw) == 0 {
			raw = p.Limit
		}
		q := allot.Queue{ID: p.Name}
		bound, err := osmoLimit(raw)
		if err != nil {
			m.note(p.Name, "a quota_limit that cannot be read is left out")
		} else if bound.Given() {
			q.Resources = []allot.QueueResource{{Resource: allot.GPU, Quota: bound}}
		}
		if len(p.Usage.Capacity) > 0 {
			m.note(p.Name, "total_capacity is left out: nodes come from kubectl get nodes -o json")
		}
		m.state.Queues = append(m.state.Queues, q)
	}
	return nil
}

// osmoLimit is a number of GPUs, or a text of one; below 0 is unlimited.
func osmoLimit(raw json.RawMessage) (quota.Bound, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return quota.Bound{}, nil
	}
	text := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return quota.Bound{}, err
		}
	}
	if text == "" || text == "N/A" {
		return quota.Bound{}, nil
	}
	n, err := units.Of(allot.GPU).Parse(text)
	switch {
	case err != nil:
		return quota.Bound{}, err
	case n < 0:
		return quota.Unlimited(), nil
	}
	return quota.Of(min(n, allot.MaxAmount)), nil
}
