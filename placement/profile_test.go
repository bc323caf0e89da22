package placement

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/quota"
)

// B2, worked. Nodes of one device: A on 0 and 1 until 10, B on 2 until 4. A gang of four fits at 10,
// one of two at 4, of one now; with the four held from 10 to 15, one without end fits at
// 15, one of five at 4 beside it, and one of ten now, on the free node, only until 10.
func TestProfile(t *testing.T) {
	x := mustIndex(t, plain(gpus(1)), plain(gpus(1)), plain(gpus(1)), plain(gpus(1)))
	one := x.Shape(Request{Set: -1, Devices: 1})
	p := NewProfile(x, 0, 0, 0)
	for v, until := range []int64{10, 10, 4} {
		s := Stay{Shape: one, Place: Place{Node: int32(v), Devices: 1}, Until: until}
		if err := x.Take(one, s.Place); err != nil {
			t.Fatal(err)
		}
		p.Stands(s)
	}
	ends := func() (times []int64) {
		for at, some := p.NextEnd(0); some; at, some = p.NextEnd(at) {
			times = append(times, at)
		}
		return times
	}
	if got := ends(); !slices.Equal(got, []int64{4, 10}) { // before anything is looked for
		t.Errorf("ends %d", got)
	}
	earliest := func(n int, duration int64) int64 {
		t.Helper()
		at, ok := p.Earliest(Window{0, Never, duration}, Question{Exact: true, Fits: func(int64) bool { return takeMany(x, one, n) != nil }})
		if !ok {
			return -1
		}
		return at
	}
	check := func(n int, duration, want int64) {
		t.Helper()
		if got := earliest(n, duration); got != want {
			t.Errorf("%d for %d: at %d, want %d", n, duration, got, want)
		}
	}
	check(4, 5, 10)
	check(2, 5, 4)
	check(1, Never, 0)
	check(5, 1, -1)
	if got := ends(); !slices.Equal(got, []int64{4, 10}) {
		t.Errorf("ends %d", got)
	}
	var held []Stay
	p.During(10, 5, func() {
		for _, place := range takeMany(x, one, 4) {
			held = append(held, Stay{Shape: one, Place: place, From: 10, Until: 15})
		}
	})
	p.Hold(7, held)
	check(1, Never, 15)
	check(2, 6, 4)
	check(1, 10, 0)
	check(1, 11, 15)
	check(2, 7, 15)
	if got := p.Release(7); len(got) != 4 || len(p.Release(7)) != 0 {
		t.Errorf("released %v", got)
	}
	check(1, 11, 0)
	if len(x.journal.entries) != 0 || len(x.journal.cells) != 0 {
		t.Error("the journal is not empty")
	}
}

// A profile afresh knows what is releasing, and of what stands only what it is told: who has been taken
// out of the index is not taken for one who ends, and what is held in the other is nobody's.
func TestProfileAfresh(t *testing.T) {
	x := mustIndex(t, plain(gpus(2)))
	one := x.Shape(Request{Set: -1, Devices: 1})
	p := NewProfile(x, 0, 0, 20)
	for d := range 2 {
		s := Stay{Shape: one, Place: Place{Devices: 1 << d}, Until: 10}
		if err := x.Take(one, s.Place); err != nil {
			t.Fatal(err)
		}
		p.Stands(s)
	}
	if err := x.Give(one, Place{Devices: 1}); err != nil {
		t.Fatal(err)
	}
	p.Hold(7, []Stay{{Shape: one, Place: Place{Devices: 1}, Until: 30}})
	places := []Stay{{Shape: one, Place: Place{Devices: 1}}, {Shape: one, Place: Place{Devices: 2}}}
	q := p.Afresh()
	if q.Free(10, 5, places) || !q.Free(0, 5, places[:1]) {
		t.Error("it knows of an end, or of what is held")
	}
	q.Stands(Stay{Shape: one, Place: Place{Devices: 2}, Until: 10})
	if at, ok := q.Earliest(Window{0, Never, 5}, Question{Fits: func(int64) bool { return takeMany(x, one, 2) != nil }}); !ok || at != 10 {
		t.Errorf("both at %d, %t", at, ok)
	}
	if p.Free(0, 5, places[:1]) || len(x.journal.entries) != 0 {
		t.Error("the first is not what it was")
	}
}

// takeMany takes so many places, or none and returns nil.
func takeMany(x *Index, s Shape, n int) (places []Place) {
	for range n {
		p, ok := x.Find(s, BinPack)
		if !ok || x.Take(s, p) != nil {
			return nil
		}
		places = append(places, p)
	}
	return places
}

// The rounding is up, from zero, and never beyond Never.
func TestProfileRounds(t *testing.T) {
	p := NewProfile(mustIndex(t), 0, 10, 0)
	for _, row := range [][2]int64{{0, 0}, {1, 10}, {10, 10}, {11, 20}, {-1, 0}, {-10, -10}, {-11, -10}, {Never, Never}, {Never - 1, Never - 1}} {
		if got := p.Round(row[0]); got != row[1] {
			t.Errorf("%d is rounded to %d, want %d", row[0], got, row[1])
		}
	}
}

// A timeline is the reference of TestProfileIsExact, written from B2: everything that
// is anywhere at any time, added up for each whole time of a window.
type timeline struct {
	nodes []Node
	all   []timelineStay
}

type timelineStay struct {
	request     Request
	place       Place
	from, until int64
}

// room is how many tasks the node takes in the window, which ends with the times there are.
func (l *timeline) room(v int32, r Request, from, until, last int64) int {
	n := &l.nodes[v]
	least := 1 << 20
	left := make([]int64, len(n.Devices))
	for d := range left {
		left[d] = 1000
	}
	for at := from; at < min(until, last); at++ {
		free, now := slices.Clone(n.Capacity), make([]int64, len(n.Devices))
		for _, s := range l.all {
			if s.place.Node != v || s.from > at || s.until <= at {
				continue
			}
			for _, a := range s.request.Amounts {
				free[a.Resource] -= a.Value
			}
			for d := range now {
				if s.place.Devices&(1<<d) != 0 {
					now[d] += s.request.Milli
				}
			}
		}
		for _, a := range r.Amounts {
			least = min(least, int(max(0, free[a.Resource])/a.Value))
		}
		for d := range left {
			left[d] = min(left[d], 1000-now[d])
		}
	}
	if r.Devices == 0 {
		return least
	}
	whole, parts := 0, 0
	for _, free := range left {
		if free == 1000 {
			whole++
		}
		parts += int(max(0, free) / r.Milli)
	}
	if r.Milli == 1000 {
		return min(least, whole/int(r.Devices))
	}
	return min(least, parts)
}

// earliest tries every whole time.
func (l *timeline) earliest(from int64, r Request, tasks int, until func(from int64) int64, last, horizon int64) (int64, bool) {
	for at := from; at <= horizon; at++ {
		room := 0
		for v := range l.nodes {
			room += l.room(int32(v), r, at, until(at), last)
		}
		if room >= tasks {
			return at, true
		}
	}
	return 0, false
}

// The profile is exact (B2): what it answers is what a look at every time answers, whatever
// stands, is releasing and is held, and where it places something all is free throughout. At
// 100,000 instances in a deep run, see internal/deep.
func TestProfileIsExact(t *testing.T) {
	found, held, late := 0, 0, 0
	for seed := range deep.Seeds(t, 400) {
		d := rand.New(rand.NewPCG(seed, 2))
		f, h, l := profileInstance(t, d)
		found, held, late = found+f, held+h, late+l
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d found, %d of them later than now, %d held", found, late, held)
	if !testing.Short() && (found < 300 || held < 200 || late < 100) {
		t.Errorf("of %d that were found %d were later than now, and %d were held", found, late, held)
	}
}

func profileInstance(t *testing.T, d *rand.Rand) (found, held, late int) {
	const longest = 12
	now, resolution := int64(d.IntN(4)), int64(1+d.IntN(3))
	ends := func() int64 {
		if d.IntN(6) == 0 {
			return Never
		}
		return now + int64(d.IntN(longest))
	}
	var nodes []Node
	for range 1 + d.IntN(4) {
		nodes = append(nodes, plain(gpus(d.IntN(4)), int64(2+d.IntN(7))))
	}
	x, ref := mustIndex(t, nodes...), &timeline{nodes: nodes}
	p := NewProfile(x, now, resolution, 0)
	for range d.IntN(8) {
		r := profileRequest(d)
		s := x.Shape(r)
		finds := x
		if d.IntN(2) == 0 { // a claim, where it does not fit beside what is releasing
			finds = x.AfterRelease()
		}
		place, ok := finds.Find(s, Spread)
		if !ok || x.Take(s, place) != nil {
			continue
		}
		if !place.Pipelined && d.IntN(4) == 0 {
			if err := x.Release(s, place); err != nil {
				t.Fatal(err)
			}
			p.Leaves(Stay{Shape: s, Place: place})
			continue
		}
		until := ends()
		p.Stands(Stay{Shape: s, Place: place, Until: until})
		if until != Never {
			until = max(now, (until+resolution-1)/resolution*resolution)
		}
		ref.all = append(ref.all, timelineStay{r, place, 0, until})
	}
	const last = 200                                       // later nothing begins or ends
	few := []Request{profileRequest(d), profileRequest(d)} // of what asks for more, for longer, less is looked at
	for holder := range int32(1 + d.IntN(10)) {
		r, tasks := few[d.IntN(2)], 1+d.IntN(1+d.IntN(4))
		s := x.Shape(r)
		duration, from := int64(1+d.IntN(longest)), now+int64(d.IntN(3)*d.IntN(8))
		if d.IntN(4) == 0 {
			duration = Never
		}
		before := int64(Never)
		if d.IntN(3) == 0 {
			before = from + int64(d.IntN(longest))
		}
		var places []Place
		q := Question{
			Key: int64(d.IntN(2)) * (int64(holder) + 1), Exact: d.IntN(4) > 0,
			Fits: func(int64) bool {
				places = takeMany(x, s, tasks)
				return places != nil
			},
		}
		if d.IntN(2) > 0 {
			q.Needs = []Need{{s, int64(1 + d.IntN(tasks))}}
		}
		ends := func(from int64) int64 { // rounded up
			if duration == Never {
				return Never
			}
			return (from + duration + resolution - 1) / resolution * resolution
		}
		want, some := ref.earliest(from, r, tasks, ends, last, min(before, last)-1)
		refuses := d.IntN(1 + d.IntN(4))
		next := func(at int64) int64 {
			from := at + 1 + int64(d.IntN(3))
			want, some = ref.earliest(from, r, tasks, ends, last, min(before, last)-1)
			return from
		}
		if refuses > 0 {
			q.Accepts = func(at int64) (bool, int64) {
				refuses = max(refuses-1, -1)
				if refuses < 0 {
					return true, 0
				}
				var stays []Stay
				for _, place := range places {
					stays = append(stays, Stay{Shape: s, Place: place, From: at, Until: after(at, duration)})
				}
				for range 2 { // what is asked aside leaves no trace
					if !p.Free(at, duration, stays) {
						t.Errorf("%v are not free from %d for %d", places, at, duration)
					}
					p.Hold(-1, stays)
					p.Release(-1)
				}
				return false, next(at)
			}
			q.Declines = func(at int64) (bool, int64) {
				if at != want {
					t.Errorf("%d of %+v for %d: asked of %d, by the timeline it is %d", tasks, r, duration, at, want)
				}
				if refuses <= 0 || d.IntN(2) > 0 {
					return false, 0
				}
				refuses--
				return true, next(at)
			}
		}
		at, ok := p.Earliest(Window{from, before, duration}, q)
		if !some {
			want = 0
		}
		if ok != some || at != want {
			t.Errorf("%d of %+v for %d from %d: at %d, %v; by the timeline at %d, %v", tasks, r, duration, from, at, ok, want, some)
			return
		}
		if !ok {
			continue
		}
		found++
		if at > from {
			late++
		}
		var stays []Stay
		known := len(ref.all)
		for _, place := range places {
			if !p.Free(at, duration, []Stay{{Shape: s, Place: place}}) || !ref.free(place, r, at, ends(at), last) {
				t.Errorf("%v is not free from %d for %d", place, at, duration)
				return
			}
			stays = append(stays, Stay{Shape: s, Place: place, From: at, Until: after(at, duration)})
			ref.all = append(ref.all, timelineStay{r, place, at, ends(at)})
		}
		switch d.IntN(3) {
		case 0: // somebody else asks
			ref.all = ref.all[:known]
		case 1:
			p.Hold(holder, stays)
			q.Accepts = nil
			p.Earliest(Window{now, Never, duration}, q) // and finds nothing there
			if p.Release(holder); len(p.Held(holder)) > 0 {
				t.Error("held after the release")
			}
			ref.all = ref.all[:known]
		default:
			p.Hold(holder, stays)
			held++
		}
	}
	return found, held, late
}

// free says whether a place is free in all of a window.
func (l *timeline) free(place Place, r Request, from, until, last int64) bool {
	for at := from; at < min(until, last); at++ {
		free := slices.Clone(l.nodes[place.Node].Capacity)
		devices := map[int]int64{}
		for _, s := range l.all {
			if s.place.Node != place.Node || s.from > at || s.until <= at {
				continue
			}
			for _, a := range s.request.Amounts {
				free[a.Resource] -= a.Value
			}
			for m := s.place.Devices; m != 0; m &= m - 1 {
				devices[bits.TrailingZeros64(m)] += s.request.Milli
			}
		}
		for _, a := range r.Amounts {
			if free[a.Resource] < a.Value {
				return false
			}
		}
		for m := place.Devices; m != 0; m &= m - 1 {
			if devices[bits.TrailingZeros64(m)]+r.Milli > 1000 {
				return false
			}
		}
	}
	return true
}

func profileRequest(d *rand.Rand) Request {
	r := Request{Set: -1, Milli: 1000, Devices: int32(d.IntN(3))}
	if r.Devices == 1 && d.IntN(2) == 0 {
		r.Milli = int64(300 + 200*d.IntN(2))
	}
	if r.Devices == 0 || d.IntN(2) == 0 {
		r.Amounts = quota.Amounts{{Resource: 0, Value: int64(1 + d.IntN(4))}}
	}
	return r
}

// What stands until it is found out that it does not, and at the same time something that
// is held begins, is in the way of nothing together with it: of each amount the most at
// any one time counts.
func TestProfileCountsTheMostAtATime(t *testing.T) {
	x := mustIndex(t, plain(nil, 8))
	four := x.Shape(Request{Set: -1, Amounts: quota.Amounts{{Resource: 0, Value: 4}}})
	p := NewProfile(x, 0, 0, 0)
	s := Stay{Shape: four, Until: 10}
	if err := x.Take(four, s.Place); err != nil {
		t.Fatal(err)
	}
	p.Stands(s)
	p.Hold(1, []Stay{{Shape: four, From: 10, Until: 20}})
	if at, ok := p.Earliest(Window{0, Never, Never}, Question{Exact: true, Fits: func(int64) bool { return takeMany(x, four, 1) != nil }}); !ok || at != 0 {
		t.Errorf("at %d, %v: the second half is free for ever", at, ok)
	}
	if at, ok := p.Earliest(Window{0, Never, Never}, Question{Exact: true, Fits: func(int64) bool { return takeMany(x, four, 2) != nil }}); !ok || at != 20 {
		t.Errorf("at %d, %v, want 20", at, ok)
	}
}

// Of two tasks that are alike on one device one stands behind a holder: that one is out of its way, and
// the other has to end.
func TestProfileTellsTasksApart(t *testing.T) {
	x := mustIndex(t, plain(gpus(1)))
	half, one := x.Shape(Request{Set: -1, Devices: 1, Milli: 500}), x.Shape(Request{Set: -1, Devices: 1})
	p := NewProfile(x, 0, 0, 0)
	place := Place{Devices: 1}
	for of := range int32(2) {
		if err := x.Take(half, place); err != nil {
			t.Fatal(err)
		}
		p.Stands(Stay{Shape: half, Place: place, Until: 10, Of: of})
	}
	p.Behind(7, []Stay{{Shape: half, Place: place, Until: 10, Of: 1}})
	for at, want := range map[int64]bool{9: false, 10: true} { // each by itself: order cannot matter
		free := false
		p.Without(7, func() { free = p.Free(at, 5, []Stay{{Shape: one, Place: place}}) })
		if free != want {
			t.Errorf("at %d: %v", at, free)
		}
	}
}

// Who is out of the way of one is out of it still once it has been asked what is free without others too.
func TestProfileWithoutTwo(t *testing.T) {
	x := mustIndex(t, plain(gpus(2)), plain(gpus(1)))
	one, half := x.Shape(Request{Set: -1, Devices: 1}), x.Shape(Request{Set: -1, Devices: 1, Milli: 500})
	p := NewProfile(x, 0, 0, 0)
	for holder, node := range []int32{0, 1} {
		stands := Stay{Shape: one, Place: Place{Node: node, Devices: 1}, Until: 10}
		if err := x.Take(one, stands.Place); err != nil {
			t.Fatal(err)
		}
		p.Stands(stands)
		p.Behind(int32(holder), []Stay{stands})
	}
	p.Without(0, func() {
		p.Without(1, func() {
			if !p.Free(0, 5, []Stay{{Shape: one, Place: Place{Devices: 1}}, {Shape: one, Place: Place{Node: 1, Devices: 1}}}) {
				t.Error("both are out of the way, and something is in it")
			}
		})
		p.During(20, 5, func() {
			if n := x.RoomOn(half, 0); n != 4 {
				t.Errorf("room for %d halves on a node of two devices", n)
			}
		})
	})
}

// The horizon bounds the starts that are looked for, not the ends.
func TestProfileHorizon(t *testing.T) {
	x := mustIndex(t, plain(gpus(1)))
	one := x.Shape(Request{Set: -1, Devices: 1})
	s := Stay{Shape: one, Place: Place{Devices: 1}, Until: 10}
	for horizon, want := range map[int64]bool{9: false, 10: true, 0: true, Never: true} { // each by itself: order cannot matter
		p := NewProfile(x, 0, 0, horizon)
		m := x.Mark()
		if err := x.Take(one, s.Place); err != nil {
			t.Fatal(err)
		}
		p.Stands(s)
		if _, ok := p.Earliest(Window{0, Never, Never}, Question{Key: 1, Exact: true, Fits: func(int64) bool { return takeMany(x, one, 1) != nil }}); ok != want {
			t.Errorf("horizon %d: %v", horizon, ok)
		}
		x.Undo(m)
	}
}
