package edit

import (
	"fmt"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
)

// names are those of a state, by what they are of.
type names map[string][]string

func (m *maker) names() names {
	return namesOf(m.state.Nodes, m.state.Pools, m.state.Queues, m.state.Workloads).with(&m.out)
}

// with are the names with those of a change.
func (n names) with(c *allot.Change) names {
	for what, more := range namesOf(c.Nodes, c.Pools, c.Queues, c.Workloads) { // each by itself: order cannot matter
		n[what] = append(n[what], more...)
	}
	return n
}

func namesOf(nodes []allot.Node, pools []allot.Pool, queues []allot.Queue, jobs []allot.Workload) names {
	out := make(names)
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

// in says whether there is such a name; the error names the nearest.
func (n names) in(what, name string) error {
	if slices.Contains(n[what], name) {
		return nil
	}
	return words.Unknown(what, name, n[what])
}

// kinds are what names are of, in the order in which they are looked at.
var kinds = []string{"node", "pool", "queue", "workload"}

// known says whether a change of a file is about what there is, and what it adds is new. A name
// that is mistyped makes no new noun.
func (m *maker) known(c, added *allot.Change) error {
	old := m.names()
	replaced := namesOf(c.Nodes, c.Pools, c.Queues, c.Workloads)
	fresh := namesOf(added.Nodes, added.Pools, added.Queues, added.Workloads)
	removed := names{"node": c.Remove.Nodes, "pool": c.Remove.Pools, "queue": c.Remove.Queues, "workload": c.Remove.Workloads}
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
			if old.in(what, name) == nil {
				return fmt.Errorf("add: there is a %s %q already", what, name)
			}
		}
	}
	all := m.names().with(added)
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
