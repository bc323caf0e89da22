package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allotsched/allot"
)

// How near to each other tasks have to be (T2, T3), and where room for that is
// missing.

// eachTopology calls edit for every constraint of a workload.
func eachTopology(k *allot.Workload, edit func(t *allot.Topology)) {
	edit(&k.Topology)
	for i := range k.Groups {
		edit(&k.Groups[i].Topology)
	}
	for a := range k.Alternatives {
		f := &k.Alternatives[a]
		edit(&f.Topology)
		for i := range f.Groups {
			edit(&f.Groups[i].Topology)
		}
	}
	eachSet(k, func(s *allot.PodSet) { edit(&s.Topology) })
}

// nearness asks for wider domains: of each level that is asked for, for the next
// wider one that helps, or for none.
func (h *helper) nearness() error {
	levels := h.levels()
	for at := len(levels) - 1; at >= 0; at-- {
		if !h.asksFor(levels[at]) {
			continue
		}
		for wider := at - 1; wider >= -1; wider-- {
			r := Remedy{Kind: WiderDomain, Name: levels[at], Amount: int64(at - wider)}
			if wider >= 0 {
				r.Level = levels[wider]
			}
			r.Change = h.with(func(k *allot.Workload) { eachTopology(k, func(t *allot.Topology) { widen(t, r.Name, r.Level) }) })
			if helps, err := h.offer(r); helps || err != nil {
				if err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// levels are the names of the levels, the widest first.
func (h *helper) levels() (names []string) {
	for _, l := range h.base.Levels() {
		names = append(names, l.Name)
	}
	return append(names, allot.NodeLevel)
}

func (h *helper) asksFor(level string) (some bool) {
	eachTopology(&h.work, func(t *allot.Topology) {
		some = some || t.Required == level ||
			slices.ContainsFunc(t.Slices, func(s allot.Slice) bool { return s.Level == level })
	})
	return some
}

// widen asks for domains of another level than the one, or of none.
func widen(t *allot.Topology, level, wider string) {
	if t.Required == level {
		t.Required = wider
	}
	t.Slices = slices.DeleteFunc(slices.Clone(t.Slices), func(s allot.Slice) bool { return s.Level == level })
}

// domainOf is the domain in which new nodes like n would have to be, of the widest
// level that tasks have to share; nothing where they have to share none.
func (h *helper) domainOf(n *allot.Node) (level, path string) {
	var names []string
	for _, l := range h.levels() {
		if l == allot.NodeLevel {
			break
		}
		names = append(names, n.Domains[l])
		if h.asksFor(l) {
			return l, strings.Join(names, "/")
		}
	}
	return "", ""
}

// bestFirst sorts templates so that those come first that are in the best domain
// of which a reason tells.
func (h *helper) bestFirst(nodes []allot.Node) {
	best := make(map[string]int64)
	for i := range h.reasons {
		for _, d := range h.reasons[i].Domains {
			best[d.Level+" "+d.Domain] = max(best[d.Level+" "+d.Domain], d.Have)
		}
	}
	slices.SortStableFunc(nodes, func(a, b allot.Node) int {
		rank := func(n *allot.Node) int64 {
			level, path := h.domainOf(n)
			return best[level+" "+path]
		}
		return cmp.Compare(rank(&b), rank(&a))
	})
}
