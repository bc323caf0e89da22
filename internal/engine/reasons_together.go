package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// What sets of several shapes ask together of the empty cluster: each by itself may fit,
// and all of them be more than there is (X1).

// mostScopes is how many shapes a unit may have so that the nodes of each are summed up
// beside those of all: sums of more are left out, and then nothing is told.
const mostScopes = 16

// A scope is where a task of a shape could stand with nothing on the nodes.
type scope struct {
	takes   []bool   // by position
	devices []uint64 // by position
	all     []int64  // what that comes to, by plain resource
}

// tooMuch says whether the sets of the unit ask more together of some resource than
// all the empty nodes and devices have on which any of them could stand. It is a
// bound: nothing is told of what only finds no way to be parted among the nodes.
func (b *bareNodes) tooMuch(form int16, d *Definition, unit gang.Unit) ([]Verdict, error) {
	if len(unit.Add) < 2 {
		return nil, nil
	}
	var shapes []placement.Shape
	scopes := make(map[placement.Shape]*scope)
	for set, n := range unit.Add {
		shape := d.Sets[set].Placed
		if n > 0 && scopes[shape] == nil {
			one, err := b.scopeOf(&d.Sets[set])
			if err != nil {
				return nil, err
			}
			scopes[shape] = one
			shapes = append(shapes, shape)
		}
	}
	if len(shapes) < 2 || !b.asksMuch(d, unit, scopes) {
		return nil, nil
	}
	of := func(set int) *scope { return scopes[d.Sets[set].Placed] }
	bounds := []*scope{b.allOf(shapes, scopes)}
	if len(shapes) <= mostScopes {
		for _, shape := range shapes {
			bounds = append(bounds, scopes[shape])
		}
	}
	short := int64(0)
	for _, bound := range bounds {
		for r := range bound.all {
			short = max(short, tooMany(d, unit, int32(r), bound.all[r], func(set int) bool { return of(set).within(bound, r == 0) }))
		}
	}
	if short == 0 {
		return nil, nil
	}
	all := int64(unit.Tasks())
	return []Verdict{newVerdict(ImpossibleGang, form, b.index).counting(all-short, all)}, nil
}

// scopeOf is where a task of the shape could stand, what is cordoned or unhealthy counted
// as if it were not.
func (b *bareNodes) scopeOf(shape *Shape) (*scope, error) {
	if known := b.scopes[shape.Placed]; known != nil {
		return known, nil
	}
	if err := b.mend(); err != nil {
		return nil, err
	}
	p, mended := b.pool, b.sound.Shape(shape.open())
	out := &scope{takes: make([]bool, len(p.Placed)), devices: make([]uint64, len(p.Placed))}
	for v := range p.Placed {
		vacant := placement.Vacant(b.sound, mended, int32(v))
		out.takes[v], out.devices[v] = vacant.Tasks > 0, vacant.Devices
	}
	b.sumUp(out)
	b.scopes[shape.Placed] = out
	return out, nil
}

// allOf is where a task of any of the shapes could stand.
func (b *bareNodes) allOf(shapes []placement.Shape, scopes map[placement.Shape]*scope) *scope {
	out := &scope{takes: make([]bool, len(b.pool.Placed)), devices: make([]uint64, len(b.pool.Placed))}
	for _, shape := range shapes {
		for v, takes := range scopes[shape].takes {
			out.takes[v] = out.takes[v] || takes
			out.devices[v] |= scopes[shape].devices[v]
		}
	}
	b.sumUp(out)
	return out
}

// sumUp adds up what the nodes and devices of a scope have.
func (b *bareNodes) sumUp(out *scope) {
	out.all = make([]int64, b.pool.Plain)
	for v, takes := range out.takes {
		if !takes {
			continue
		}
		out.all[0] += placement.Units(b.sound, int32(v), out.devices[v])
		for r, n := range b.nodes()[v].Capacity {
			out.all[r+1] += max(0, n)
		}
	}
}

// within says whether a scope is part of another, in nodes or, where devices are asked
// about, in those.
func (o *scope) within(of *scope, devices bool) bool {
	for v, takes := range o.takes {
		if takes && !of.takes[v] || devices && o.devices[v]&^of.devices[v] != 0 {
			return false
		}
	}
	return true
}

// needs is what a task of the shape takes of the nodes, by plain resource; what device
// memory comes to depends on the device, and is not counted.
func (shape *Shape) needs(r int32) int64 {
	switch {
	case r > 0:
		return shape.Request.Amounts.Of(r - 1)
	case shape.Request.Memory > 0:
		return 0
	}
	return shape.Charge.Of(0)
}

// asksMuch says whether all sets together ask more of some resource than where some one
// of them could stand: otherwise they find enough wherever they could.
func (b *bareNodes) asksMuch(d *Definition, unit gang.Unit, scopes map[placement.Shape]*scope) bool {
	need := make([]int64, b.pool.Plain)
	for set, n := range unit.Add {
		addNeed(need, &d.Sets[set], int64(n))
	}
	for _, one := range scopes { // some or none: order cannot matter
		for r, all := range one.all {
			if need[r] > all {
				return true
			}
		}
	}
	return false
}

// tooMany is how many tasks of the sets that count, the smallest first, are more than an
// amount is enough for.
func tooMany(d *Definition, unit gang.Unit, r int32, amount int64, counts func(set int) bool) (more int64) {
	type demand struct{ each, tasks int64 }
	var asked []demand
	for set, n := range unit.Add {
		if each := d.Sets[set].needs(r); n > 0 && each > 0 && counts(set) {
			asked = append(asked, demand{each, int64(n)})
		}
	}
	slices.SortFunc(asked, func(a, b demand) int { return cmp.Compare(a.each, b.each) })
	for _, one := range asked {
		fit := min(one.tasks, amount/one.each)
		amount -= fit * one.each
		more += one.tasks - fit
	}
	return more
}

// Workloads of a queue that ask for different things mostly lack the same, and lack it for the
// same reason: what is composed for one of them is told of the next.

// A composition is what reasons were composed of where nothing else went into them. The lists
// are shared, so that equal ones begin at the same place.
type composition struct {
	form      int16
	lack, why []Verdict
	reasons   []Verdict
}

// of says whether it was composed of the same.
func (c *composition) of(other *composition) bool {
	return c.reasons != nil && c.form == other.form && sameList(c.lack, other.lack) && sameList(c.why, other.why)
}

func sameList(a, b []Verdict) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// lackOf is what of the unit finds no place now, which appendNamed adds to the reasons. Where
// no constraint and no bound of a class has a say in it, it is common to all that ask the same
// in whatever queue, and told of none.
func (s diagnosis) lackOf(i int32, asked question, d *Definition, unit gang.Unit) (lack []Verdict, common bool) {
	if d.Gang.Constrained() || d.Unsure || s.pool.Classed() || !slices.Equal(unit.Add, d.Unit.Add) {
		return s.noPlace(asked, d, unit, s.reprieving().beside(i, d, unit)), false
	}
	lack, told := s.lacks[asked.definition]
	if !told {
		lack = s.noPlace(question{definition: asked.definition, blocker: None}, d, unit, gang.Siblings{})
		if slices.EqualFunc(lack, s.lack, sameVerdict) {
			lack = s.lack
		}
		s.lacks[asked.definition], s.lack = lack, lack
	}
	return lack, true
}

// appendNamed adds what is lacking to the reasons of one that asks for it.
func appendNamed(reasons, lack []Verdict, asked question) []Verdict {
	for at := range lack {
		reasons = append(reasons, lack[at])
		v := &reasons[len(reasons)-1]
		if v.Form = asked.form; v.Code == NoCapacity {
			v.Queue = asked.queue
		}
	}
	return reasons
}

// whyNoRoom is why no room is made for the workload; nothing where it has not come to that.
func (s diagnosis) whyNoRoom(i, priority int32, asked question, held []int32) ([]Verdict, error) {
	switch told := s.refusals[roomQuestion{asked.forRoom(), priority, false}]; {
	case asked.blocker != None:
		return nil, nil
	case held != nil:
		return shielded(s.Solver, s.ownRefusals[i]), nil
	case told != nil:
		why, err := s.preempting().toldOf(told)
		return shielded(s.Solver, why), err
	}
	return nil, nil
}

// addStopped adds what stops the workload beside that: what it would expose, and who stands before it.
func (s diagnosis) addStopped(reasons []Verdict, i int32, asked question, d *Definition, held []int32) []Verdict {
	if why, some := exposing(s).exposureOf(i, asked); some {
		reasons = append(reasons, why)
	}
	if asked.blocker != None {
		v := newVerdict(Outranked, asked.form, s.index)
		v.Workload = asked.blocker
		reasons = append(reasons, v)
	}
	if s.choicesCut(d, held) {
		reasons = append(reasons, newVerdict(SearchCut, asked.form, s.index).counting(0, int64(d.choices())))
	}
	return reasons
}

// choicesCut says whether not all choices of pod sets were looked at.
func (s diagnosis) choicesCut(d *Definition, held []int32) bool {
	s.walk.Reset(d.Gang, held, d.choices())
	for more := true; more; {
		_, more = s.walk.Next()
	}
	return s.walk.Cut()
}

// shared is the list, or what was refused last in the queue where that tells the same.
func (s diagnosis) shared(queue int32, told []Verdict) []Verdict {
	if last := s.toldLast[queue]; len(told) == 0 || !slices.EqualFunc(last, told, sameVerdict) {
		s.toldLast[queue] = slices.Clone(told)
	}
	return s.toldLast[queue]
}

// sameVerdict says whether two verdicts tell the same. Domains, protections and chains are
// not compared: where there are some they do not.
func sameVerdict(a, b Verdict) bool {
	lists := len(a.Best) + len(b.Best) + len(a.Shields) + len(b.Shields) + len(a.Chain) + len(b.Chain)
	return lists == 0 && a.Code == b.Code && a.Form == b.Form && a.Pool == b.Pool && a.Queue == b.Queue && a.Resource == b.Resource &&
		a.Definition == b.Definition && a.Set == b.Set && a.Workload == b.Workload && a.Node == b.Node && a.Have == b.Have && a.Need == b.Need &&
		slices.Equal(a.Counts, b.Counts) && a.Nearest == b.Nearest && a.Pieces == b.Pieces && a.Reservation == b.Reservation &&
		a.Until == b.Until && a.Reclaim == b.Reclaim && a.shield == b.shield
}
