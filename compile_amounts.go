package allot

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/prose"
)

// An amount of devices of a domain that people have reserved comes to devices of its nodes
// here (B9): of all that follows nothing knows which of them were named, and which were chosen.

// Reserved lists, by [State.Reservations], the nodes and devices that each sets aside (B9): those
// that it names, then those to which its amounts come, by pool and node, each once. One that has
// passed sets nothing aside. The error is that of [Check] where the state is none that Solve
// takes. Nothing of the state's is changed or kept.
func Reserved(s *State) ([][]ReservedNode, error) {
	if err := Check(s); err != nil {
		return nil, err
	}
	w, err := compile(s)
	if err != nil {
		return nil, err
	}
	return cloneEach(w.reserved, func(nodes []ReservedNode) []ReservedNode { return cloneEach(nodes, cloneReservedNode) }), nil
}

// A chooser chooses devices for the amounts of reservations.
type chooser struct {
	*world
	// held is by node what the reservations hold of it, usable which devices of it may be given:
	// healthy ones without foreign use, none of a node that is cordoned.
	held   []holders
	usable []uint64
	// domains are by level the numbers of the nodes' domains, −1 for none.
	domains map[string][]int32
}

// A holder is a reservation, by index, with devices that it holds of a node for its time.
type holder struct {
	by          int32
	from, until int64
	devices     uint64
}

// holders are those of a node by when they begin, in runs: reservations of many days are looked
// through a run at a time.
type holders []run

// A run is some holders, one at least, and when the last of them ends.
type run struct {
	list  []holder
	until int64
}

// longestRun is how many holders a run has at most.
const longestRun = 64

// add adds a holder.
func (h *holders) add(one holder) {
	from := func(a, b holder) int { return cmp.Compare(a.from, b.from) }
	i, found := slices.BinarySearchFunc(*h, one, func(r run, one holder) int { return from(r.list[0], one) })
	if !found {
		i = max(0, i-1) // it is of the last run that begins before it
	}
	if len(*h) == 0 {
		*h = holders{{until: one.until}}
	}
	r := &(*h)[i]
	at, _ := slices.BinarySearchFunc(r.list, one, from)
	r.list, r.until = slices.Insert(r.list, at, one), max(r.until, one.until)
	if half := len(r.list) / 2; len(r.list) > longestRun {
		rest := run{list: slices.Clone(r.list[half:])}
		r.list, r.until = r.list[:half:half], 0
		for _, part := range []*run{r, &rest} {
			for _, one := range part.list {
				part.until = max(part.until, one.until)
			}
		}
		*h = slices.Insert(*h, i+1, rest)
	}
}

// during visits the holders at some time of a spell.
func (h holders) during(s spell, visit func(*holder)) {
	for i := range h {
		r := &h[i]
		if r.list[0].from >= s.until {
			return
		}
		if r.until <= s.from {
			continue
		}
		for k := range r.list {
			if one := &r.list[k]; one.from < s.until && one.until > s.from {
				visit(one)
			}
		}
	}
}

// compileAmounts gives the nodes of each reservation that has not passed: those that it names,
// and behind them those of which it has its amounts.
//
// Reservations choose in the order of their IDs, amounts in that in which they are listed, and
// of each domain the first devices by pool, node and index. Work that comes and goes changes no
// choice; a node that comes, goes, is cordoned or fails may, and so may another reservation.
func (w *world) compileAmounts() {
	s := w.state
	w.reserved = make([][]ReservedNode, len(s.Reservations))
	some := false
	for i := range s.Reservations {
		if r := &s.Reservations[i]; !r.passed(w.Now) {
			w.reserved[i] = r.Nodes
			some = some || len(r.Domains) > 0
		}
	}
	if !some {
		return
	}
	c := &chooser{world: w, held: make([]holders, len(s.Nodes)), usable: usableDevices(s), domains: make(map[string][]int32)}
	for i := range s.Reservations {
		for _, of := range w.reserved[i] {
			c.hold(int32(i), w.nodeID[of.Node], maskOf(of.Devices))
		}
	}
	for _, i := range byID(s.Reservations, func(r *Reservation) string { return r.ID }) {
		if r := &s.Reservations[i]; len(r.Domains) > 0 && !r.passed(w.Now) {
			w.reserved[i] = c.choose(i)
		}
	}
}

// usableDevices are by node the devices that may be given.
func usableDevices(s *State) []uint64 {
	usable := make([]uint64, len(s.Nodes))
	for n := range s.Nodes {
		node := &s.Nodes[n]
		for d := range node.Devices {
			if !node.Cordoned && !node.Devices[d].Unhealthy && node.Devices[d].Foreign == 0 {
				usable[n] |= 1 << d
			}
		}
	}
	return usable
}

// hold notes that a reservation holds devices of a node.
func (c *chooser) hold(i, n int32, devices uint64) {
	s := c.state.Reservations[i].spell()
	c.held[n].add(holder{i, s.from, s.until, devices})
}

// choose is what a reservation names and what its amounts come to, by pool and node.
func (c *chooser) choose(i int32) []ReservedNode {
	r := &c.state.Reservations[i]
	chosen := make(map[int32]uint64)
	for d := range r.Domains {
		amount := &r.Domains[d]
		domains := c.domainsOf(amount.Level)
		left := make(map[int32]int) // by domain
		c.eachNode(r, func(n int32) {
			of := domains[n]
			if of < 0 || !amount.means(&c.state.Nodes[n]) {
				return
			}
			if _, known := left[of]; !known {
				left[of] = amount.Devices
			}
			if left[of] == 0 {
				return
			}
			free := c.freeFor(i, n) &^ chosen[n]
			for at := 0; free>>at != 0 && left[of] > 0; at++ {
				if free>>at&1 != 0 {
					chosen[n] |= 1 << at
					left[of]--
				}
			}
		})
		c.noteUnmet(i, d, left)
	}
	var list []ReservedNode
	for _, of := range r.Nodes {
		n := c.nodeID[of.Node]
		if devices := chosen[n]; devices != 0 { // of the rest of what it names some of
			of.Devices = c.listed(i, n, devices|maskOf(of.Devices))
			c.hold(i, n, devices)
			delete(chosen, n)
		}
		list = append(list, of)
	}
	c.eachNode(r, func(n int32) {
		if devices := chosen[n]; devices != 0 {
			list = append(list, ReservedNode{Node: c.state.Nodes[n].ID, Devices: c.listed(i, n, devices)})
			c.hold(i, n, devices)
		}
	})
	return list
}

// eachNode visits the nodes of which a reservation may choose by pool and position: those of
// the pool of the queue for which it is, else of all.
func (c *chooser) eachNode(r *Reservation, visit func(n int32)) {
	leaf, of := c.leaf[r.Queue]
	for i, p := range c.pools {
		if of && leaf.Pool != int32(i) {
			continue
		}
		for _, n := range p.Nodes {
			visit(n)
		}
	}
}

// means says whether an amount is of the domain of a node.
func (d *ReservedDomain) means(n *Node) bool {
	return d.Domain == "" || d.Level == NodeLevel && d.Domain == n.ID || d.Level != NodeLevel && d.Domain == n.Domains[d.Level]
}

// domainsOf numbers the domains of a level, which are the same where those of all wider ones are.
func (c *chooser) domainsOf(level string) []int32 {
	if known, ok := c.domains[level]; ok {
		return known
	}
	numbers, of := make(map[string]int32), make([]int32, len(c.state.Nodes))
	for n := range c.state.Nodes {
		node, key := &c.state.Nodes[n], []byte(nil)
		if of[n] = int32(n); level == NodeLevel {
			continue
		}
		if of[n] = -1; node.Domains[level] == "" {
			continue
		}
		for i := range c.state.Levels {
			name := c.state.Levels[i].Name
			if key = appendText(key, node.Domains[name]); name == level {
				break
			}
		}
		number, known := numbers[string(key)]
		if !known {
			number = int32(len(numbers))
			numbers[string(key)] = number
		}
		of[n] = number
	}
	c.domains[level] = of
	return of
}

// freeFor are the devices of a node of which a reservation may choose: usable ones that no other
// holds in the same time, nor it by their names.
func (c *chooser) freeFor(i, n int32) uint64 {
	free := c.usable[n]
	c.held[n].during(c.state.Reservations[i].spell(), func(h *holder) { free &^= h.devices })
	return free
}

// listed are the devices of a mask, none where they are all that is healthy of the node, and no other
// reservation has something of it at the same time: then it is reserved whole.
func (c *chooser) listed(i, n int32, devices uint64) (list []int) {
	whole := true
	for d := range c.state.Nodes[n].Devices {
		switch {
		case devices>>d&1 != 0:
			list = append(list, d)
		case !c.state.Nodes[n].Devices[d].Unhealthy:
			whole = false
		}
	}
	c.held[n].during(c.state.Reservations[i].spell(), func(h *holder) { whole = whole && h.by == i })
	if whole {
		return nil
	}
	return list
}

// passed says whether the reservation is over at a time, in microseconds.
func (r *Reservation) passed(now int64) bool { return r.spell().until <= max(now, 0) }

// spell is the time of the reservation.
func (r *Reservation) spell() spell {
	if r.Until.IsZero() {
		return spell{micros(r.From), cluster.Never}
	}
	return spell{micros(r.From), micros(r.Until)}
}

// noteUnmet warns of an amount of which the domains that are meant have less, or that none has.
func (c *chooser) noteUnmet(i int32, d int, left map[int32]int) {
	asked := int64(c.state.Reservations[i].Domains[d].Devices)
	wanted, missing := asked*int64(max(1, len(left))), int64(0)
	for _, short := range left { // a sum: order cannot matter
		missing += int64(short)
	}
	if len(left) == 0 {
		missing = asked
	}
	if missing == 0 {
		return
	}
	at := root()
	list := at.field("reservations")
	entry := list.key(c.state.Reservations[i].ID)
	domains := entry.field("domains")
	place := domains.at(d)
	c.unmet = append(c.unmet, Fault{
		Path: place.String(), Code: WarnAmountUnmet, Value: strconv.FormatInt(wanted-missing, 10),
		Want: "should come to " + prose.Count(wanted, "device"),
	})
}
