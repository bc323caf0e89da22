package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// The stages are asked for their verdicts again after the last action, so that every
// one is true in the world after the plan (X1).

// MayWait says whether there can be reasons for which the workload waits.
func MayWait(w *cluster.World, k *cluster.Work) bool {
	return (k.Status != cluster.Complete || k.Pipelined) && k.Status != cluster.Ending && k.Status != cluster.Failed
}

// ShownForm is the form under whose queue a waiting workload is listed: the one it
// holds something in, else its first.
func ShownForm(w *cluster.World, k *cluster.Work) int16 {
	switch {
	case k.Pipelined: // it has started in a form, behind what leaves
		return k.Current
	case k.Status == cluster.WaitsForLeavers:
		return leavingForm(k, w)
	case isTied(w, k):
		return k.Current
	}
	return 0
}

// leavingForm is the form of a workload that waits for its own tasks to leave: that in
// which it holds something, else theirs, whatever other forms have had their turn since.
func leavingForm(k *cluster.Work, w *cluster.World) int16 {
	l := &w.Live[k.Live]
	for at := l.From; at < l.To && !w.Holds(k); at++ {
		if h := &w.Holdings[at]; h.Phase == cluster.Terminating {
			return h.Form
		}
	}
	return k.Current
}

// Reasons are why workload i waits; none if it does not.
func Reasons(w *cluster.World, i int32) ([]cluster.Verdict, error) {
	k := &w.Works[i]
	for _, p := range w.Pools {
		p.Searching().Renew(cluster.ExplainEffort)
	}
	if k.Pipelined {
		if !isBelow(w, i) {
			return nil, nil // what it claims it grows by
		}
		waiting := int64(0)
		for at := range w.Room.Seats[i] {
			if one := &w.Room.Seats[i][at]; one.Claimed || one.Waits() {
				waiting++
			}
		}
		if k.IsLeaving(w) {
			return waitsOf(w, k, cluster.Leaving, int64(w.Live[k.Live].Leaving)), nil
		}
		return waitsOf(w, k, cluster.ClaimHeld, waiting), nil
	}
	switch k.Status {
	case cluster.WaitsForLeavers:
		if !isBelow(w, i) {
			return nil, nil
		}
		f := leavingForm(k, w)
		return []cluster.Verdict{cluster.NewVerdict(cluster.Leaving, f, w.FormOf(k, f).Pool).Counting(0, int64(w.Live[k.Live].Leaving))}, nil
	case cluster.Claiming:
		l := &w.Live[k.Live]
		if !isBelow(w, i) {
			return nil, nil
		}
		return waitsOf(w, k, cluster.ClaimHeld, int64(l.Claimed)), nil
	}
	if k.NotBefore >= 0 {
		f := ShownForm(w, k)
		v := cluster.NewVerdict(cluster.NotBefore, f, w.FormOf(k, f).Pool)
		v.Until = k.NotBefore
		return []cluster.Verdict{v}, nil
	}
	all, err := refusedBy(w, i)
	all = solverOf(w, k, ShownForm(w, k)).promising().telling().addReasons(i, ShownForm(w, k), all)
	return overtaking{w}.add(i, all), err
}

// refusedBy are the reasons for which form after form of the workload does not start.
func refusedBy(w *cluster.World, i int32) ([]cluster.Verdict, error) {
	k := &w.Works[i]
	if isTied(w, k) {
		return solverOf(w, k, k.Current).diagnosis().explain(i, k.Current)
	}
	if len(k.Others) == 0 {
		return solverOf(w, k, 0).diagnosis().explain(i, 0)
	}
	var all []cluster.Verdict
	for f := range int16(1 + len(k.Others)) {
		some, err := solverOf(w, k, f).diagnosis().explain(i, f)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, byCode)
	return all, nil
}

func byCode(a, b cluster.Verdict) int { return cmp.Compare(a.Code, b.Code) }

// waitsOf is that a workload waits for so many tasks of its own.
func waitsOf(w *cluster.World, k *cluster.Work, c cluster.Code, need int64) []cluster.Verdict {
	return []cluster.Verdict{cluster.NewVerdict(c, k.Current, w.FormOf(k, k.Current).Pool).Counting(0, need)}
}

func solverOf(w *cluster.World, k *cluster.Work, f int16) *Solver {
	return solverAt(w, w.FormOf(k, f).Pool)
}

// isBelow says whether what runs of the workload is less than its minimum.
func isBelow(w *cluster.World, work int32) bool {
	k := &w.Works[work]
	d := w.Definition(k, k.Current)
	running := make([]int32, len(d.Sets))
	for _, s := range w.Room.Seats[work] {
		if !s.Claimed && !s.Pipelined {
			running[s.Set]++
		}
	}
	return !d.Gang.AtMinimum(running)
}

// A question is what the reasons of a workload that holds nothing depend on, and whether
// room is made for it: workloads with equal questions share the answer. It is the key of maps
// that are asked for every workload that waits, and has no gaps, which would cost time there.
type question struct {
	definition, queue, blocker int32
	priority                   int32 // which decides whom it may preempt
	form                       int16
	nonPreemptible             bool
	above                      bool // room is to be made for what is above its minimum
}

// questionOf is the question of a workload in a form, whom nobody stands in the way.
func questionOf(f *cluster.Form, at int16) question {
	return question{f.Definition, f.Queue, cluster.None, f.Priority, at, f.NonPreemptible, false}
}

// explain tells why form f of workload i does not start now.
func (s diagnosis) explain(i int32, f int16) ([]cluster.Verdict, error) {
	w := s.world
	k := &w.Works[i]
	form := w.FormOf(k, f)
	asked := questionOf(form, f)
	asked.blocker = s.enqueuing().keptOff(i, f) // it had its turn, on used nodes only
	if asked.blocker == cluster.None && !s.wasTried(i, f) {
		asked.blocker = s.enqueuing().stoppedBy(i, f)
	}
	shared := !w.Holds(k) && !s.promising().ratherWaits(i) // for its own promise it makes no room (B4)
	if shared {
		if known, ok := s.answers[asked]; ok {
			return known, nil
		}
	}
	reasons, composed, err := s.answer(i, asked, w.CountsOf(k))
	if err == nil && shared && !composed { // else it is as quick to compose them again
		s.answers[asked] = reasons
	}
	return reasons, err
}

// answer works the reasons out: if it can never run, only why; else every
// bound it meets, what of it finds no place, and who it may not pass. It says whether
// they were composed before, of a workload of the queue that lacks the same.
func (s diagnosis) answer(i int32, asked question, held []int32) (reasons []cluster.Verdict, before bool, err error) {
	p := s.pool
	d := &p.Definitions[asked.definition]
	unit, first := d.Gang.First(held)
	if first.Kind == gang.Complete {
		return nil, false, nil
	}
	if !first.OK {
		v := cluster.NewVerdict(cluster.NotSubmitted, asked.form, s.index).Counting(int64(first.Have), int64(first.Need))
		return []cluster.Verdict{v.OfSet(asked.definition, int(first.Set))}, false, nil
	}
	if reasons, err = s.everImpossible(asked, held); err != nil || len(reasons) > 0 {
		return reasons, false, err
	}
	asks := d.Asks
	if held != nil || !slices.Equal(unit.Add, d.Unit.Add) {
		if asks, err = s.unitAsks(d, unit, held == nil); err != nil {
			return nil, false, err
		}
	}
	reasons = s.gathered[:0]
	s.shortfalls = p.Tree.Shortfalls(s.shortfalls[:0], int(asked.queue), asks, asked.nonPreemptible)
	for _, short := range s.shortfalls {
		reasons = append(reasons, s.shortfall(asked, short))
	}
	alone := len(reasons) > 0 || held != nil || asked.blocker != cluster.None || len(s.exposures) > 0 || s.choicesCut(d, held)
	lack, common := s.lackOf(i, asked, d, unit)
	why, err := s.whyNoRoom(i, asked, held)
	if err != nil {
		return nil, false, err
	}
	now := composition{asked.form, lack, why, nil}
	if alone = alone || !common; !alone && s.composed[asked.queue].of(&now) {
		return s.composed[asked.queue].reasons, true, nil
	}
	reasons = appendNamed(reasons, lack, asked)
	reasons = s.addCuts(append(reasons, why...), why)
	reasons = s.addStopped(reasons, i, asked, d, held)
	if !slices.IsSortedFunc(reasons, byCode) { // mostly they come so, and they are large
		slices.SortStableFunc(reasons, byCode)
	}
	s.gathered = reasons
	reasons = s.slab.cut(reasons)
	if now.reasons = reasons; !alone {
		s.composed[asked.queue] = now
	}
	return reasons, false, nil
}

// shortfall is the verdict about what a bound of the queue tree leaves.
func (s diagnosis) shortfall(asked question, short quota.Shortfall) cluster.Verdict {
	p := s.pool
	v := cluster.NewVerdict(0, asked.form, s.index).Counting(short.Have, short.Need)
	v.Queue, v.Resource = int32(short.Queue), int32(short.Resource)
	switch short.Kind {
	case quota.OverLimit:
		v.Code = cluster.OverLimit
	case quota.OverBorrowing:
		v.Code = cluster.OverBorrowingLimit
	case quota.OverQuota:
		v.Code = cluster.NoQuota
	case quota.Kept:
		v.Code = cluster.KeptFromLending
	}
	if p.Counted && short.Resource == p.Width-1 { // the workloads that run (Q10)
		v.Code, v.Resource = cluster.MaxWorkloads, cluster.None
		v.Have = p.Tree.Use(short.Queue, short.Resource)
		v.Need = p.Tree.Limit(short.Queue, short.Resource)
	}
	return v
}

// rejection is why no node takes a task of the shape, after the last action.
func (s diagnosis) rejection(shape placement.Shape) *placement.Rejection {
	known := s.rejections[shape]
	if known == nil {
		r := s.pool.Index.Reject(shape)
		known = &r
		s.rejections[shape] = known
	}
	return known
}

// noNode is a verdict that counts the nodes by predicate.
func (s diagnosis) noNode(c cluster.Code, asked question, set int, rejection *placement.Rejection) cluster.Verdict {
	return cluster.TellNoNode(cluster.NewVerdict(c, asked.form, s.index).OfSet(asked.definition, set), rejection)
}

// noPlace says what of the unit finds no place now; nothing if all does.
func (s diagnosis) noPlace(asked question, d *cluster.Definition, unit gang.Unit, beside gang.Siblings) []cluster.Verdict {
	placed, fits := s.wouldPlace(d, unit, beside)
	if fits {
		var out []cluster.Verdict
		f := &cluster.Form{Queue: asked.queue, NonPreemptible: asked.nonPreemptible}
		if s.wouldPlaceByClass(f, d, unit, beside) {
			return nil
		}
		for _, short := range s.classShortfalls(f, d, unit) {
			out = append(out, s.shortfall(asked, short))
		}
		return out
	}
	out := s.short(asked, d, unit, beside, placed)
	if s.wouldPlaceLater(d, unit, beside) {
		out = append(out, cluster.NewVerdict(cluster.WaitsForLeaving, asked.form, s.index))
	}
	return out
}

// short is what the unit is short of that found no place.
func (s diagnosis) short(asked question, d *cluster.Definition, unit gang.Unit, beside gang.Siblings, verdict gang.Verdict) []cluster.Verdict {
	if verdict.Kind == gang.NoDomain {
		return s.noDomain(asked, d, unit, beside, verdict)
	}
	out := s.noCapacity(asked, d, unit)
	if best := s.bestNode(d, unit, verdict); best != nil {
		return append(out, cluster.TellKeptApart(cluster.NewVerdict(cluster.NoDomain, asked.form, s.index), best, verdict))
	}
	if verdict.Kind == gang.TooFew { // which speaks of empty nodes
		verdict = s.placedNow(d, unit)
	}
	if verdict.Placed > 0 {
		v := cluster.NewVerdict(cluster.GangShort, asked.form, s.index).Counting(int64(verdict.Placed), int64(verdict.Needed))
		out = append(out, v.OfSet(asked.definition, int(verdict.Set)))
	} else if rejection := s.rejection(d.Sets[verdict.Set].Placed); s.saysMore(rejection, out) {
		out = append(out, s.noNode(cluster.NoNode, asked, int(verdict.Set), rejection))
	}
	for i := range out {
		if v := &out[i]; v.Code == cluster.NoNode || v.Code == cluster.GangShort {
			v.Pieces = s.piecesOf(d.Sets[verdict.Set].Placed)
		}
	}
	return out
}

// wouldPlaceLater tries the unit as if all that is Terminating were gone (S4).
func (s diagnosis) wouldPlaceLater(d *cluster.Definition, unit gang.Unit, beside gang.Siblings) bool {
	if !s.pool.Index.Releasing() {
		return false
	}
	s.claims = true
	defer func() { s.claims = false }()
	_, fits := s.wouldPlace(d, unit, beside)
	return fits
}

// wouldPlace tries the unit and takes it back.
func (s diagnosis) wouldPlace(d *cluster.Definition, unit gang.Unit, beside gang.Siblings) (gang.Verdict, bool) {
	m := s.pool.Index.Mark()
	var verdict gang.Verdict
	s.places, verdict = s.placer.PlaceWithSiblings(s.nodes(), d.Gang, unit, beside, d.Place, s.places[:0])
	s.pool.Index.Undo(m)
	return verdict, verdict.OK
}

// wouldPlaceByClass tries the unit where the bounds per class admit it (Q8), and
// takes it back: then none of them is in its way.
func (s diagnosis) wouldPlaceByClass(f *cluster.Form, d *cluster.Definition, unit gang.Unit, beside gang.Siblings) bool {
	if !s.pool.Classed() {
		return true
	}
	m := s.pool.Index.Mark()
	place := s.placeByClass
	if d.Gang.Constrained() {
		place = func(f *cluster.Form, d *cluster.Definition, unit gang.Unit, asks quota.Amounts) (quota.Amounts, bool, error) {
			return s.placeAnywhere(f, d, unit, beside, asks)
		}
	}
	_, found, err := place(f, d, unit, nil)
	s.pool.Index.Undo(m)
	return found && err == nil
}

// noCapacity tells for each resource whether less is free in all, on the nodes
// that the queue may use, than the unit asks.
func (s diagnosis) noCapacity(asked question, d *cluster.Definition, unit gang.Unit) []cluster.Verdict {
	p := s.pool
	need := make([]int64, p.Plain)
	for set, n := range unit.Add {
		cluster.AddNeed(need, &d.Sets[set], int64(n))
	}
	// All pod sets of a form stay on the same nodes, so any one will do.
	free := s.rejection(d.Sets[0].Placed).Free
	var out []cluster.Verdict
	for r, asks := range need {
		have := free.Milli
		if r > 0 {
			have = free.Amounts[r-1]
		}
		if asks > have {
			v := cluster.NewVerdict(cluster.NoCapacity, asked.form, s.index).Counting(have, asks)
			v.Queue, v.Resource = asked.queue, int32(r)
			out = append(out, v)
		}
	}
	return out
}

// nodeAnswers are what the index says of shapes, once it was asked.
type nodeAnswers struct {
	rejections map[placement.Shape]*placement.Rejection
	pieces     map[placement.Shape]*placement.Pieces
	lacks      map[int32][]cluster.Verdict // by definition, see lackOf
	lack       []cluster.Verdict           // the last of them
}

func newNodeAnswers() nodeAnswers {
	return nodeAnswers{make(map[placement.Shape]*placement.Rejection), make(map[placement.Shape]*placement.Pieces), make(map[int32][]cluster.Verdict), nil}
}

// saysMore says whether the nodes are turned away by more than what the reasons
// so far, of the capacity in all, tell already.
func (s diagnosis) saysMore(rejection *placement.Rejection, told []cluster.Verdict) bool {
	if len(told) == 0 {
		return true
	}
	lacks := func(resource int32) bool {
		return slices.ContainsFunc(told, func(v cluster.Verdict) bool { return v.Code == cluster.NoCapacity && v.Resource == resource })
	}
	return slices.ContainsFunc(rejection.Counts, func(c placement.Count) bool {
		switch c.Predicate {
		case placement.NodeSet:
			return false
		case placement.Resources:
			return !lacks(c.Resource + 1) // placement counts no GPU
		case placement.FreeDevices:
			return !lacks(0)
		}
		return true
	})
}

// placedNow is how many tasks of a unit that is too large for the nodes find a
// place now, and where the search ends.
func (s diagnosis) placedNow(d *cluster.Definition, unit gang.Unit) gang.Verdict {
	x := s.pool.Index
	m := x.Mark()
	defer x.Undo(m)
	verdict := gang.Verdict{Kind: gang.NoPlace, Set: -1, Needed: unit.Tasks()}
	for set, n := range unit.Add {
		shape := &d.Sets[set]
		for range n {
			place, ok := x.Find(shape.Placed, d.StrategyFor(shape))
			if !ok || x.Take(shape.Placed, place) != nil {
				if verdict.Set < 0 {
					verdict.Set = int32(set)
				}
				break
			}
			verdict.Placed++
		}
	}
	verdict.Set = max(0, verdict.Set)
	return verdict
}

// piecesOf says in what pieces what a task of the shape asks is free, after the
// last action; nil for one that asks nothing.
func (s diagnosis) piecesOf(shape placement.Shape) *placement.Pieces {
	known, asked := s.pieces[shape]
	if asked {
		return known
	}
	if p, ok := s.pool.Index.Pieces(shape); ok {
		known = &p
	}
	s.pieces[shape] = known
	return known
}
