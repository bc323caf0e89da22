package queue

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTexts: the text forms are stable, strict and go both ways.
func TestTexts(t *testing.T) {
	type both struct {
		Order    Order    `json:"order"`
		Queueing Queueing `json:"queueing"`
	}
	orders := []string{"fair-share", "priority-first", "global", "deprived", "share-then-age"}
	queueings := []string{"best-effort", "strict-queue", "strict-pool", "backfill-preemptible", "best-effort"}
	for i, order := range orders {
		text := `{"order":"` + order + `","queueing":"` + queueings[i] + `"}`
		want := both{Order(i), Queueing(i % 4)}
		var got both
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s decodes to %v, %v", text, got, err)
		}
		if out, err := json.Marshal(want); err != nil || string(out) != text {
			t.Errorf("%v encodes to %s, %v", want, out, err)
		}
		if got.Order.String() != order || got.Queueing.String() != queueings[i] {
			t.Errorf("%v: strings %v and %v", got, got.Order, got.Queueing)
		}
	}
	for _, text := range []string{"", "FAIR-SHARE", "fair-share ", "strict", "0"} {
		o, q := Global, StrictPool
		if o.UnmarshalText([]byte(text)) == nil || q.UnmarshalText([]byte(text)) == nil || o != Global || q != StrictPool {
			t.Errorf("%q is taken for %v, %v", text, o, q)
		}
	}
	o, q := Order(len(orders)), Queueing(5)
	if _, err := o.MarshalText(); err == nil || o.Valid() || o.String() != "Order(5)" {
		t.Errorf("%v is taken for an order: %v", o, err)
	}
	if _, err := q.MarshalText(); err == nil || q.Valid() || q.String() != "Queueing(5)" {
		t.Errorf("%v is taken for a queueing: %v", q, err)
	}
}

// TestItemOrder: O1, one step at a time. Every later step contradicts.
func TestItemOrder(t *testing.T) {
	worst := Item{Priority: -9, Stage: AboveMinimum, Submitted: 9, ID: 9, Form: 9}
	with := func(change func(*Item)) Item {
		it := worst
		change(&it)
		return it
	}
	for _, c := range []struct {
		why           string
		first, second Item
	}{
		{"higher priority", with(func(i *Item) { i.Priority = 1 }), Item{Priority: 0}},
		{"below its minimum before at it", with(func(i *Item) { i.Stage = BelowMinimum }), Item{Priority: -9, Stage: AtMinimum}},
		{"at its minimum before above it", with(func(i *Item) { i.Stage = AtMinimum }), Item{Priority: -9, Stage: AboveMinimum}},
		{"earlier submit time", with(func(i *Item) { i.Submitted = -1 }), Item{Priority: -9, Stage: AboveMinimum, Submitted: 0}},
		{"lower ID", with(func(i *Item) { i.ID = 1 }), Item{Priority: -9, Stage: AboveMinimum, Submitted: 9, ID: 2}},
		{"preferred form", with(func(i *Item) { i.Form = 1 }), with(func(i *Item) { i.Form = 2 })},
		{"priorities at both ends", Item{Priority: 1<<31 - 1}, Item{Priority: -1 << 31}},
	} {
		if a, b := c.first.Compare(c.second), c.second.Compare(c.first); a >= 0 || b <= 0 {
			t.Errorf("%s: Compare gives %d and %d", c.why, a, b)
		}
	}
}

// TestItemOrderIsTotal: O1 is antisymmetric, transitive, and 0 only for equals.
func TestItemOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawItem(t), drawItem(t), drawItem(t)
		checkTotal(t, a, b, c, Item.Compare, func(a, b Item) bool { return a == b })
	})
}

// TestOrdersAreTotal: every Order is a total order over the waiting queues of
// a sibling group, as a tournament needs.
func TestOrdersAreTotal(t *testing.T) {
	for order := range Order(len(orderTexts)) {
		t.Run(order.String(), func(t *testing.T) {
			list := order.ranking()
			compare := func(a, b *contender) int { c, _ := list.compare(a, b); return c }
			same := func(a, b *contender) bool { return a.queue == b.queue }
			rapid.Check(t, func(t *rapid.T) {
				w := drawWorld(t, order)
				three := make([]*contender, 3)
				for i := range three {
					three[i] = drawContender(t, w, i)
				}
				checkTotal(t, three[0], three[1], three[2], compare, same)
			})
		})
	}
}

// drawContender draws what weighing could give, ties often.
func drawContender(t *rapid.T, w *world, queue int) *contender {
	small := rapid.Int64Range(0, 2)
	c := &contender{
		queue: int32(queue), created: instant(small.Draw(t, "created")), leaf: int32(queue), best: drawItem(t),
		class: class(small.Draw(t, "class")), tier: tier(small.Draw(t, "tier")), zeroShare: rapid.Bool().Draw(t, "zero"),
	}
	for range w.divided {
		c.entitlements = append(c.entitlements, entitlement{share: small.Draw(t, "share")})
	}
	c.with.Num, c.with.Den = small.Draw(t, "num"), small.Draw(t, "den")
	c.without.Num, c.without.Den = small.Draw(t, "num"), small.Draw(t, "den")
	c.deprived.Num, c.deprived.Den = small.Draw(t, "num"), small.Draw(t, "den")
	return c
}

func checkTotal[T any](t *rapid.T, a, b, c T, compare func(a, b T) int, same func(a, b T) bool) {
	for _, p := range [][2]T{{a, b}, {b, c}, {a, c}, {a, a}} {
		x, y := compare(p[0], p[1]), compare(p[1], p[0])
		if (x < 0) != (y > 0) || (x == 0) != (y == 0) || (x == 0) != same(p[0], p[1]) {
			t.Fatalf("not antisymmetric: %v and %v give %d and %d", p[0], p[1], x, y)
		}
	}
	list := []T{a, b, c}
	slices.SortFunc(list, compare)
	for i := range list {
		for j := i; j < len(list); j++ {
			if compare(list[i], list[j]) > 0 {
				t.Fatalf("not transitive: %v", list)
			}
		}
	}
}

// TestNames: a comparison is named once in an order.
func TestNames(t *testing.T) {
	for order := range Order(len(orderTexts)) {
		var names []string
		for _, c := range order.ranking().list {
			if slices.Contains(names, c.name) {
				t.Errorf("%v: %q twice in %s", order, c.name, strings.Join(names, ", "))
			}
			names = append(names, c.name)
		}
	}
}

// TestOwnQueueing: what a queue says for itself is read as it is written, and is what
// the pool might say; as-pool says nothing.
func TestOwnQueueing(t *testing.T) {
	for own, text := range []string{"as-pool", "best-effort", "strict-queue", "backfill-preemptible", "backfill-singles"} {
		q, back := OwnQueueing(own), OwnQueueing(0)
		written, err := q.MarshalText()
		if err != nil || string(written) != text || q.String() != text || !q.Valid() {
			t.Errorf("%d: %q, %v, error %v", own, written, q, err)
		}
		if err := back.UnmarshalText(written); err != nil || back != q {
			t.Errorf("%q is read as %v, error %v", text, back, err)
		}
		is, said := q.Queueing()
		if said != (q != AsPool) || said && is.String() != text {
			t.Errorf("%v says %v, %v", q, is, said)
		}
	}
	q := OwnQueueing(5)
	if _, err := q.MarshalText(); err == nil || q.Valid() || q.String() != "OwnQueueing(5)" {
		t.Errorf("%v is valid, error %v", q, err)
	}
	if _, said := q.Queueing(); said {
		t.Error("what is not valid says something")
	}
	if err := q.UnmarshalText([]byte("strict-pool")); err == nil || q != OwnQueueing(5) {
		t.Errorf("a queue says strict-pool, error %v, is %v", err, q)
	}
}
