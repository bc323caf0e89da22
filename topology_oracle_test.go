package allot

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// The oracle of the topology: every way to place the tasks of one gang is tried, by
// the rules read plainly and without a look at the solver or at Verify. What it
// knows: whole devices and CPU on up to 16 nodes, one gang, required levels,
// slices, groups of which some are enough, and the domains that a preferred level
// is counted in.

// A topologyOracle is a cluster and one gang that wants in.
type topologyOracle struct {
	nodes   []oracleSite
	levels  []string // the named ones and NodeLevel
	tasks   []oracleTopologyTask
	bounds  []oracleTogether
	seen    map[string]bool // what has been tried in vain
	key     []byte
	steps   int    // places tried; beyond mostOracleSteps it gives up, and does not know
	alike   []bool // by task: interchangeable with the one before it
	touches [][]int
	at      []int // by task its node, while it is placed
	found   []int // by task its node, of the way that was found last
	held    []bool
	parted  bool         // what is held breaks a bound already
	shared  *oracleParts // nil where parts may be of any size
}

// An oracleSite is what a node has free, and its domains by level: −1 is none.
type oracleSite struct {
	gpu, cpu int64
	domains  []int
}

type oracleTopologyTask struct {
	set      int
	index    int
	gpu, cpu int64
}

// An oracleTogether is a number of tasks of which all are in one domain of a level.
type oracleTogether struct {
	level int
	tasks []int
	at    int // the domain, while somebody is there
	there int
}

// readTopology reads the cluster, with what runs on it, and the workload's first
// form: the tasks of the pod sets named, all of them.
func readTopology(s *State, w *Workload, sets []int) *topologyOracle {
	o := &topologyOracle{seen: make(map[string]bool)}
	for _, l := range s.Levels {
		o.levels = append(o.levels, l.Name)
	}
	o.levels = append(o.levels, NodeLevel)
	named := make(map[string]int)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		site := oracleSite{gpu: int64(len(n.Devices)), cpu: n.Capacity[CPU], domains: make([]int, len(o.levels))}
		if n.Cordoned || n.Lost {
			site.gpu, site.cpu = -1, -1
		}
		path := ""
		for l, level := range o.levels {
			name := n.Domains[level]
			if level == NodeLevel {
				name = n.ID
			}
			path += fmt.Sprintf("/%q", name)
			site.domains[l] = -1
			if name != "" {
				if _, known := named[path]; !known {
					named[path] = len(named)
				}
				site.domains[l] = named[path]
			}
		}
		o.nodes = append(o.nodes, site)
	}
	o.occupy(s)
	o.readGang(w, sets)
	o.hold(s, w)
	return o
}

// occupy takes away what tasks hold.
func (o *topologyOracle) occupy(s *State) {
	for i := range s.Workloads {
		w := &s.Workloads[i]
		for _, t := range w.Tasks {
			at := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.ID == t.Node })
			set := slices.IndexFunc(w.PodSets, func(ps PodSet) bool { return ps.Name == t.PodSet })
			o.nodes[at].gpu -= int64(len(t.Devices))
			o.nodes[at].cpu -= w.PodSets[set].Request.Resources[CPU]
		}
	}
}

func (o *topologyOracle) level(name string) int { return slices.Index(o.levels, name) }

// readGang lists the tasks and what binds them.
func (o *topologyOracle) readGang(w *Workload, sets []int) {
	bySet := make(map[int][]int)
	for _, k := range sets {
		ps := &w.PodSets[k]
		for index := range ps.Count {
			bySet[k] = append(bySet[k], len(o.tasks))
			o.tasks = append(o.tasks, oracleTopologyTask{set: k, index: index,
				gpu: int64(ps.Request.GPU.Count), cpu: ps.Request.Resources[CPU]})
		}
	}
	bind := func(level string, tasks []int) {
		if level != "" && len(tasks) > 0 {
			o.bounds = append(o.bounds, oracleTogether{level: o.level(level), tasks: tasks})
		}
	}
	under := func(group string) (tasks []int) {
		for _, k := range sets {
			for g := w.PodSets[k].Group; ; {
				if g == group {
					tasks = append(tasks, bySet[k]...)
				}
				if g == "" || g == group {
					break
				}
				g = w.Groups[slices.IndexFunc(w.Groups, func(x Group) bool { return x.Name == g })].Parent
			}
		}
		return tasks
	}
	for _, k := range sets {
		ps := &w.PodSets[k]
		bind(ps.Topology.Required, bySet[k])
		for _, slice := range ps.Topology.Slices {
			for part := range slices.Chunk(bySet[k], slice.Size) {
				bind(slice.Level, part)
			}
		}
	}
	for i := range w.Groups {
		bind(w.Groups[i].Topology.Required, under(w.Groups[i].Name))
	}
	var all []int
	for i := range o.tasks {
		all = append(all, i)
	}
	bind(w.Topology.Required, all)
	o.relate()
}

// relate finds out which bounds a task touches, and which tasks are the same.
func (o *topologyOracle) relate() {
	o.touches, o.alike = make([][]int, len(o.tasks)), make([]bool, len(o.tasks))
	o.at, o.held = make([]int, len(o.tasks)), make([]bool, len(o.tasks))
	for b := range o.bounds {
		for _, t := range o.bounds[b].tasks {
			o.touches[t] = append(o.touches[t], b)
		}
	}
	for t := 1; t < len(o.tasks); t++ {
		o.alike[t] = o.tasks[t].set == o.tasks[t-1].set && slices.Equal(o.touches[t], o.touches[t-1])
	}
}

// hold has those tasks of the gang in their places that run already: what they
// take is taken, what they bind is bound (T6).
func (o *topologyOracle) hold(s *State, w *Workload) {
	for _, running := range w.Tasks {
		n := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.ID == running.Node })
		t := slices.IndexFunc(o.tasks, func(t oracleTopologyTask) bool {
			return w.PodSets[t.set].Name == running.PodSet && t.index == running.Index
		})
		if t < 0 {
			continue // of a set that is not looked at
		}
		o.held[t], o.at[t] = true, n
		for _, b := range o.touches[t] {
			bound := &o.bounds[b]
			at := o.nodes[n].domains[bound.level]
			o.parted = o.parted || at < 0 || bound.there > 0 && bound.at != at
			bound.at = at
			bound.there++
		}
	}
}

// fits says whether all tasks find places on the nodes allowed.
func (o *topologyOracle) fits(allowed uint) bool {
	clear(o.seen)
	return !o.parted && o.place(0, 0, allowed)
}

// everywhere are all nodes.
func (o *topologyOracle) everywhere() uint { return 1<<len(o.nodes) - 1 }

func (o *topologyOracle) place(t, from int, allowed uint) bool {
	if t == len(o.tasks) {
		o.found = slices.Clone(o.at)
		return o.shared.enough()
	}
	if o.held[t] {
		return o.place(t+1, 0, allowed)
	}
	if t == 0 || !o.alike[t] || o.held[t-1] {
		from = 0
	}
	if o.remember(t, from) {
		return false
	}
	for n := from; n < len(o.nodes); n++ {
		if allowed>>n&1 == 0 || !o.put(t, n) {
			continue
		}
		if o.steps++; o.steps > mostOracleSteps {
			o.takeBack(t, n)
			return false
		}
		found := o.place(t+1, n, allowed)
		o.takeBack(t, n)
		if found {
			return true
		}
	}
	return false
}

// remember says whether this has been tried in vain, and notes that it has.
func (o *topologyOracle) remember(t, from int) bool {
	o.key = append(o.key[:0], byte(t), byte(from))
	for i := range o.nodes {
		o.key = binary.AppendVarint(binary.AppendVarint(o.key, o.nodes[i].gpu), o.nodes[i].cpu)
	}
	for b := range o.bounds {
		if at := &o.bounds[b]; at.there > 0 && at.there < len(at.tasks) {
			o.key = binary.AppendVarint(append(o.key, byte(b)), int64(at.at))
		}
	}
	if o.shared != nil {
		for _, n := range o.shared.taken {
			o.key = append(o.key, byte(n))
		}
	}
	if o.seen[string(o.key)] {
		return true
	}
	o.seen[string(o.key)] = true
	return false
}

// put gives a task a place on a node if the node and the bounds let it.
func (o *topologyOracle) put(t, n int) bool {
	task, site := &o.tasks[t], &o.nodes[n]
	if site.gpu < task.gpu || site.cpu < task.cpu || !o.shared.room(n) {
		return false
	}
	for _, b := range o.touches[t] {
		bound := &o.bounds[b]
		if at := site.domains[bound.level]; at < 0 || bound.there > 0 && bound.at != at {
			return false
		}
	}
	o.at[t] = n
	o.shared.add(n, 1)
	site.gpu -= task.gpu
	site.cpu -= task.cpu
	for _, b := range o.touches[t] {
		o.bounds[b].at = site.domains[o.bounds[b].level]
		o.bounds[b].there++
	}
	return true
}

func (o *topologyOracle) takeBack(t, n int) {
	o.shared.add(n, -1)
	o.nodes[n].gpu += o.tasks[t].gpu
	o.nodes[n].cpu += o.tasks[t].cpu
	for _, b := range o.touches[t] {
		o.bounds[b].there--
	}
}

// parts are the domains of a level as sets of nodes; a node that lacks the level is
// one of its own, behind the others.
func (o *topologyOracle) parts(level int, within uint) (parts []uint, own int) {
	byDomain := make(map[int]int)
	var lacking []uint
	for n := range o.nodes {
		if within>>n&1 == 0 {
			continue
		}
		d := o.nodes[n].domains[level]
		if d < 0 {
			lacking = append(lacking, 1<<n)
			continue
		}
		at, known := byDomain[d]
		if !known {
			at = len(parts)
			byDomain[d] = at
			parts = append(parts, 0)
		}
		parts[at] |= 1 << n
	}
	return append(parts, lacking...), len(lacking)
}

// fewest is the least number of domains of a level that take all tasks within some
// nodes, 0 if they do not.
func (o *topologyOracle) fewest(level int, within uint) int {
	parts, _ := o.parts(level, within)
	for want := 1; want <= len(parts); want++ {
		for chosen := range uint(1) << len(parts) {
			if bits.OnesCount(chosen) != want {
				continue
			}
			allowed := uint(0)
			for p, nodes := range parts {
				if chosen>>p&1 != 0 {
					allowed |= nodes
				}
			}
			if o.fits(allowed) {
				return want
			}
		}
	}
	return 0
}

// narrowest climbs from the preferred level to the required one, or to the whole
// cluster, and returns the sets of nodes, one for each domain of the first level of
// which one takes all tasks, that do.
func (o *topologyOracle) narrowest(preferred, required string) (level int, able []uint) {
	end := -1
	if required != "" {
		end = o.level(required)
	}
	for level = o.level(preferred); level > end || level >= 0 && level == end; level-- {
		parts, lacking := o.parts(level, o.everywhere())
		for _, nodes := range parts[:len(parts)-lacking] {
			if o.fits(nodes) {
				able = append(able, nodes)
			}
		}
		if len(able) > 0 {
			return level, able
		}
	}
	if required == "" && o.fits(o.everywhere()) {
		return -1, []uint{o.everywhere()}
	}
	return -1, nil
}

// combinations are the choices of pod sets that bring the workload to its minimum,
// smallest ones only.
func combinations(w *Workload) [][]int {
	var of func(group string, need int) [][]int
	of = func(group string, need int) [][]int {
		var children [][][]int // by child its choices
		for i := range w.PodSets {
			if w.PodSets[i].Group == group {
				children = append(children, [][]int{{i}})
			}
		}
		for i := range w.Groups {
			if g := &w.Groups[i]; g.Parent == group {
				children = append(children, of(g.Name, g.Min))
			}
		}
		if need == 0 {
			need = len(children)
		}
		var all [][]int
		for chosen := range uint(1) << len(children) {
			if bits.OnesCount(chosen) != need {
				continue
			}
			ways := [][]int{nil}
			for c := range children {
				if chosen>>c&1 == 0 {
					continue
				}
				var longer [][]int
				for _, way := range ways {
					for _, choice := range children[c] {
						longer = append(longer, slices.Concat(way, choice))
					}
				}
				ways = longer
			}
			all = append(all, ways...)
		}
		return all
	}
	list := of("", 0)
	for _, sets := range list {
		slices.Sort(sets)
	}
	return list
}

// mostOracleSteps bounds the search for one choice of pod sets.
const mostOracleSteps = 200_000

// possible says whether all that is missing of the workload could start, and
// whether that is known.
func possible(s *State, w *Workload) (fits, known bool) {
	known = true
	for _, sets := range combinations(w) {
		o := readTopology(s, w, sets)
		if o.fits(o.everywhere()) {
			return true, true
		}
		known = known && o.steps <= mostOracleSteps
	}
	return false, known
}

// picture draws a state as text, short enough to think about.
func picture(s *State) string {
	var b strings.Builder
	for i := range s.Nodes {
		n := &s.Nodes[i]
		fmt.Fprintf(&b, "%s gpu=%d cpu=%d", n.ID, len(n.Devices), n.Capacity[CPU])
		for _, l := range s.Levels {
			fmt.Fprintf(&b, " %s=%s", l.Name, n.Domains[l.Name])
		}
		b.WriteString("\n")
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		fmt.Fprintf(&b, "%s %s", w.ID, asks(w.Topology))
		for _, g := range w.Groups {
			fmt.Fprintf(&b, " | group %s in %q min %d %s", g.Name, g.Parent, g.Min, asks(g.Topology))
		}
		for _, ps := range w.PodSets {
			fmt.Fprintf(&b, " | set %s in %q %d × gpu=%d cpu=%d %s", ps.Name, ps.Group, ps.Count,
				ps.Request.GPU.Count, ps.Request.Resources[CPU], asks(ps.Topology))
		}
		for _, t := range w.Tasks {
			fmt.Fprintf(&b, " %s:%d@%s%v", t.PodSet, t.Index, t.Node, t.Devices)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func asks(t Topology) string {
	text := ""
	if t.Required != "" {
		text += " required=" + t.Required
	}
	if t.Preferred != "" {
		text += fmt.Sprint(" preferred=", t.Preferred, " ", t.Mode)
	}
	for _, slice := range t.Slices {
		text += fmt.Sprint(" slice=", slice.Size, "@", slice.Level)
	}
	return strings.TrimSpace(text)
}
