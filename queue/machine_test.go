package queue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/quota"
)

// A machine drives Queues and a world by the same steps.
type machine struct {
	world   *world
	tree    *quota.Tree
	queues  *Queues
	leaves  []int
	dropped map[int]bool
	running []started
	seen    *coverage
}

type started struct {
	leaf int
	item Item
}

// coverage counts what the generator led to; see TestQueuesAgainstOracle.
type coverage struct {
	bests   int            // turns with a best
	deep    int            // of those, at depth 3 or more
	several int            // of those, with two or more divided resources
	decided map[string]int // pairs of waiting siblings, by the comparison that decides
}

// drawWorld makes a random tree in which ties are frequent at every step.
func drawWorld(t *rapid.T, order Order) *world {
	resources := rapid.IntRange(1, 3).Draw(t, "resources")
	n := rapid.IntRange(1, 14).Draw(t, "queues")
	w := &world{
		order:    order,
		divided:  rapid.SliceOfN(rapid.Bool(), resources, resources).Draw(t, "divided"),
		children: map[int][]int{},
		waiting:  make([][]Item, n),
	}
	perm := rapid.Permutation(indices(n)).Draw(t, "position") // parents may come after children
	w.parent = make([]int, n)
	depth := make([]int, n)
	for i, q := range perm {
		w.parent[q] = -1
		if i == 0 || rapid.IntRange(0, 3).Draw(t, "top") == 0 {
			continue
		}
		if p := perm[rapid.IntRange(0, i-1).Draw(t, "parent")]; depth[p] < 3 {
			w.parent[q], depth[q] = p, depth[p]+1
		}
	}
	small := rapid.Int64Range(0, 4)
	for q := range n {
		w.children[w.parent[q]] = append(w.children[w.parent[q]], q)
		w.created = append(w.created, small.Draw(t, "created"))
		w.share = append(w.share, rapid.SliceOfN(rapid.SampledFrom([]int64{0, 0, 1, 2, 4}), resources, resources).Draw(t, "share"))
		w.quota = append(w.quota, rapid.SliceOfN(small, resources, resources).Draw(t, "quota"))
		w.use = append(w.use, make([]int64, resources))
		var tiers []int32
		for r := range resources {
			tiers = append(tiers, rapid.Int32Range(-1, 1).Draw(t, "tier"))
			if w.quota[q][r] == 4 {
				w.quota[q][r] = quota.Infinite
			}
		}
		w.tier = append(w.tier, tiers)
	}
	needs := rapid.SliceOfN(rapid.SliceOfN(rapid.Int64Range(0, 2), resources, resources), 7, 7).Draw(t, "needs")
	w.request = func(it Item) []int64 { return needs[(int(it.ID)+int(it.Form)+int(it.Stage))%len(needs)] }
	return w
}

func newMachine(t *rapid.T, order Order, seen *coverage) *machine {
	w := drawWorld(t, order)
	m := &machine{world: w, dropped: map[int]bool{}, seen: seen}
	config := quota.Config{Capacity: make([]int64, len(w.divided))}
	c := Config{Divided: w.divided, Created: w.created, Order: w.order}
	for q := range w.parent {
		var bounds []quota.Bounds
		for r := range w.divided {
			b := quota.Of(w.quota[q][r])
			if w.quota[q][r] == quota.Infinite {
				b = quota.Unlimited()
			}
			bounds = append(bounds, quota.Bounds{Quota: b})
		}
		config.Queues = append(config.Queues, quota.Queue{Parent: int32(w.parent[q]), Bounds: bounds})
		c.Shares = append(c.Shares, w.share[q]...)
		c.Tier = append(c.Tier, w.tier[q]...)
		if len(w.children[q]) == 0 {
			m.leaves = append(m.leaves, q)
		}
	}
	var err error
	if m.tree, err = quota.New(config); err != nil {
		t.Fatal(err)
	}
	c.Tree = m.tree
	scratch := make(quota.Amounts, 0, len(w.divided)) // may be reused, says Config
	c.Request = func(it Item) quota.Amounts {
		scratch = append(scratch[:0], amounts(w.request(it)...)...)
		return scratch
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	m.queues = New(c)
	return m
}

func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func drawItem(t *rapid.T) Item {
	return Item{
		Submitted: rapid.Int64Range(0, 3).Draw(t, "submitted"),
		ID:        rapid.Int32Range(0, 12).Draw(t, "id"),
		Priority:  rapid.Int32Range(-1, 1).Draw(t, "priority"),
		Form:      int16(rapid.IntRange(0, 1).Draw(t, "form")),
		Stage:     Stage(rapid.IntRange(0, 2).Draw(t, "stage")),
	}
}

func (m *machine) leaf(t *rapid.T) int { return rapid.SampledFrom(m.leaves).Draw(t, "leaf") }

// add is what Fill and Push do, to the world.
func (m *machine) add(leaf int, it Item) bool {
	if m.dropped[leaf] || slices.Contains(m.world.waiting[leaf], it) {
		return false
	}
	m.world.waiting[leaf] = append(m.world.waiting[leaf], it)
	return true
}

// take is what Remove does, to the world.
func (m *machine) take(leaf int, it Item) bool {
	i := slices.Index(m.world.waiting[leaf], it)
	if i >= 0 {
		m.world.waiting[leaf] = slices.Delete(m.world.waiting[leaf], i, i+1)
	}
	return i >= 0
}

func (m *machine) use(t *rapid.T, leaf int, it Item, sign int64) {
	change := m.tree.Charge
	if sign < 0 {
		change = m.tree.Release
	}
	if err := change(leaf, amounts(m.world.request(it)...), false); err != nil {
		t.Fatal(err)
	}
	m.world.charge(leaf, it, sign)
	m.queues.Touch(leaf)
}

func (m *machine) Fill(t *rapid.T) {
	leaf := m.leaf(t)
	var items []Item
	for range rapid.IntRange(0, 12).Draw(t, "items") {
		items = append(items, drawItem(t))
	}
	before := slices.Clone(items)
	if got, want := m.queues.Fill(leaf, items), !m.dropped[leaf]; got != want {
		t.Fatalf("Fill(%d) = %v, want %v", leaf, got, want)
	}
	if !slices.Equal(items, before) {
		t.Fatal("Fill modified the caller's items")
	}
	for _, it := range items {
		m.add(leaf, it)
	}
}

func (m *machine) Push(t *rapid.T) {
	leaf, it := m.leaf(t), drawItem(t)
	if got, want := m.queues.Push(leaf, it), m.add(leaf, it); got != want {
		t.Fatalf("Push(%d, %v) = %v, want %v", leaf, it, got, want)
	}
}

func (m *machine) RemoveAny(t *rapid.T) {
	leaf := m.leaf(t)
	it := drawItem(t)
	if waiting := m.world.waiting[leaf]; len(waiting) > 0 && rapid.Bool().Draw(t, "waits") {
		it = rapid.SampledFrom(waiting).Draw(t, "item")
	}
	if got, want := m.queues.Remove(leaf, it), m.take(leaf, it); got != want {
		t.Fatalf("Remove(%d, %v) = %v, want %v", leaf, it, got, want)
	}
}

// Start takes the best, charges it and, if it is elastic enough, pushes it
// again with its next stage.
func (m *machine) Start(t *rapid.T) {
	leaf, it, ok := m.queues.Best()
	if !ok {
		t.Skip("nothing waits")
	}
	if !m.queues.Remove(leaf, it) || !m.take(leaf, it) {
		t.Fatalf("the best, %v of queue %d, does not wait", it, leaf)
	}
	m.use(t, leaf, it, 1)
	m.running = append(m.running, started{leaf, it})
	if it.Stage < AboveMinimum && rapid.Bool().Draw(t, "elastic") {
		it.Stage++
		if got, want := m.queues.Push(leaf, it), m.add(leaf, it); got != want {
			t.Fatalf("Push(%d, %v) = %v, want %v", leaf, it, got, want)
		}
	}
}

// Stop ends something that runs. A victim waits again at once (S5), before
// anybody asks for the best.
func (m *machine) Stop(t *rapid.T) {
	if len(m.running) == 0 {
		t.Skip("nothing runs")
	}
	i := rapid.IntRange(0, len(m.running)-1).Draw(t, "which")
	s := m.running[i]
	m.running = slices.Delete(m.running, i, i+1)
	m.use(t, s.leaf, s.item, -1)
	if rapid.Bool().Draw(t, "evicted") {
		if got, want := m.queues.Push(s.leaf, s.item), m.add(s.leaf, s.item); got != want {
			t.Fatalf("Push(%d, %v) = %v, want %v", s.leaf, s.item, got, want)
		}
	}
}

func (m *machine) Drop(t *rapid.T) {
	if rapid.IntRange(0, 5).Draw(t, "spare") != 0 {
		t.Skip("spared")
	}
	leaf := m.leaf(t)
	m.queues.Drop(leaf)
	m.dropped[leaf] = true
	m.world.waiting[leaf] = nil
}

// Check compares after every step.
func (m *machine) Check(t *rapid.T) {
	leaf, it, ok := m.queues.Best()
	wantLeaf, wantItem, wantOK := m.world.best(-1)
	if leaf != wantLeaf || it != wantItem || ok != wantOK {
		t.Fatalf("%v: Best() = %d, %v, %v, want %d, %v, %v", m.world.order, leaf, it, ok, wantLeaf, wantItem, wantOK)
	}
	if got, want := m.queues.Len(), m.world.len(); got != want {
		t.Fatalf("Len() = %d, want %d", got, want)
	}
	m.count(leaf, ok)
}

func (m *machine) count(leaf int, ok bool) {
	if !ok {
		return
	}
	m.seen.bests++
	depth := 1
	for q := leaf; m.world.parent[q] >= 0; q = m.world.parent[q] {
		depth++
	}
	if depth >= 3 {
		m.seen.deep++
	}
	if len(m.queues.divided) >= 2 {
		m.seen.several++
	}
	for i := range m.queues.contenders {
		for j := range i {
			a, b := &m.queues.contenders[i], &m.queues.contenders[j]
			if a.leaf != noQueue && b.leaf != noQueue && m.queues.parent[i] == m.queues.parent[j] {
				_, by := m.queues.ranking.compare(a, b)
				m.seen.decided[m.queues.ranking.list[by].name]++
			}
		}
	}
}

// TestQueuesAgainstOracle: under every order, after any mixture of arrivals,
// starts, ends, withdrawals and drops, the tournament's best is what sorting
// everything from scratch gives (O1, O2, O3). Every named comparison must have
// decided something, or the generator is too tame.
func TestQueuesAgainstOracle(t *testing.T) {
	for order := range Order(len(orderTexts)) {
		t.Run(order.String(), func(t *testing.T) {
			seen := &coverage{decided: map[string]int{}}
			for range 5 { // of the 100 checks that rapid makes by default
				rapid.Check(t, func(t *rapid.T) {
					m := newMachine(t, order, seen)
					t.Repeat(map[string]func(*rapid.T){
						"": m.Check, "fill": m.Fill, "push": m.Push, "remove": m.RemoveAny,
						"start": m.Start, "start again": m.Start, "stop": m.Stop, "drop": m.Drop,
					})
				})
			}
			t.Logf("coverage: %+v", *seen)
			if t.Failed() || seen.bests < 2000 { // fewer checks were asked for
				return
			}
			if 10*seen.deep < seen.bests || 10*seen.several < seen.bests {
				t.Error("less than a tenth of the turns are at depth 3, or of several resources")
			}
			for _, c := range order.ranking().list {
				if seen.decided[c.name] == 0 && c.name != "(h) index" {
					t.Errorf("%q never decided", c.name)
				}
			}
		})
	}
}
