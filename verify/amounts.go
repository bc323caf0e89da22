package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/allotsched/allot"
)

// Amounts of devices that people have reserved in domains come to devices of nodes here (B9).

// spoken says by node and device which reservations have it, those that have the whole node
// under no device, which is −1: of reservations of one crowd, as others never last with them.
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

// meet says whether two reservations last at some time both.
func meet(a, b *allot.Reservation) bool { return begins(a) < ends(b) && begins(b) < ends(a) }

func begins(r *allot.Reservation) int64 { return micros(r.From) }

func ends(r *allot.Reservation) int64 {
	if r.Until.IsZero() {
		return forever
	}
	return micros(r.Until)
}

// crowds numbers reservations so that those of different numbers never last at one time.
func crowds(list []*allot.Reservation) map[*allot.Reservation]int {
	crowd, last, of := 0, int64(math.MinInt64), make(map[*allot.Reservation]int)
	for _, r := range slices.SortedFunc(slices.Values(list), func(a, b *allot.Reservation) int { return cmp.Compare(begins(a), begins(b)) }) {
		if begins(r) >= last {
			crowd++
		}
		of[r], last = crowd, max(last, ends(r))
	}
	return of
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
	var list []*allot.Reservation // by ID
	for i := range state.Reservations {
		if r := &state.Reservations[i]; !v.passed(r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *allot.Reservation) int { return strings.Compare(a.ID, b.ID) })
	of, known := crowds(list), make(map[int]spoken)
	for _, r := range list {
		if known[of[r]] == nil {
			known[of[r]] = make(spoken)
		}
		for _, n := range r.Nodes {
			known[of[r]].add(r, n.Node, n.Devices)
		}
	}
	candidates, domains := make(map[string][]candidate), make(map[string]map[*verifiedNode]string) // by queue, by level
	for _, r := range list {
		if len(r.Domains) == 0 {
			continue
		}
		if _, listed := candidates[r.Queue]; !listed {
			candidates[r.Queue] = v.candidates(r)
		}
		for _, amount := range r.Domains {
			if domains[amount.Level] == nil {
				domains[amount.Level] = v.domainsAt(amount.Level)
			}
		}
		r.Nodes = v.amounts(r, known[of[r]], candidates[r.Queue], domains)
	}
}

// amounts are the nodes and devices that a reservation names and that its amounts come to.
func (v reserving) amounts(r *allot.Reservation, known spoken, list []candidate, domains map[string]map[*verifiedNode]string) (nodes []allot.ReservedNode) {
	taken := make(map[*verifiedNode][]int)
	for _, amount := range r.Domains {
		count := make(map[string]int)
		for _, c := range list {
			domain, in := domains[amount.Level][c.node]
			if in = in && (amount.Domain == "" || amount.Domain == domainOf(c.node.source, amount.Level)); !in || count[domain] >= amount.Devices {
				continue
			}
			for _, d := range c.devices {
				if count[domain] < amount.Devices && !known.has(r, c.node.source.ID, d) && !slices.Contains(taken[c.node], d) {
					count[domain]++
					taken[c.node] = append(taken[c.node], d)
				}
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

// A candidate is a node with devices of which an amount may be, in their order.
type candidate struct {
	node    *verifiedNode
	devices []int
}

// candidates are the healthy devices without foreign use, of nodes that are neither lost nor
// cordoned: of the pool of the queue that the reservation is for, else of all, by pool and node.
func (v reserving) candidates(r *allot.Reservation) (list []candidate) {
	for _, n := range v.nodes { // sorted below
		if n.pool == nil || n.source.Lost || n.source.Cordoned || r.Queue != "" && v.queues[r.Queue].pool != n.pool {
			continue
		}
		c := candidate{node: n}
		for i, d := range n.source.Devices {
			if !d.Unhealthy && d.Foreign == 0 {
				c.devices = append(c.devices, i)
			}
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b candidate) int {
		x, y := a.node.source, b.node.source
		return cmp.Or(strings.Compare(a.node.pool.id, b.node.pool.id), cmp.Compare(x.Rank, y.Rank), strings.Compare(x.ID, y.ID))
	})
	return list
}

// domainOf is the name of the domain of a level that a node is in, "" if it is in none.
func domainOf(n *allot.Node, level string) string {
	if level == allot.NodeLevel {
		return n.ID
	}
	return n.Domains[level]
}

// domainsAt are the domains of a level in which nodes are, by the names of those around them too.
func (v reserving) domainsAt(level string) map[*verifiedNode]string {
	of := make(map[*verifiedNode]string)
	for _, n := range v.nodes { // into a map: order cannot matter
		if domainOf(n.source, level) == "" {
			continue
		}
		key := ""
		for _, wider := range v.state.Levels {
			if wider.Name == level {
				break
			}
			key += fmt.Sprintf("%q", n.source.Domains[wider.Name])
		}
		of[n] = fmt.Sprintf("%s%q", key, domainOf(n.source, level))
	}
	return of
}
