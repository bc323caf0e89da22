package cluster

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

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
	return []Verdict{NewVerdict(ImpossibleGang, form, b.index).Counting(all-short, all)}, nil
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
	for v, vacant := range placement.Vacancies(b.sound, mended) {
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
		AddNeed(need, &d.Sets[set], int64(n))
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

// AddNeed adds what nodes must give for n tasks; device memory is not told, as
// it is a different part of different devices.
func AddNeed(need []int64, shape *Shape, n int64) {
	for _, a := range shape.Request.Amounts {
		need[a.Resource+1] += n * a.Value
	}
	if shape.Request.Memory == 0 {
		need[0] += n * shape.Charge.Of(0)
	}
}
