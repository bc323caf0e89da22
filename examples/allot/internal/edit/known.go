package edit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
)

// named are the names of some nouns, by what they are of.
type named map[string][]string

func namesOf(nodes []allot.Node, pools []allot.Pool, queues []allot.Queue, jobs []allot.Workload) named {
	out := make(named)
	for i := range nodes {
		out["node"] = append(out["node"], nodes[i].ID)
	}
	for i := range pools {
		out["pool"] = append(out["pool"], pools[i].ID)
	}
	for i := range queues {
		out["queue"] = append(out["queue"], queues[i].ID)
	}
	for i := range jobs {
		out["workload"] = append(out["workload"], jobs[i].ID)
	}
	return out
}

// names are those that are known, to be looked up: a change may name as many as there are.
type names map[string]map[string]bool

func (m *maker) names() names {
	known := make(names)
	for _, what := range kinds {
		known[what] = make(map[string]bool)
	}
	known.add(namesOf(m.state.Nodes, m.state.Pools, m.state.Queues, m.state.Workloads))
	known.add(namesOf(m.out.Nodes, m.out.Pools, m.out.Queues, m.out.Workloads))
	return known
}

func (n names) add(more named) {
	for what, list := range more { // each by itself: order cannot matter
		for _, name := range list {
			n[what][name] = true
		}
	}
}

// in says whether there is such a name; the error names the nearest.
func (n names) in(what, name string) error {
	if n[what][name] {
		return nil
	}
	return words.Unknown(what, name, slices.Sorted(maps.Keys(n[what])))
}

// kinds are what names are of, in the order in which they are looked at.
var kinds = []string{"node", "pool", "queue", "workload"}

// known says whether a change of a file is about what there is, and what it adds is new. A name
// that is mistyped makes no new noun.
func (m *maker) known(c, added *allot.Change) error {
	old := m.names()
	replaced := namesOf(c.Nodes, c.Pools, c.Queues, c.Workloads)
	fresh := namesOf(added.Nodes, added.Pools, added.Queues, added.Workloads)
	removed := named{"node": c.Remove.Nodes, "pool": c.Remove.Pools, "queue": c.Remove.Queues, "workload": c.Remove.Workloads}
	for _, what := range kinds {
		for _, name := range replaced[what] {
			if err := old.in(what, name); err != nil {
				return fmt.Errorf("%w; what is new stands under \"add\"", err)
			}
		}
		for _, name := range removed[what] {
			if err := old.in(what, name); err != nil {
				return fmt.Errorf("remove: %w", err)
			}
		}
		for _, name := range fresh[what] {
			if old[what][name] {
				return fmt.Errorf("add: there is a %s %q already", what, name)
			}
		}
	}
	all := old
	all.add(fresh)
	for _, list := range [][]allot.Workload{c.Workloads, added.Workloads} {
		for i := range list {
			if w := &list[i]; w.Queue != "" {
				if err := all.in("queue", w.Queue); err != nil {
					return fmt.Errorf("job %s: %w", w.ID, err)
				}
			}
		}
	}
	for _, list := range [][]allot.Queue{c.Queues, added.Queues} {
		for i := range list {
			if q := &list[i]; q.Parent != "" {
				if err := all.in("queue", q.Parent); err != nil {
					return fmt.Errorf("queue %s: %w", q.ID, err)
				}
			}
		}
	}
	return nil
}
