package allot

import (
	"slices"
	"strconv"
	"time"

	"github.com/allotsched/allot/internal/prose"
)

// An amount of devices of a domain that people have reserved comes to devices of its nodes
// here (B9): of all that follows nothing knows which of them were named, and which were chosen.

// Reserved lists, by [State.Reservations], the nodes and devices that each sets aside (B9): those
// that it names, then those to which its amounts come, by pool and node. The error is that of
// [Check]. Nothing of the state's is changed or kept.
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
	// held is by node what the reservations hold of it.
	held map[int32][]holder
}

// A holder is a reservation, by index, with devices that it holds of a node.
type holder struct {
	by      int32
	devices uint64
}

// compileAmounts gives the nodes of each reservation: those that it names, and behind them those
// of which it has its amounts. A state without amounts has none chosen.
//
// Reservations choose in the order of their IDs, amounts in that in which they are listed, and
// of each domain the first devices by pool, node and index. What does not change the nodes or
// what is reserved changes no choice, so that it stays while it lasts.
func (w *world) compileAmounts() {
	s := w.state
	w.reserved = make([][]ReservedNode, len(s.Reservations))
	some := false
	for i := range s.Reservations {
		w.reserved[i] = s.Reservations[i].Nodes
		some = some || len(s.Reservations[i].Domains) > 0
	}
	if !some {
		return
	}
	c := &chooser{w, make(map[int32][]holder)}
	for i := range s.Reservations {
		for _, of := range s.Reservations[i].Nodes {
			n := w.nodeID[of.Node]
			c.held[n] = append(c.held[n], holder{int32(i), maskOf(of.Devices)})
		}
	}
	for _, i := range byID(s.Reservations, func(r *Reservation) string { return r.ID }) {
		if len(s.Reservations[i].Domains) > 0 {
			w.reserved[i] = slices.Concat(w.reserved[i], c.choose(i))
		}
	}
}

// choose is what the amounts of a reservation come to, by pool and node.
func (c *chooser) choose(i int32) []ReservedNode {
	r := &c.state.Reservations[i]
	chosen := make(map[int32]uint64)
	for d := range r.Domains {
		amount := &r.Domains[d]
		left := make(map[string]int) // by domain
		c.eachNode(r, func(n int32) {
			domain, in := c.state.domainOf(&c.state.Nodes[n], amount)
			if !in {
				return
			}
			if _, known := left[domain]; !known {
				left[domain] = amount.Devices
			}
			free := c.freeFor(i, n) &^ chosen[n]
			for at := 0; free>>at != 0 && left[domain] > 0; at++ {
				if free>>at&1 != 0 {
					chosen[n] |= 1 << at
					left[domain]--
				}
			}
		})
		c.noteUnmet(i, d, left)
	}
	var list []ReservedNode
	c.eachNode(r, func(n int32) {
		if devices := chosen[n]; devices != 0 {
			c.held[n] = append(c.held[n], holder{i, devices})
			list = append(list, ReservedNode{Node: c.state.Nodes[n].ID, Devices: c.listed(n, devices)})
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

// domainOf is the domain in which a node counts into an amount, with the wider ones in which
// that is; false: it does not.
func (s *State) domainOf(n *Node, amount *ReservedDomain) (string, bool) {
	if amount.Level == NodeLevel {
		return n.ID, amount.Domain == "" || amount.Domain == n.ID
	}
	own := n.Domains[amount.Level]
	if own == "" || amount.Domain != "" && amount.Domain != own {
		return "", false
	}
	var key []byte
	for i := range s.Levels {
		name := s.Levels[i].Name
		key = appendText(key, n.Domains[name])
		if name == amount.Level {
			break
		}
	}
	return string(key), true
}

// freeFor are the devices of a node of which a reservation may choose: healthy ones that nobody
// else uses and that no other reservation holds in the same time, nor it by their names.
func (c *chooser) freeFor(i, n int32) uint64 {
	node := &c.state.Nodes[n]
	if node.Cordoned {
		return 0
	}
	free := uint64(0)
	for d := range node.Devices {
		if !node.Devices[d].Unhealthy && node.Devices[d].Foreign == 0 {
			free |= 1 << d
		}
	}
	for _, h := range c.held[n] {
		if c.state.Reservations[h.by].overlaps(&c.state.Reservations[i]) {
			free &^= h.devices
		}
	}
	return free
}

// listed are the devices of a mask, none where they are all that is healthy of the node, which
// is reserved whole then.
func (c *chooser) listed(n int32, devices uint64) (list []int) {
	whole := true
	for d := range c.state.Nodes[n].Devices {
		switch {
		case devices>>d&1 != 0:
			list = append(list, d)
		case !c.state.Nodes[n].Devices[d].Unhealthy:
			whole = false
		}
	}
	if whole {
		return nil
	}
	return list
}

// overlaps says whether there is a time at which both reservations last.
func (r *Reservation) overlaps(other *Reservation) bool {
	before := func(from, until time.Time) bool { return until.IsZero() || micros(from) < micros(until) }
	return before(r.From, other.Until) && before(other.From, r.Until)
}

// noteUnmet warns of an amount of which the domains that are meant have less, or that none has.
func (c *chooser) noteUnmet(i int32, d int, left map[string]int) {
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
