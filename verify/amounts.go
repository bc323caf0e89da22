package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
)

// Amounts of devices that people have reserved in domains come to devices of nodes here (B9).

// A candidate is a device of which an amount may be, in the order in which amounts take them.
type candidate struct {
	node   *verifiedNode
	device int
}

// spoken says by node and device which reservations have it, those that have the whole node
// under no device, which is −1.
type spoken map[string]map[int][]*allot.Reservation

func (s spoken) add(r *allot.Reservation, node string, devices []int) {
	if s[node] == nil {
		s[node] = make(map[int][]*allot.Reservation)
	}
	if len(devices) == 0 {
		devices = []int{-1}
	}
	for _, d := range devices {
		s[node][d] = append(s[node][d], r)
	}
}

// shares says whether another reservation has something of a node while one lasts.
func (s spoken) shares(r *allot.Reservation, node string) bool {
	for _, list := range s[node] { // whether there is one: order cannot matter
		if slices.ContainsFunc(list, func(other *allot.Reservation) bool { return other != r && meet(r, other) }) {
			return true
		}
	}
	return false
}

// has says whether a reservation has the device while another lasts, or is that other.
func (s spoken) has(r *allot.Reservation, node string, device int) bool {
	meets := func(other *allot.Reservation) bool { return meet(r, other) }
	return slices.ContainsFunc(s[node][device], meets) || slices.ContainsFunc(s[node][-1], meets)
}

// meet says whether two reservations last at some time both; times count to the microsecond.
func meet(a, b *allot.Reservation) bool {
	over := func(r, other *allot.Reservation) bool {
		return !r.Until.IsZero() && r.Until.UnixMicro() <= other.From.UnixMicro()
	}
	return !over(a, b) && !over(b, a)
}

// readAmounts has every reservation name the nodes of which it has its amounts, as if people had
// named them. The caller's state stays what it is.
func (v reserving) readAmounts() {
	if !slices.ContainsFunc(v.state.Reservations, func(r allot.Reservation) bool { return len(r.Domains) > 0 }) {
		return
	}
	state := *v.state
	state.Reservations = slices.Clone(state.Reservations)
	v.state = &state
	known, byID := make(spoken), make([]*allot.Reservation, len(state.Reservations))
	candidates := make(map[string][]candidate) // by queue
	for i := range state.Reservations {
		r := &state.Reservations[i]
		if byID[i] = r; v.passed(r) {
			continue
		}
		for _, of := range r.Nodes {
			known.add(r, of.Node, of.Devices)
		}
	}
	slices.SortFunc(byID, func(a, b *allot.Reservation) int { return strings.Compare(a.ID, b.ID) })
	for _, r := range byID {
		if len(r.Domains) > 0 && !v.passed(r) {
			if _, listed := candidates[r.Queue]; !listed {
				candidates[r.Queue] = v.candidates(r)
			}
			r.Nodes = v.amounts(r, known, candidates[r.Queue])
		}
	}
}

// amounts are the nodes and devices that a reservation names and that its amounts come to.
func (v reserving) amounts(r *allot.Reservation, known spoken, list []candidate) (nodes []allot.ReservedNode) {
	taken := make(map[*verifiedNode][]int)
	for _, amount := range r.Domains {
		count := make(map[string]int)
		var at *verifiedNode // its devices stand one behind the other
		var domain string
		var in bool
		for _, c := range list {
			if c.node != at {
				at = c.node
				domain, in = v.domainIn(c.node.source, amount)
			}
			if in && count[domain] < amount.Devices && !known.has(r, c.node.source.ID, c.device) && !slices.Contains(taken[c.node], c.device) {
				count[domain]++
				taken[c.node] = append(taken[c.node], c.device)
			}
		}
	}
	for _, of := range r.Nodes {
		if n := v.nodes[of.Node]; len(taken[n]) > 0 {
			taken[n] = slices.Concat(taken[n], of.Devices)
			continue
		}
		nodes = append(nodes, of)
	}
	for n, devices := range taken { // each node for itself: order cannot matter
		known.add(r, n.source.ID, devices)
		healthy := 0
		for i := range n.source.Devices {
			if !n.source.Devices[i].Unhealthy || slices.Contains(devices, i) {
				healthy++
			}
		}
		if healthy == len(devices) && !known.shares(r, n.source.ID) {
			devices = nil
		}
		nodes = append(nodes, allot.ReservedNode{Node: n.source.ID, Devices: devices})
	}
	return nodes
}

// candidates are the healthy devices that nobody else uses of nodes that are neither lost nor
// cordoned, of the pool of the queue for which it is, else of all, by pool, node and index.
func (v reserving) candidates(r *allot.Reservation) (list []candidate) {
	for _, n := range v.nodes { // sorted below
		if n.pool == nil || n.source.Lost || n.source.Cordoned || r.Queue != "" && v.queues[r.Queue].pool != n.pool {
			continue
		}
		for i, d := range n.source.Devices {
			if !d.Unhealthy && d.Foreign == 0 {
				list = append(list, candidate{n, i})
			}
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		x, y := a.node.source, b.node.source
		return cmp.Or(strings.Compare(a.node.pool.id, b.node.pool.id), cmp.Compare(x.Rank, y.Rank), strings.Compare(x.ID, y.ID), cmp.Compare(a.device, b.device))
	})
	return list
}

// domainIn is the domain of a node that an amount means, by the names of those around it too.
func (v reserving) domainIn(n *allot.Node, amount allot.ReservedDomain) (key string, in bool) {
	name := n.Domains[amount.Level]
	if amount.Level == allot.NodeLevel {
		name = n.ID
	}
	for _, level := range v.state.Levels {
		if key += fmt.Sprintf("%q", n.Domains[level.Name]); level.Name == amount.Level {
			break
		}
	}
	return fmt.Sprintf("%s%q", key, name), name != "" && (amount.Domain == "" || amount.Domain == name)
}
