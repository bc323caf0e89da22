package cluster

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// What the nodes of a pool would take with nothing on them: nothing runs there and nothing
// is in foreign use, cordoned or unhealthy, as all of that may end. Only what is lost is not
// there; and where whole nodes are taken (P8) they are looked at without what is unhealthy too, as smaller
// nodes. A workload for which that is not enough is impossible (X1), and asks nothing while
// it waits (F1). None of it depends on what runs or on a quota: no start and no eviction
// makes a workload possible.

// A bareNodes is a pool's nodes with nothing on them, and remembers what they take for as
// long as no node is lost or comes back.
type bareNodes struct {
	world  *World
	pool   *Pool
	index  int32
	placer gang.Placer
	// sound has nothing in the way of a task but what runs: it is the pool's own where
	// nothing else is in the way there. Empty has nothing that runs either, and worn is that without
	// the devices that are unhealthy now. Nil until asked.
	sound, empty, worn *placement.Index
	// takes is what of tasks they take by shape, scopes where those could stand.
	takes  map[placement.Shape]atBest
	scopes map[placement.Shape]*scope
	// fits says by definition whether a workload that holds nothing could start.
	fits []fit
	// domains are by definition what noDomain says of its first unit.
	domains map[int32][]Verdict
}

// A fit is whether the empty nodes would take a definition.
type fit uint8

const (
	notAsked fit = iota
	possible
	impossible
)

// BareNodes gives every pool its own.
func (w *World) BareNodes() {
	for i, p := range w.Pools {
		p.Bare = &bareNodes{world: w, pool: p, index: int32(i), placer: p.placer()}
		p.Bare.forget()
	}
}

// forget forgets what the nodes take, but not of definitions.
func (b *bareNodes) forget() {
	b.takes, b.scopes, b.domains = make(map[placement.Shape]atBest), make(map[placement.Shape]*scope), make(map[int32][]Verdict)
}

// placer is one of the pool's nodes.
func (p *Pool) placer() gang.Placer {
	return gang.Placer{Topology: p.Topology, Fitting: p.Policy.Fitting, LeastFreeFirst: p.Policy.LeastFreeDomainsFirst}
}

// Possible says whether the empty nodes would take what a definition needs at least. A
// search that was cut, or looked at a part of the choices only, is no proof that they do
// not. What cannot be tried as too little of it was submitted is possible.
func (b *bareNodes) Possible(definition int32) bool {
	for int(definition) >= len(b.fits) {
		b.fits = append(b.fits, notAsked)
	}
	if b.fits[definition] == notAsked {
		b.fits[definition] = impossible
		if b.wouldFit(definition) {
			b.fits[definition] = possible
		}
	}
	return b.fits[definition] == possible
}

// KnownPossible says whether that was asked, and they would.
func (b *bareNodes) KnownPossible(definition int32) bool {
	return int(definition) < len(b.fits) && b.fits[definition] == possible
}

func (b *bareNodes) wouldFit(definition int32) bool {
	d := &b.pool.Definitions[definition]
	if !d.Verdict.OK || b.plainlyFits(d) || b.fitsNow(definition, d) {
		return true
	}
	units, cut := []gang.Unit{d.Unit}, false
	if d.Unsure || len(d.Ladder) > 0 {
		units, cut = d.Gang.Units(nil, d.Choices())
	}
	for _, unit := range units {
		// The nodes were indexed before, so there is no error, and if there is one, no proof.
		if why, err := b.Refuses(definition, 0, d, unit); err != nil || len(why) == 0 {
			return true
		}
	}
	return cut
}

// plainlyFits says whether it is plain that they take the first unit: its tasks ask the same
// and nothing but a node each, of which there are enough already with what is in the way.
func (b *bareNodes) plainlyFits(d *Definition) bool {
	return len(d.Unit.Add) == 1 && !d.Gang.Constrained() &&
		(b.pool.Policy.Fitting == gang.AnyNodes || d.Unit.Add[0] == 1) &&
		placement.CouldTake(b.pool.Index, d.Sets[0].Placed, int64(d.Unit.Add[0]))
}

// fitsNow says whether the nodes take the first unit with all that stands on them, where it
// is not enough to count them: with less on them they take it too, and need no index of
// their own as long as no question is asked in vain.
func (b *bareNodes) fitsNow(definition int32, d *Definition) bool {
	if b.empty != nil || !b.placedAsOne(d, d.Unit) {
		return false
	}
	b.placer.Topology = b.pool.Topology // it is made when it is first asked for
	m := b.pool.Index.Mark()
	defer b.pool.Index.Undo(m)
	_, found := b.placer.PlaceWithSiblings(b.pool.Index, d.Gang, d.Unit, gang.Siblings{}, d.Place, nil)
	if found.OK {
		b.domains[definition] = nil
	}
	return found.OK
}

// placedAsOne says whether the unit has to be placed to know that it fits: by constraints (T2), or
// on whole nodes (P8).
func (b *bareNodes) placedAsOne(d *Definition, unit gang.Unit) bool {
	return d.Gang.Constrained() || b.pool.Policy.Fitting != gang.AnyNodes &&
		slices.ContainsFunc(unit.Add, func(n int32) bool { return n > 1 })
}

// Refuses is why the empty nodes would not take the unit of a form with a definition; nothing if
// they would.
func (b *bareNodes) Refuses(definition int32, form int16, d *Definition, unit gang.Unit) ([]Verdict, error) {
	out, err := b.tooFew(definition, form, d, unit)
	if err == nil && len(out) == 0 {
		out, err = b.noDomain(definition, form, d, unit)
	}
	if err == nil && len(out) == 0 {
		out, err = b.tooMuch(form, d, unit)
	}
	return out, err
}

// tooFew says of which sets the empty nodes take no task, or too few.
func (b *bareNodes) tooFew(definition int32, form int16, d *Definition, unit gang.Unit) (out []Verdict, err error) {
	var together map[placement.Shape]int64 // pod sets of one shape share the nodes
	if len(unit.Add) > 1 {
		together = make(map[placement.Shape]int64)
	}
	for set, n := range unit.Add {
		if together != nil {
			together[d.Sets[set].Placed] += int64(n)
		}
	}
	for set, n := range unit.Add {
		if n == 0 {
			continue
		}
		best, err := b.take(&d.Sets[set])
		if err != nil {
			return nil, err
		}
		shape := d.Sets[set].Placed
		if !best.one {
			rejection := b.pool.Index.Reject(shape)
			out = append(out, TellNoNode(NewVerdict(ImpossibleNode, form, b.index).OfSet(definition, set), &rejection))
			continue
		}
		need := int64(n)
		if together != nil {
			need = together[shape]
			delete(together, shape) // told once
		}
		if most := int64(best.all); most < need {
			out = append(out, NewVerdict(ImpossibleGang, form, b.index).Counting(most, need).OfSet(definition, set))
		}
	}
	return out, nil
}

// noDomain says whether the constraints leave the unit no place (T7), or no whole nodes are
// enough for it (P8). What it says of the first unit of a definition it says once.
func (b *bareNodes) noDomain(definition int32, form int16, d *Definition, unit gang.Unit) ([]Verdict, error) {
	if !b.placedAsOne(d, unit) {
		return nil, nil
	}
	first := slices.Equal(unit.Add, d.Unit.Add)
	why, known := b.domains[definition]
	if !first || !known {
		var err error
		if why, err = b.searchDomains(d, unit); err != nil {
			return nil, err
		}
	}
	if first {
		b.domains[definition] = why
	}
	why = slices.Clone(why)
	for i := range why {
		why[i].Form = form
	}
	return why, nil
}

// searchDomains is noDomain, found out by a search. Without the devices that are unhealthy now a node is smaller,
// and may be of the size that whole nodes are to have (P8).
func (b *bareNodes) searchDomains(d *Definition, unit gang.Unit) (why []Verdict, err error) {
	if b.empty == nil {
		if b.empty, err = b.newIndex(false); err != nil {
			return nil, err
		}
	}
	again, kept, takes := b.placeOn(b.empty, d, unit)
	if takes {
		return nil, nil
	}
	if b.pool.Policy.Fitting != gang.AnyNodes && b.anyUnhealthy() {
		if b.worn == nil {
			if b.worn, err = b.newIndex(true); err != nil {
				return nil, err
			}
		}
		if _, _, takes := b.placeOn(b.worn, d, unit); takes {
			return nil, nil
		}
	}
	best := b.placer.Best(b.empty, again, unit, gang.Siblings{}, d.Place)
	return []Verdict{TellKeptApart(NewVerdict(ImpossibleDomain, 0, b.index), best, kept)}, nil
}

// placeOn says whether the nodes of an index would take the unit, whose gang has other shapes there: as the
// search finds it, unless that was cut, or if the right ones of them were in use (P8).
func (b *bareNodes) placeOn(x *placement.Index, d *Definition, unit gang.Unit) (again *gang.Gang, found gang.Verdict, takes bool) {
	b.placer.Topology = b.pool.Topology // it is made when it is first asked for
	again = d.Gang.Reshaped(func(set int) placement.Shape { return x.Shape(d.Sets[set].open()) })
	m := x.Mark()
	_, found = b.placer.PlaceWithSiblings(x, again, unit, gang.Siblings{}, d.Place, nil)
	x.Undo(m)
	return again, found, found.OK || found.Cut || b.placer.FitsBeside(x, again, unit)
}

// atBest is whether one empty node would take a task, and how many all would.
type atBest struct {
	one bool
	all int
}

// take says whether some node would take a task of the shape, and how many all of them would.
func (b *bareNodes) take(shape *Shape) (atBest, error) {
	if known, ok := b.takes[shape.Placed]; ok {
		return known, nil
	}
	if err := b.mend(); err != nil {
		return atBest{}, err
	}
	mended := b.sound.Shape(shape.open())
	best := atBest{b.sound.Reject(mended).Ever, b.sound.Candidates(mended)}
	b.takes[shape.Placed] = best
	return best, nil
}

// mend sees to it that sound is there.
func (b *bareNodes) mend() (err error) {
	switch {
	case b.sound != nil:
	case b.impaired():
		b.sound, err = b.newIndex(false)
	default:
		b.sound = b.pool.Index
	}
	return err
}

// lost says whether the node at a position is lost, which a world that is kept finds out.
func (b *bareNodes) lost(position int) bool { return b.world.Nodes[b.pool.Nodes[position]].Lost }

// impaired says whether anything on the nodes is in the way that does not run.
func (b *bareNodes) impaired() bool {
	for position, n := range b.pool.Placed {
		if n.Cordoned && !b.lost(position) {
			return true
		}
	}
	return b.pool.Unused != nil || b.anyUnhealthy()
}

// anyUnhealthy says whether a device of the pool is unhealthy.
func (b *bareNodes) anyUnhealthy() bool {
	return slices.ContainsFunc(b.pool.Placed, func(n placement.Node) bool {
		return slices.ContainsFunc(n.Devices, func(d placement.Device) bool { return d.Unhealthy })
	})
}

// newIndex is the nodes with nothing on them, and where that is asked without what is unhealthy now.
func (b *bareNodes) newIndex(worn bool) (*placement.Index, error) {
	nodes := slices.Clone(b.nodes())
	for i := range nodes {
		nodes[i].Cordoned = b.lost(i)
		nodes[i].Devices = slices.Clone(nodes[i].Devices)
		for d := range nodes[i].Devices {
			nodes[i].Devices[d].Unhealthy = nodes[i].Devices[d].Unhealthy && worn
		}
	}
	return placement.NewIndex(nodes, b.pool.Plain-1)
}

// nodes are the pool's by position, with nothing of them in foreign use.
func (b *bareNodes) nodes() []placement.Node {
	if b.pool.Unused != nil {
		return b.pool.Unused
	}
	return b.pool.Placed
}

// Follow has the nodes be as they are after one was cordoned or lost, or is no longer. Of
// definitions they still know what they did.
func (b *bareNodes) Follow(position int32) {
	lost := b.lost(int(position))
	switch {
	case b.sound == b.pool.Index && lost == b.pool.Placed[position].Cordoned:
	case b.sound != nil && (b.sound == b.pool.Index || !b.sound.Cordon(position, lost)):
		b.sound = nil
	}
	if b.empty != nil && !b.empty.Cordon(position, lost) {
		b.empty = nil
	}
	if b.worn != nil && !b.worn.Cordon(position, lost) {
		b.worn = nil
	}
	b.forget()
}

// Again finds out anew of all definitions whether they would fit, and says whether
// that is otherwise than it was for any.
func (b *bareNodes) Again() (changed bool) {
	for definition, was := range b.fits {
		if was != notAsked {
			b.fits[definition] = notAsked
			changed = b.Possible(int32(definition)) != (was == possible) || changed
		}
	}
	return changed
}
