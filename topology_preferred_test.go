package allot

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/deep"
)

// most is the largest number of domains of a level, within some nodes, of which
// each takes some task when all are placed.
func (o *topologyOracle) most(level int, within uint) int {
	parts, _ := o.parts(level, within)
	best := 0
	for chosen := range uint(1) << len(parts) {
		if k := bits.OnesCount(chosen); k > best && k <= len(o.tasks) && o.fitsEach(choose(parts, chosen), 1, len(o.tasks)) {
			best = k
		}
	}
	return best
}

// evenly says whether so many of the domains can take all tasks in parts that
// differ by at most one unit of so many tasks.
func (o *topologyOracle) evenly(level int, within uint, count, unit int) bool {
	parts, _ := o.parts(level, within)
	units := len(o.tasks) / unit
	for chosen := range uint(1) << len(parts) {
		if bits.OnesCount(chosen) == count &&
			o.fitsEach(choose(parts, chosen), units/count*unit, (units+count-1)/count*unit) {
			return true
		}
	}
	return false
}

// balance is how evenly the domains can take all tasks, in units of so many (T2): by how
// much the largest part exceeds the smallest, 0 where by one unit at most; in how many
// domains; and the difference of even ones.
func (o *topologyOracle) balance(level int, within uint, unit int) [3]int {
	parts, _ := o.parts(level, within)
	units := len(o.tasks) / unit
	for count := 1; count <= min(units, len(parts)); count++ {
		if o.evenly(level, within, count, unit) {
			return [3]int{0, count, min(1, units%count)}
		}
	}
	for more := 2; more < units; more++ {
		for count := 2; count <= min(units, len(parts)); count++ {
			for chosen := range uint(1) << len(parts) {
				for least := 1; bits.OnesCount(chosen) == count && least*count <= units; least++ {
					if o.fitsEach(choose(parts, chosen), least*unit, (least+more)*unit) {
						return [3]int{more, count, 0}
					}
				}
			}
		}
	}
	return [3]int{units, 0, 0}
}

func choose(parts []uint, chosen uint) (list []uint) {
	for p := range parts {
		if chosen>>p&1 != 0 {
			list = append(list, parts[p])
		}
	}
	return list
}

// fitsEach says whether all tasks find places on the parts, each of which takes at
// least and at most so many.
func (o *topologyOracle) fitsEach(parts []uint, least, most int) bool {
	if least*len(parts) > len(o.tasks) || most*len(parts) < len(o.tasks) {
		return false
	}
	allowed := uint(0)
	for _, nodes := range parts {
		allowed |= nodes
	}
	o.shared = &oracleParts{nodes: parts, taken: make([]int, len(parts)), least: least, most: most}
	defer func() { o.shared = nil }()
	return o.fits(allowed)
}

// oracleParts counts the tasks of parts of the cluster.
type oracleParts struct {
	nodes       []uint
	taken       []int
	least, most int
}

func (p *oracleParts) of(n int) int {
	for i, nodes := range p.nodes {
		if nodes>>n&1 != 0 {
			return i
		}
	}
	return -1
}

// room says whether the part of a node may take one task more.
func (p *oracleParts) room(n int) bool { return p == nil || p.taken[p.of(n)] < p.most }

func (p *oracleParts) add(n, tasks int) {
	if p != nil {
		p.taken[p.of(n)] += tasks
	}
}

// enough says whether every part has what it must.
func (p *oracleParts) enough() bool {
	if p != nil {
		for _, n := range p.taken {
			if n < p.least {
				return false
			}
		}
	}
	return true
}

// A preferredCount tells how often a preference was met as well as can be.
type preferredCount struct {
	judged, wider, best, bestAnywhere int
	evenable, even                    int
	// missed are those of which all nodes have the level and which are worse than they
	// could be in any of the domains that take them.
	missed int
}

// A preferredJudge holds the place of a gang against brute force.
type preferredJudge struct {
	o        *topologyOracle
	t        Topology
	used     uint // nodes
	byNode   map[int]int
	unit     int // tasks of the widest slice
	oneShape bool
}

func newPreferredJudge(s *State, w *Workload, a *Action) *preferredJudge {
	j := &preferredJudge{t: w.Topology, byNode: make(map[int]int), unit: 1, oneShape: len(w.PodSets) == 1}
	if j.t.Preferred == "" {
		j.t = w.PodSets[0].Topology
	}
	if list := w.PodSets[0].Topology.Slices; len(list) > 0 {
		j.unit = list[0].Size
	}
	var sets []int
	for i := range w.PodSets {
		sets = append(sets, i)
	}
	j.o = readTopology(s, w, sets)
	for _, p := range a.Tasks {
		for n := range s.Nodes {
			if s.Nodes[n].ID == p.Node {
				j.used |= 1 << n
				j.byNode[n]++
			}
		}
	}
	return j
}

// judge counts, and says what is worse than it could be.
func (j *preferredJudge) judge(c *preferredCount) string {
	c.judged++
	level := j.o.level(j.t.Preferred)
	homes := j.homes()
	home := uint(0)
	for _, h := range homes {
		if j.used&^h == 0 {
			home = h
		}
	}
	if home == 0 {
		c.wider++
		return "is wider than it need be"
	}
	if named := home & j.named(level); named != home && j.used&^named == 0 && j.o.fits(named) {
		home = named // nodes that lack the level are used last
	}
	sizes := j.sizes(level, home)
	if j.t.Mode == gang.Balance && j.used&^j.named(level) == 0 {
		return j.balanced(c, level, homes, sizes)
	}
	want, anywhere := j.count(level, home), false
	for _, h := range homes {
		if named := h & j.named(level); j.o.fits(named) {
			h = named // likewise
		}
		other := j.count(level, h)
		anywhere = anywhere || j.t.Mode == gang.Spread && other > len(sizes) || j.t.Mode != gang.Spread && other < len(sizes)
	}
	if len(sizes) != want && (j.t.Mode != gang.Spread || len(sizes) < want) { // more than the oracle found before it gave up
		return fmt.Sprintf("uses %d domains, %d would be best", len(sizes), want)
	}
	c.best++
	if !anywhere || j.o.steps > mostOracleSteps { // then the oracle does not know
		c.bestAnywhere++
	}
	if j.t.Mode != gang.Pack && j.oneShape && j.o.evenly(level, home, want, j.unit) {
		c.evenable++
		least, most := sizes[0], sizes[0]
		for _, n := range sizes {
			least, most = min(least, n), max(most, n)
		}
		if most-least > j.unit {
			return "is not in equal parts"
		}
		c.even++
	}
	return ""
}

// balanced counts what is as even as it can be in any of the domains that take it.
func (j *preferredJudge) balanced(c *preferredCount, level int, homes []uint, sizes []int) string {
	least, most := sizes[0], sizes[0]
	for _, n := range sizes {
		least, most = min(least, n), max(most, n)
	}
	got := [3]int{0, len(sizes), (most - least) / j.unit}
	if got[2] > 1 {
		got = [3]int{got[2], len(sizes), 0}
	}
	for _, h := range homes {
		if named := h & j.named(level); j.o.fits(named) {
			h = named
		} else {
			continue
		}
		if want := j.o.balance(level, h, j.unit); slices.Compare(want[:], got[:]) < 0 {
			return fmt.Sprintf("is parted by %v, %v would be best", got, want)
		}
	}
	c.best++
	c.bestAnywhere++
	if got[0] == 0 {
		c.evenable++
		c.even++
	}
	return ""
}

// named are the nodes that have the level.
func (j *preferredJudge) named(level int) (nodes uint) {
	for n := range j.o.nodes {
		if j.o.nodes[n].domains[level] >= 0 {
			nodes |= 1 << n
		}
	}
	return nodes
}

// homes are the domains in which the gang may be: those of the narrowest level of
// which one takes it or, where it spreads, of the required one.
func (j *preferredJudge) homes() []uint {
	if j.t.Mode != gang.Spread {
		_, able := j.o.narrowest(j.t.Preferred, j.t.Required)
		return able
	}
	if j.t.Required == "" {
		return []uint{j.o.everywhere()}
	}
	parts, lacking := j.o.parts(j.o.level(j.t.Required), j.o.everywhere())
	var able []uint
	for _, nodes := range parts[:len(parts)-lacking] {
		if j.o.fits(nodes) {
			able = append(able, nodes)
		}
	}
	return able
}

func (j *preferredJudge) count(level int, home uint) int {
	if j.t.Mode == gang.Spread {
		return j.o.most(level, home)
	}
	return j.o.fewest(level, home)
}

// sizes are the tasks of each domain used.
func (j *preferredJudge) sizes(level int, home uint) (sizes []int) {
	parts, _ := j.o.parts(level, home)
	for _, nodes := range parts {
		n := 0
		for node, tasks := range j.byNode { // a sum: order cannot matter
			if nodes>>node&1 != 0 {
				n += tasks
			}
		}
		if n > 0 {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

// TestT2Preference: a gang with a preferred level is in one domain of the narrowest
// level of which one takes it, and there in as few domains of the preferred level as
// can be, or as many where it spreads, in at least 999 of 1,000.
func TestT2Preference(t *testing.T) {
	var counts [gang.Spread + 1][2]preferredCount // by mode, of one pod set and of two
	var told [gang.Spread + 1][2]int
	unlawful := 0
	instances := 0
	for seed := range deep.Seeds(t, topologyInstances) {
		instances++
		g := newTopologyGen(seed, 21)
		g.cluster(10)
		w := g.preferring()
		p, err := Solve(g.s)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, picture(g.s))
		}
		if err := VerifyPlan(g.s, p); err != nil {
			if unlawful++; unlawful <= *topologyTold {
				t.Errorf("seed %d: %v\n%s%s", seed, err, picture(g.s), p.String())
			}
			continue
		}
		a := startOf(p, "w")
		if a == nil {
			continue
		}
		j, sets := newPreferredJudge(g.s, w, a), len(w.PodSets)-1
		c := &counts[j.t.Mode][sets]
		anywhere := c.bestAnywhere
		wrong := j.judge(c)
		if j.used&^j.named(j.o.level(j.t.Preferred)) == 0 && (wrong != "" || j.t.Mode != gang.Spread && c.bestAnywhere == anywhere) {
			wrong = cmp.Or(wrong, "is in fewer domains elsewhere")
			c.missed++
		}
		if wrong != "" {
			if told[j.t.Mode][sets]++; told[j.t.Mode][sets] <= *topologyTold {
				t.Logf("seed %d: %s\n%s%s", seed, wrong, picture(g.s), startText(a))
			}
		}
	}
	for mode := range counts {
		for sets := range counts[mode] {
			c := &counts[mode][sets]
			t.Logf("%-7v %d set: %4d judged, %d wider than need be, %d the best number of domains (%.2f%%), %d also of all domains that take it; in equal parts %d of %d",
				gang.Mode(mode), sets+1, c.judged, c.wider, c.best, 100*float64(c.best)/float64(max(1, c.judged)), c.bestAnywhere, c.even, c.evenable)
			if c.judged*100 < instances {
				t.Error("the generator covers too little")
			}
			if c.wider > 0 {
				t.Errorf("%v of %d sets: %d are wider than they need be", gang.Mode(mode), sets+1, c.wider)
			}
			for _, misses := range [...]int{c.judged - c.best, c.evenable - c.even, c.missed} {
				if misses*1000 > max(c.judged, 1000) {
					t.Errorf("%v of %d sets: %d of %d are missed, more than one of 1,000", gang.Mode(mode), sets+1, misses, c.judged)
				}
			}
		}
	}
	if unlawful > 0 {
		t.Errorf("%d unlawful plans", unlawful)
	}
}

// startText tells where the tasks of an action are.
func startText(a *Action) string {
	var b strings.Builder
	for _, p := range a.Tasks {
		fmt.Fprintf(&b, " %s:%d@%s%v", p.PodSet, p.Index, p.Node, p.Devices)
	}
	return "start" + b.String()
}
