package gang_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// A crowd is a small cluster and a gang of a leader, workers and perhaps another set,
// with what a plain reading needs of both.
type crowd struct {
	devices, cores []int // by node
	names          [][]string
	counts         []int32 // by set
	asks           [][2]int
	level          placement.Level // preferred
	required       placement.Level
	seen           map[string]bool
}

func drawCrowd(seed uint64) *crowd {
	r := rand.New(rand.NewPCG(seed, 17))
	c := &crowd{seen: make(map[string]bool)}
	levels, widths := 1+r.IntN(2), []int{1 + r.IntN(3), 1 + r.IntN(3)}
	for range 2 + r.IntN(8) {
		c.devices = append(c.devices, []int{1, 2, 3, 4, 4, 8}[r.IntN(6)])
		c.cores = append(c.cores, []int{2, 4, 8}[r.IntN(3)])
		var path []string
		for level := range levels {
			path = append(path, fmt.Sprint(r.IntN(widths[level])))
		}
		c.names = append(c.names, path)
	}
	c.counts, c.asks = []int32{1, 1 + int32(r.IntN(6))}, [][2]int{{1 + r.IntN(4), r.IntN(4)}, {1 + r.IntN(3), r.IntN(3)}}
	if r.IntN(4) == 0 {
		c.counts, c.asks = append(c.counts, 1+int32(r.IntN(2))), append(c.asks, [2]int{1 + r.IntN(2), r.IntN(6)})
	}
	c.level = placement.Level(1 + r.IntN(levels+1))
	if r.IntN(3) == 0 {
		c.required = placement.Level(r.IntN(int(c.level)))
	}
	if r.IntN(2) == 0 {
		c.fill(r)
	}
	return c
}

// fill makes the gang one that fills a domain of some level if its leader goes to the right
// node.
func (c *crowd) fill(r *rand.Rand) {
	all := c.domains(placement.Level(1+r.IntN(int(c.level))), 1<<len(c.devices)-1)
	nodes, leader, worker := all[r.IntN(len(all))], 1+r.IntN(4), 2+r.IntN(2)
	led, workers := false, int32(0)
	for _, v := range r.Perm(len(c.devices)) {
		if nodes>>v&1 == 0 {
			continue
		}
		free := c.devices[v]
		if !led && free >= leader {
			led, free = true, free-leader
		}
		workers += int32(free / worker)
	}
	if led && workers > 0 && workers < 12 {
		c.counts, c.asks = []int32{1, workers}, [][2]int{{leader, 0}, {worker, 0}}
	}
}

// place places the gang under a constraint and tells the nodes it is on, nil for none.
func (c *crowd) place(t *testing.T, bound gang.Constraint) (on uint) {
	t.Helper()
	var nodes []placement.Node
	for v := range c.devices {
		nodes = append(nodes, machine(c.devices[v], int64(c.cores[v])))
	}
	x := newIndex(t, nodes)
	var sets []gang.Set
	for s, n := range c.counts {
		one := asking(x, n, n, whole(int32(c.asks[s][0]), int64(c.asks[s][1])))
		one.Parent = -1
		sets = append(sets, one)
	}
	p := gang.Placer{Topology: placement.NewTopology(len(c.names[0]), c.names)}
	places, v := within(t, &p, x, bound, nil, sets...)
	if v.Cut {
		t.Fatalf("the search is cut: %+v", c)
	}
	for _, place := range places {
		on |= 1 << place.Node
	}
	return on
}

// domains are the nodes of each domain of a level inside some nodes.
func (c *crowd) domains(level placement.Level, inside uint) (out []uint) {
	at := make(map[string]int)
	for v := range c.devices {
		if inside>>v&1 == 0 {
			continue
		}
		path := fmt.Sprint(v)
		if int(level) <= len(c.names[v]) {
			path = fmt.Sprint(c.names[v][:level])
		}
		if _, known := at[path]; !known {
			at[path] = len(out)
			out = append(out, 0)
		}
		out[at[path]] |= 1 << v
	}
	return out
}

// fits says whether all tasks find places on the nodes, by trying every way.
func (c *crowd) fits(nodes uint) bool {
	var tasks [][2]int
	for s, n := range c.counts {
		for range n {
			tasks = append(tasks, c.asks[s])
		}
	}
	clear(c.seen)
	free := make([][2]int, len(c.devices))
	for v := range free {
		if nodes>>v&1 == 1 {
			free[v] = [2]int{c.devices[v], c.cores[v]}
		}
	}
	return c.fitsRest(tasks, free)
}

func (c *crowd) fitsRest(tasks, free [][2]int) bool {
	if len(tasks) == 0 {
		return true
	}
	key := fmt.Sprint(len(tasks), free)
	if c.seen[key] {
		return false
	}
	c.seen[key] = true
	for v := range free {
		if free[v][0] < tasks[0][0] || free[v][1] < tasks[0][1] {
			continue
		}
		free[v][0], free[v][1] = free[v][0]-tasks[0][0], free[v][1]-tasks[0][1]
		found := c.fitsRest(tasks[1:], free)
		free[v][0], free[v][1] = free[v][0]+tasks[0][0], free[v][1]+tasks[0][1]
		if found {
			return true
		}
	}
	return false
}

// fewest is the least number of the domains of the preferred level, inside some nodes, in
// which all tasks find places; many if there are none.
func (c *crowd) fewest(inside uint) int {
	const many = 100
	all, best := c.domains(c.level, inside), many
	for chosen := range uint(1) << len(all) {
		if n := bits.OnesCount(chosen); n < best {
			nodes := uint(0)
			for i := range all {
				if chosen>>i&1 == 1 {
					nodes |= all[i]
				}
			}
			if c.fits(nodes) {
				best = n
			}
		}
	}
	return best
}

// TestPreferredAgainstBruteForce (T2): a leader with its workers is in one domain of the
// narrowest level, from the preferred to the required one, of which any takes them,
// whenever it would be found if that level were required; and in as few domains of the
// preferred level as can be, of all domains of the narrowest level that take it.
func TestPreferredAgainstBruteForce(t *testing.T) {
	judged, met, minimal, wider := 0, 0, 0, 0
	for seed := range uint64(4000) {
		c := drawCrowd(seed)
		on := c.place(t, gang.Constraint{Required: c.required, Preferred: c.level})
		for level := c.level; level >= c.required; level-- {
			fewest := 100
			for _, nodes := range c.domains(level, 1<<len(c.devices)-1) {
				if fewest > 1 {
					fewest = min(fewest, c.fewest(nodes))
				}
			}
			if required := c.place(t, gang.Constraint{Required: level}); level > 0 && (required != 0) != (fewest < 100) {
				t.Fatalf("seed %d: required level %d: on %b, but the fewest are %d: %+v", seed, level, required, fewest, c)
			}
			if fewest == 100 {
				continue
			}
			judged++
			if level < c.level {
				wider++
			}
			if len(c.domains(level, on)) == 1 {
				met++
			} else {
				t.Errorf("seed %d: level %d is missed: on %b of %+v", seed, level, on, c)
			}
			if used := len(c.domains(c.level, on)); used == fewest {
				minimal++
			} else {
				t.Logf("seed %d: uses %d domains of level %d, %d are enough: on %b of %+v", seed, used, c.level, fewest, on, c)
			}
			break
		}
	}
	t.Logf("%d judged, %d wider than preferred: %d met, %d in the fewest domains (%.2f%%)", judged, wider, met, minimal, 100*float64(minimal)/float64(judged))
	if judged < 2000 || wider < 500 {
		t.Error("the generator covers too little")
	}
	if met < judged || minimal*1000 < judged*999 {
		t.Error("T2: preferred levels are missed, or in more domains than need be in more than one of 1000")
	}
}
