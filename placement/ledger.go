package placement

// A Ledger is what is free on some nodes of an [Index], of which nobody asks but what a place lacks: it
// ranks no node, and finds nothing. Shapes have the names that they have in the index, those too that it
// is told of later.
type Ledger struct {
	of    *Index
	state Index
}

// NewLedger returns that of some nodes of an index, by position, with nothing on them but foreign use; the nodes of its
// places are numbered in the order of the list. It takes time and memory linear in the nodes and devices
// that are listed.
func NewLedger(x *Index, nodes []int32) *Ledger {
	if x.now != nil {
		x = x.now
	}
	devices := 0
	for _, v := range nodes {
		devices += len(x.layouts[x.nodes[v].layout].scale)
	}
	l := &Ledger{x, Index{
		resources: x.resources, layouts: x.layouts, kinds: x.kinds, rankings: newRankings(x.resources),
		nodes: make([]node, len(nodes)), free: make([]int64, 0, len(nodes)*x.resources), left: make([]int64, 0, devices),
		grown: newRing(0), opened: newRing(0), moved: newRing(0),
	}}
	for at, v := range nodes {
		nd := x.nodes[v]
		for d := range x.layouts[nd.layout].scale {
			l.state.left = append(l.state.left, x.unforeign(&nd, d))
		}
		nd.devices = int32(len(l.state.left) - len(x.layouts[nd.layout].scale))
		nd.slots, nd.cpuOnlySlots = x.slots[v].tasks, x.slots[v].cpuOnly
		l.state.free = append(l.state.free, x.capacityOf(v)...)
		l.state.sortDevices(&nd, x.layouts[nd.layout].all())
		l.state.nodes[at] = nd
	}
	return l
}

// read has the ledger know the shapes of the index.
func (l *Ledger) read() *Index {
	l.state.shapes = l.of.shapes
	return &l.state
}

// Take is [Index.Take].
func (l *Ledger) Take(s Shape, p Place) error { return l.read().Take(s, p) }

// TakeTogether is that of an index.
func (l *Ledger) TakeTogether(s Shape, p Place, tasks int) error {
	return TakeTogether(l.read(), s, p, tasks)
}

// Release is [Index.Release].
func (l *Ledger) Release(s Shape, p Place) error { return l.read().Release(s, p) }

// Lacks is [Index.Lacks].
func (l *Ledger) Lacks(s Shape, p Place) Lack { return l.read().Lacks(s, p) }

// Mark is [Index.Mark].
func (l *Ledger) Mark() Mark { return l.state.Mark() }

// Undo is [Index.Undo].
func (l *Ledger) Undo(m Mark) { l.read().Undo(m) }

// Commit is [Index.Commit].
func (l *Ledger) Commit(m Mark) { l.state.Commit(m) }
