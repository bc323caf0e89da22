package quota_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/allotsched/allot/quota"
)

// drawConfig draws a small tree in which bounds, use and capacity often meet.
func drawConfig(t *rapid.T) quota.Config {
	resources := rapid.IntRange(1, 3).Draw(t, "resources")
	n := rapid.IntRange(1, 8).Draw(t, "queues")
	// Position i of a random order takes its parent among earlier positions.
	order := rapid.Permutation(indices(n)).Draw(t, "order")
	c := quota.Config{
		Capacity:                rapid.SliceOfN(rapid.Int64Range(-2, 20), resources, resources).Draw(t, "capacity"),
		Queues:                  make([]quota.Queue, n),
		NonPreemptibleOverQuota: rapid.IntRange(0, 4).Draw(t, "Q2 off") == 0,
	}
	if rapid.IntRange(0, 3).Draw(t, "has caps") == 0 {
		c.CapOnly = make([]bool, resources)
		c.CapOnly[resources-1] = true
	}
	for i, q := range order {
		c.Queues[q].Parent = -1
		if above := rapid.IntRange(-1, i-1).Draw(t, "parent"); above >= 0 {
			c.Queues[q].Parent = int32(order[above])
		}
		c.Queues[q].Bounds = make([]quota.Bounds, rapid.IntRange(0, resources).Draw(t, "given"))
		for r := range c.Queues[q].Bounds {
			b := quota.Bounds{
				Quota: drawBound(t, "quota", 3), Limit: drawBound(t, "limit", 2),
				Borrow: drawBound(t, "borrow", 1), Lend: drawBound(t, "lend", 2),
			}
			if c.CapOnly != nil && c.CapOnly[r] {
				b.Quota = quota.Bound{}
			}
			c.Queues[q].Bounds[r] = b
		}
	}
	return c
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// drawBound gives an amount in often of 5 cases.
func drawBound(t *rapid.T, label string, often int) quota.Bound {
	switch k := rapid.IntRange(0, 9).Draw(t, label+"?"); {
	case k == 0:
		return quota.Unlimited()
	case k <= 2*often:
		return quota.Of(rapid.Int64Range(0, 8).Draw(t, label))
	default:
		return quota.Bound{}
	}
}

func drawAmounts(t *rapid.T, resources int) quota.Amounts {
	var a quota.Amounts
	for r := range resources {
		if n := rapid.Int64Range(-2, 5).Draw(t, "amount"); n > 0 {
			a = append(a, quota.Amount{Resource: int32(r), Value: n})
		}
	}
	return a
}

// machine runs a Tree beside the model.
type machine struct {
	tree   *quota.Tree
	model  model
	leaves []int
	marks  []quota.Mark
	saved  [][]charge // the model's charges at each mark
}

func newMachine(t *rapid.T, c quota.Config) *machine {
	tree, err := quota.New(c)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	m := &machine{tree: tree, model: model{config: c}}
	for q := range c.Queues {
		if len(m.model.children(q)) == 0 {
			m.leaves = append(m.leaves, q)
		}
	}
	return m
}

func (m *machine) charge(t *rapid.T) {
	c := charge{
		queue:          rapid.SampledFrom(m.leaves).Draw(t, "leaf"),
		amounts:        drawAmounts(t, len(m.model.config.Capacity)),
		nonPreemptible: rapid.Bool().Draw(t, "non-preemptible"),
	}
	if err := m.tree.Charge(c.queue, c.amounts, c.nonPreemptible); err != nil {
		t.Fatalf("Charge: %v", err)
	}
	m.model.charges = append(slices.Clone(m.model.charges), c)
}

func (m *machine) release(t *rapid.T) {
	if len(m.model.charges) == 0 {
		t.Skip("nothing charged")
	}
	i := rapid.IntRange(0, len(m.model.charges)-1).Draw(t, "which")
	c := m.model.charges[i]
	if err := m.tree.Release(c.queue, c.amounts, c.nonPreemptible); err != nil {
		t.Fatalf("Release: %v", err)
	}
	m.model.charges = slices.Delete(slices.Clone(m.model.charges), i, i+1)
}

// releaseTooMuch asks for one more than there is of a kind: an error, and the
// checks after it see that nothing has changed.
func (m *machine) releaseTooMuch(t *rapid.T) {
	q := rapid.SampledFrom(m.leaves).Draw(t, "leaf")
	nonPreemptible := rapid.Bool().Draw(t, "non-preemptible")
	var a quota.Amounts
	for r := range m.model.config.Capacity {
		have := m.model.nonPreemptible(q, r)
		if !nonPreemptible {
			have = m.model.use(q, r) - have
		}
		// The last resource is the one that fails.
		if r == len(m.model.config.Capacity)-1 {
			have++
		}
		if have > 0 {
			a = append(a, quota.Amount{Resource: int32(r), Value: have})
		}
	}
	if err := m.tree.Release(q, a, nonPreemptible); !errors.Is(err, quota.ErrUnderflow) {
		t.Fatalf("Release of more than is charged: %v", err)
	}
}

func (m *machine) mark(*rapid.T) {
	m.marks = append(m.marks, m.tree.Mark())
	m.saved = append(m.saved, m.model.charges)
}

func (m *machine) undo(t *rapid.T) {
	i := m.drawMark(t)
	m.tree.Undo(m.marks[i])
	m.model.charges = m.saved[i]
	m.close(t, i)
}

func (m *machine) commit(t *rapid.T) {
	i := m.drawMark(t)
	m.tree.Commit(m.marks[i])
	m.close(t, i)
}

func (m *machine) drawMark(t *rapid.T) int {
	if len(m.marks) == 0 {
		t.Skip("no mark")
	}
	return rapid.IntRange(0, len(m.marks)-1).Draw(t, "mark")
}

// close drops mark i and those after it, and uses a closed one again, which
// must do nothing.
func (m *machine) close(t *rapid.T, i int) {
	stale := rapid.SampledFrom(m.marks[i:]).Draw(t, "stale")
	m.marks, m.saved = m.marks[:i], m.saved[:i]
	if rapid.Bool().Draw(t, "undo it") {
		m.tree.Undo(stale)
	} else {
		m.tree.Commit(stale)
	}
	m.tree.Undo(quota.Mark{})
}

// check compares every answer of the tree with the model's.
func (m *machine) check(t *rapid.T) {
	n, resources := len(m.model.config.Queues), len(m.model.config.Capacity)
	var all []quota.Figures
	for q := range n {
		for r := range resources {
			want := m.model.figures(q, r)
			all = append(all, want)
			same(t, fmt.Sprintf("Figures(%d,%d)", q, r), m.tree.Figures(q, r), want)
			same(t, "Use", m.tree.Use(q, r), want.Used)
			same(t, "NonPreemptible", m.tree.NonPreemptible(q, r), want.NonPreemptible)
			same(t, "Reserve", m.tree.Reserve(q, r), m.model.reserve(q, r))
		}
	}
	if got := m.tree.AppendFigures(nil); !slices.Equal(got, all) {
		t.Fatalf("AppendFigures:\n%s", cmp.Diff(all, got))
	}
	q := rapid.IntRange(0, n-1).Draw(t, "asks")
	a := drawAmounts(t, resources)
	m.checkQuestions(t, q, a, rapid.Bool().Draw(t, "non-preemptible"))
}

// checkQuestions: Check ⇔ Q2 ∧ Q3 ∧ Q5, Shortfalls, Never and Q9.
func (m *machine) checkQuestions(t *rapid.T, q int, a quota.Amounts, nonPreemptible bool) {
	want := m.model.shortfalls(q, a, nonPreemptible)
	got := m.tree.Shortfalls(nil, q, a, nonPreemptible)
	if !slices.Equal(got, want) {
		t.Fatalf("Shortfalls(%d, %v, %v):\n%s", q, a, nonPreemptible, cmp.Diff(want, got))
	}
	first, ok := m.tree.Check(q, a, nonPreemptible)
	if ok != (len(want) == 0) || !ok && first != want[0] {
		t.Fatalf("Check(%d, %v, %v) = %v, %v; want the first of %v", q, a, nonPreemptible, first, ok, want)
	}
	never := slices.DeleteFunc(m.model.empty().shortfalls(q, a, nonPreemptible),
		func(s quota.Shortfall) bool { return s.Kind == quota.Kept })
	first, possible := m.tree.Never(q, a, nonPreemptible)
	if possible != (len(never) == 0) || !possible && first != never[0] {
		t.Fatalf("Never(%d, %v, %v) = %v, %v; want the first of %v", q, a, nonPreemptible, first, possible, never)
	}
	if ok && !possible {
		t.Fatalf("Never(%d, %v, %v) refuses what Check lets start", q, a, nonPreemptible)
	}
	answer := m.tree.Availability(q, a, nonPreemptible)
	same(t, "Availability", answer, m.model.availability(q, a, nonPreemptible))
	if m.model.fits(q, a, nonPreemptible) != (answer <= quota.ByBorrowing) {
		t.Fatalf("Availability %v, but fits now is %v", answer, !(answer <= quota.ByBorrowing))
	}
}

func same[T comparable](t *rapid.T, what string, got, want T) {
	if got != want {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

// Everything the tree says agrees with a model that recomputes it from the list
// of charges (Q1–Q3, Q5, Q6, Q9), through any sequence of charges, releases and
// nested trials.
func TestTreeAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, drawConfig(t))
		for q := range m.model.config.Queues {
			same(t, "Parent", m.tree.Parent(q), int(m.model.config.Queues[q].Parent))
			for r := range m.model.config.Capacity {
				same(t, "Governed", m.tree.Governed(r), m.model.governed(r))
				same(t, "Quota", m.tree.Quota(q, r), m.model.quota(q, r).resolved())
				same(t, "Limit", m.tree.Limit(q, r), m.model.limit(q, r).resolved())
				same(t, "Ceiling", m.tree.Ceiling(q, r),
					min(m.model.limit(q, r).resolved(), m.model.borrowing(q, r).resolved()))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"":                 m.check,
			"charge":           m.charge,
			"charge again":     m.charge,
			"release":          m.release,
			"release too much": m.releaseTooMuch,
			"mark":             m.mark,
			"undo":             m.undo,
			"commit":           m.commit,
		})
	})
}

// quotasAlone is c's tree with one resource, of which there is so much that room
// and limits hide nothing, and a quota in every leaf.
func quotasAlone(t *rapid.T, c quota.Config) quota.Config {
	out := quota.Config{Capacity: []int64{1000}}
	for _, q := range c.Queues {
		n := rapid.Int64Range(0, 6).Draw(t, "quota of a leaf")
		out.Queues = append(out.Queues, quota.Queue{Parent: q.Parent, Bounds: []quota.Bounds{{Quota: quota.Of(n)}}})
	}
	for _, q := range c.Queues {
		if q.Parent != -1 {
			out.Queues[q.Parent].Bounds = nil
		}
	}
	return out
}

// Q9: what another queue uses beyond its quota may take the room away, but never
// makes a request that is within quota look like borrowing or impossible; and
// what can never start is not a matter of use.
func TestOverUseHidesNoGuarantee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		if rapid.IntRange(0, 3).Draw(t, "as drawn") > 0 {
			c = quotasAlone(t, c)
		}
		m := newMachine(t, c)
		for range rapid.IntRange(0, 6).Draw(t, "charges") {
			m.charge(t)
		}
		q := rapid.SampledFrom(m.leaves).Draw(t, "asks")
		other := rapid.SampledFrom(m.leaves).Draw(t, "over-uses")
		if other == q {
			t.Skip("one's own over-use counts")
		}
		a := drawAmounts(t, len(c.Capacity))
		more := slices.DeleteFunc(drawAmounts(t, len(c.Capacity)), func(x quota.Amount) bool {
			return m.tree.Use(other, int(x.Resource)) < m.tree.Quota(other, int(x.Resource))
		})
		nonPreemptible := rapid.Bool().Draw(t, "non-preemptible")
		before := m.tree.Availability(q, a, nonPreemptible)
		if err := m.tree.Charge(other, more, false); err != nil {
			t.Fatal(err)
		}
		if after := m.tree.Availability(q, a, nonPreemptible); after != before && (after != quota.ByMakingRoom || before == quota.Never) {
			t.Fatalf("%v of queue %d was %v and is %v after queue %d over-used %v", a, q, before, after, other, more)
		}
	})
}

// Q5: where no more is kept than there is, starts that Check allows leave free
// all that is kept.
func TestLendingKeepsWhatIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, drawConfig(t))
		resources := len(m.model.config.Capacity)
		for r := range resources {
			if m.model.kept(-1, r) > m.model.config.Capacity[r] {
				t.Skip("more kept than there is")
			}
		}
		for range rapid.IntRange(1, 10).Draw(t, "starts") {
			q, a := rapid.SampledFrom(m.leaves).Draw(t, "leaf"), drawAmounts(t, resources)
			if !m.model.fits(q, a, false) {
				continue
			}
			if _, ok := m.tree.Check(q, a, false); !ok {
				t.Fatal("Check refuses what fits")
			}
			if err := m.tree.Charge(q, a, false); err != nil {
				t.Fatal(err)
			}
			m.model.charges = append(m.model.charges, charge{queue: q, amounts: a})
			for r := range resources {
				if kept, free := m.model.kept(-1, r), m.model.config.Capacity[r]-m.model.use(-1, r); kept > max(0, free) {
					t.Fatalf("resource %d: %d kept, %d free", r, kept, free)
				}
			}
		}
	})
}

// A charge that overflows changes nothing, and none wraps: amounts up to beyond
// MaxSum against sums kept in big steps.
func TestChargeOverflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		m := newMachine(t, c)
		resources := len(c.Capacity)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			q := rapid.SampledFrom(m.leaves).Draw(t, "leaf")
			var a quota.Amounts
			overflows := false
			for r := range resources {
				room := quota.MaxSum - m.model.use(-1, r)
				n := rapid.SampledFrom([]int64{0, 1, room / 2, room, room + 1, quota.MaxSum, quota.Infinite}).Draw(t, "value")
				if n > 0 {
					overflows = overflows || n > room
					a = append(a, quota.Amount{Resource: int32(r), Value: n})
				}
			}
			err := m.tree.Charge(q, a, false)
			if overflows != errors.Is(err, quota.ErrOverflow) || !overflows && err != nil {
				t.Fatalf("Charge(%v): %v, want overflow %v", a, err, overflows)
			}
			if !overflows {
				m.model.charges = append(m.model.charges, charge{queue: q, amounts: a})
			}
			for q := range c.Queues {
				for r := range resources {
					same(t, "Use", m.tree.Use(q, r), m.model.use(q, r))
				}
			}
			m.checkQuestions(t, q, drawAmounts(t, resources), true)
		}
	})
}
