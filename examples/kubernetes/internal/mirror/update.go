package mirror

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
)

// Update brings what was put and deleted into the snapshot, as one Change, and says whether
// anything in it is otherwise now.
func (m *Mirror) Update(now time.Time) bool {
	now = now.UTC().Truncate(time.Microsecond)
	before := m.snapshot
	if next, err := before.With(allot.Change{Now: now}); err == nil { // a clock that was set back is no fault
		m.snapshot = next
	}
	changed := m.updateQueues()
	for _, p := range m.fresh {
		m.resume(p, now)
	}
	m.fresh = nil
	for pass := 0; pass < 3 && len(m.dirty.nodes)+len(m.dirty.groups) > 0; pass++ { // what is refused is use of its nodes
		nodes := sortedKeys(m.dirty.nodes)
		m.dirty.nodes = make(map[string]bool)
		for _, name := range nodes {
			if m.nodes[name] != nil {
				m.number(name)
			}
		}
		groups := sortedKeys(m.dirty.groups)
		m.dirty.groups = make(map[string]bool)
		var pieces []piece
		for _, id := range groups {
			pieces = append(pieces, m.workloadPiece(id, now)...)
		}
		nodes = append(nodes, sortedKeys(m.dirty.nodes)...)
		slices.Sort(nodes)
		for _, name := range slices.Compact(nodes) {
			pieces = append(pieces, m.nodePiece(name)...)
		}
		m.dirty.nodes = make(map[string]bool)
		changed = changed || len(pieces) > 0
		m.put(pieces)
	}
	return changed
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// A piece is a change of one noun.
type piece struct {
	noun   string // such as "workload team/train"
	change allot.Change
	// done takes note that the snapshot has it, failed that it has not.
	done, failed func()
}

// put puts pieces into the snapshot, all at once. Where that makes it unsound, they are put
// one by one, as often as some can, and the rest is refused.
func (m *Mirror) put(pieces []piece) {
	if len(pieces) == 0 {
		return
	}
	var all allot.Change
	for _, p := range pieces {
		c := &p.change
		all.Levels = append(all.Levels, c.Levels...)
		all.Nodes, all.Pools = append(all.Nodes, c.Nodes...), append(all.Pools, c.Pools...)
		all.Queues, all.Workloads = append(all.Queues, c.Queues...), append(all.Workloads, c.Workloads...)
		all.Remove.Nodes, all.Remove.Pools = append(all.Remove.Nodes, c.Remove.Nodes...), append(all.Remove.Pools, c.Remove.Pools...)
		all.Remove.Queues = append(all.Remove.Queues, c.Remove.Queues...)
		all.Remove.Workloads = append(all.Remove.Workloads, c.Remove.Workloads...)
	}
	if next, err := m.snapshot.With(all); err == nil {
		m.snapshot = next
		for _, p := range pieces {
			m.accept(p)
		}
		return
	}
	for len(pieces) > 0 {
		var left []piece
		problems := make(map[string]string)
		for _, p := range pieces {
			next, err := m.snapshot.With(p.change)
			if err != nil {
				left = append(left, p)
				problems[p.noun] = firstFault(err)
				continue
			}
			m.snapshot = next
			m.accept(p)
		}
		if len(left) == len(pieces) {
			for _, p := range left {
				m.refuse(p.noun, problems[p.noun])
				p.failed()
			}
			return
		}
		pieces = left
	}
}

func firstFault(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

func (m *Mirror) accept(p piece) {
	delete(m.refused, p.noun)
	p.done()
}

func (m *Mirror) refuse(noun, why string) { m.refused[noun] = why }

// updateQueues brings pools and queues into the snapshot, and has everything that refers to
// them worked out again. It says whether any are otherwise.
func (m *Mirror) updateQueues() bool {
	if !m.dirty.queues {
		return false
	}
	m.dirty.queues = false
	maps.DeleteFunc(m.refused, func(noun, _ string) bool { // all of them are read again
		return strings.HasPrefix(noun, "queue ") || strings.HasPrefix(noun, "pool ")
	})
	var pieces []piece
	if m.sent.levels == nil {
		m.sent.levels = []allot.Level{}
		for _, key := range m.options.Levels {
			m.sent.levels = append(m.sent.levels, allot.Level{Name: key})
		}
		pieces = append(pieces, piece{noun: "levels", change: allot.Change{Levels: m.sent.levels}, done: func() {}, failed: func() {}})
	}
	pieces = append(pieces, m.poolPieces()...)
	pieces = append(pieces, m.queuePieces()...)
	if len(pieces) == 0 {
		return false
	}
	// Work of a queue that goes, goes first: it is refused then, and use of its nodes.
	gone := make(map[string]bool)
	for _, p := range pieces {
		for _, id := range p.change.Remove.Queues {
			gone[id] = true
		}
	}
	for id, w := range m.sent.workloads { // removals have no order
		if gone[w.Queue] {
			pieces = append([]piece{m.removeWorkload(id)}, pieces...)
		}
	}
	if len(m.sent.queues) == 0 && slices.ContainsFunc(pieces, func(p piece) bool { return len(p.change.Queues) > 0 }) { // the first queues: nobody's work is in the implicit one any more
		for id := range m.sent.workloads { // the same
			if !gone[m.sent.workloads[id].Queue] {
				pieces = append([]piece{m.removeWorkload(id)}, pieces...)
			}
		}
	}
	m.put(pieces)
	for id := range m.groups { // marks: order cannot matter
		m.dirty.groups[id] = true
	}
	for name := range m.nodes { // the same
		m.dirty.nodes[name] = true
	}
	return true
}

func (m *Mirror) poolPieces() (pieces []piece) {
	want := make(map[string]*allot.Pool)
	for name, o := range m.pools { // pieces of their own: order cannot matter
		if !m.mine(name) {
			continue
		}
		p, err := m.options.Terms.Pool(o, m.options.Grace)
		if err != nil {
			m.refuse("pool "+name, err.Error())
			if old := m.sent.pools[name]; old != nil {
				want[name] = old
			}
			continue
		}
		want[name] = &p
	}
	if len(want) == 0 {
		p := m.options.DefaultPool(m.options.Grace)
		want[p.ID] = &p
	}
	return differences("pool", m.sent.pools, want,
		func(p *allot.Pool) allot.Change { return allot.Change{Pools: []allot.Pool{*p}} },
		func(id string) allot.Change { return allot.Change{Remove: allot.Removal{Pools: []string{id}}} })
}

func (m *Mirror) queuePieces() (pieces []piece) {
	want := make(map[string]*allot.Queue)
	for name, o := range m.queues { // pieces of their own: order cannot matter
		q, err := m.options.Queue(o)
		if err != nil {
			m.refuse("queue "+name, err.Error())
			if old := m.sent.queues[name]; old != nil {
				want[name] = old
			}
			continue
		}
		if q.Pool == "" && len(m.options.Pools) == 1 {
			q.Pool = m.options.Pools[0]
		}
		if q.Pool == "" || m.mine(q.Pool) {
			want[name] = &q
		}
	}
	return differences("queue", m.sent.queues, want,
		func(q *allot.Queue) allot.Change { return allot.Change{Queues: []allot.Queue{*q}} },
		func(id string) allot.Change { return allot.Change{Remove: allot.Removal{Queues: []string{id}}} })
}

// differences are the pieces by which what was sent becomes what is wanted.
func differences[T any](noun string, sent, want map[string]*T, put func(*T) allot.Change, remove func(string) allot.Change) (pieces []piece) {
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if now := want[id]; sent[id] == nil || !reflect.DeepEqual(sent[id], now) {
			pieces = append(pieces, piece{
				noun: noun + " " + id, change: put(now), done: func() { sent[id] = now }, failed: func() {},
			})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sent)) {
		if want[id] == nil {
			pieces = append(pieces, piece{
				noun: noun + " " + id, change: remove(id), done: func() { delete(sent, id) }, failed: func() {},
			})
		}
	}
	return pieces
}

// workloadPiece is what is otherwise of a workload.
func (m *Mirror) workloadPiece(id string, now time.Time) []piece {
	g := m.groups[id]
	if g == nil {
		return nil
	}
	w, slots, err := m.workload(g, now)
	sent := m.sent.workloads[id]
	switch {
	case err != nil:
		m.refuse("workload "+id, err.Error())
		m.stand(g, nil)
		if sent != nil {
			return []piece{m.removeWorkload(id)}
		}
		return nil
	case w == nil:
		delete(m.refused, "workload "+id)
		if len(g.pods) == 0 && m.podGroups[g.name()] == nil {
			delete(m.groups, id)
		}
		if sent != nil {
			return []piece{m.removeWorkload(id)}
		}
		return nil
	}
	m.stand(g, slots)
	if sent != nil && reflect.DeepEqual(sent, w) {
		return nil
	}
	return []piece{{
		noun: "workload " + id, change: allot.Change{Workloads: []allot.Workload{*w}},
		done:   func() { m.sent.workloads[id] = w },
		failed: func() { m.giveUp(g) },
	}}
}

// giveUp takes a workload out that the snapshot does not take: what of it is bound becomes
// use of its nodes, and what it claimed is free.
func (m *Mirror) giveUp(g *group) {
	for p := range g.pods { // each by itself: order cannot matter
		if p.order != nil && p.order.Kind == Claim {
			p.order = nil
		}
		if p.at != "" {
			m.dirty.nodes[p.at] = true
		}
	}
	m.stand(g, nil)
	if m.sent.workloads[g.id] != nil {
		m.put([]piece{m.removeWorkload(g.id)})
	}
}

// stand takes note of which pods the snapshot has.
func (m *Mirror) stand(g *group, slots map[slot]*pod) {
	was := make(map[*pod]bool, len(g.pods))
	for p := range g.pods { // marks: order cannot matter
		was[p] = p.stands
		p.stands = false
	}
	g.slots = slots
	for _, p := range slots { // the same
		p.stands = true
	}
	for p := range g.pods { // the same
		if p.at != "" && was[p] != p.stands {
			m.dirty.nodes[p.at] = true
		}
	}
}

func (m *Mirror) removeWorkload(id string) piece {
	return piece{
		noun: "gone workload " + id, change: allot.Change{Remove: allot.Removal{Workloads: []string{id}}},
		done: func() { delete(m.sent.workloads, id) }, failed: func() {},
	}
}

// nodePiece is what is otherwise of a node.
func (m *Mirror) nodePiece(name string) []piece {
	n, err := m.node(name)
	noun, sent := "node "+name, m.sent.nodes[name]
	switch {
	case err != nil:
		m.refuse(noun, err.Error())
		return nil
	case n == nil && sent == nil:
		delete(m.refused, noun)
		if known := m.nodes[name]; known != nil && len(known.pods) == 0 {
			delete(m.nodes, name)
		}
		return nil
	case n == nil:
		return []piece{{
			noun: noun, change: allot.Change{Remove: allot.Removal{Nodes: []string{name}}},
			done: func() {
				delete(m.sent.nodes, name)
				m.dirty.nodes[name] = true // to be forgotten when nobody is on it
			}, failed: func() {},
		}}
	case sent != nil && reflect.DeepEqual(sent, n):
		delete(m.refused, noun)
		return nil
	}
	return []piece{{
		noun: noun, change: allot.Change{Nodes: []allot.Node{*n}},
		done: func() { m.sent.nodes[name] = n }, failed: func() {},
	}}
}
