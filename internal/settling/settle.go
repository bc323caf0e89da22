package settling

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Settling reads what the workloads hold (S4, S5, S7) before anything is
// decided: what lost its place with a node or device is displaced, claims that
// can no longer be honoured are given up, claims whose places came free start,
// and what is left occupies the nodes and is charged to the queues.

// Settle returns what the workloads of all pools hold after the losses and the
// claims have been looked at, and writes the actions that this takes.
func Settle(w *cluster.World, d *cluster.Decision) error { return Of(w).settle(d) }

// settle is Settle.
func (w Settling) settle(d *cluster.Decision) error {
	w.BareNodes()
	held, claims := w.readHoldings(d)
	if err := w.OccupyAll(held); err != nil {
		return err
	}
	claims = w.DropClaims(d, claims)
	held, claims = w.StartClaims(d, held, claims)
	w.Holdings = append(held, claims...)
	if len(claims) > 0 || d.Actions != nil { // otherwise they are in this order
		slices.SortStableFunc(w.Holdings, func(a, b cluster.Holding) int { return cmp.Compare(a.Work, b.Work) })
	}
	if err := w.holdAll(); err != nil {
		return err
	}
	w.Booking().Settled()
	w.Seeking = cluster.SeekersOf(w.World)
	return nil
}

// readHoldings lists what stands and what is claimed, and displaces what is
// lost (S7), by workload, pod set and index.
func (w Settling) readHoldings(d *cluster.Decision) (held, claims []cluster.Holding) {
	works, tasks := 0, 0 // that hold something
	for i := range w.Works {
		if n := len(w.Works[i].Tasks); n > 0 {
			works, tasks = works+1, tasks+n
		}
	}
	held, w.Live = make([]cluster.Holding, 0, tasks), slices.Grow(w.Live, works)
	for i := range w.Works {
		k := &w.Works[i]
		if len(k.Tasks) == 0 {
			continue
		}
		k.Live = int32(len(w.Live))
		w.Live = append(w.Live, cluster.Live{Held: w.NewCounts(len(w.Definition(k, k.Current).Sets)), Form: k.Current})
		held, claims = w.ReadTasks(d, int32(i), held, claims)
	}
	return held, claims
}

// ReadTasks appends what one workload has standing and claimed, and displaces
// what of it is lost.
func (w Settling) ReadTasks(d *cluster.Decision, i int32, held, claims []cluster.Holding) (_, _ []cluster.Holding) {
	k := &w.Works[i]
	tasks := k.Tasks
	for from := 0; from < len(tasks); {
		lost, to := w.lossOf(&tasks[from]), from+1
		for to < len(tasks) && tasks[to].Node == tasks[from].Node && lost != 0 &&
			w.lossOf(&tasks[to]) == lost && (tasks[to].Phase == cluster.Claimed) == (tasks[from].Phase == cluster.Claimed) {
			to++
		}
		switch {
		case lost != 0 && tasks[from].Phase == cluster.Claimed:
			d.GiveUp(cluster.Unclaim, tasks[from:to], lost)
		case lost != 0:
			d.GiveUp(cluster.Displace, tasks[from:to], lost)
		case tasks[from].Phase == cluster.Claimed:
			claims = append(claims, tasks[from])
		default:
			held = append(held, tasks[from])
		}
		from = to
	}
	return held, claims
}

// lossOf says why the task has lost its place, or 0.
func (w Settling) lossOf(h *cluster.Holding) cluster.Code {
	switch node := &w.Nodes[h.Node]; {
	case node.Lost:
		return cluster.NodeLost
	case h.Devices&node.Unhealthy != 0:
		return cluster.DeviceLost
	}
	return 0
}

// DropClaims gives up the claims whose place can no longer take them: the node
// would not take the task were it empty (P1), or what runs and what else is
// claimed fills it. Where not
// all claims fit any more, those first in the order of O1 stay.
func (w Settling) DropClaims(d *cluster.Decision, claims []cluster.Holding) []cluster.Holding {
	slices.SortFunc(claims, w.compareClaims)
	kept := claims[:0]
	for from := 0; from < len(claims); from++ {
		h := claims[from]
		if x, shape := claimed(&h, w.World); x != nil && x.Fits(shape, h.Place(w.World)) && x.Take(shape, h.Place(w.World)) == nil {
			kept = append(kept, h)
			continue
		}
		d.GiveUp(cluster.Unclaim, claims[from:from+1], cluster.PlaceLost)
	}
	return kept
}

// claimed is in what index a task claims its place, and its shape there; nil if the
// node is not in its pool any more. What was cut to fit a hole may claim what is reserved after that (B1).
func claimed(h *cluster.Holding, w *cluster.World) (*placement.Index, placement.Shape) {
	k := &w.Works[h.Work]
	if w.Outside(k, h.Node) {
		return nil, 0
	}
	return w.Pools[w.FormOf(k, k.Current).Pool].Index, w.PlacedUntil(k, h.Set, h.Until)
}

// compareClaims is O1 over the workloads, then pod set and index.
func (w Settling) compareClaims(a, b cluster.Holding) int {
	x, y := &w.Works[a.Work], &w.Works[b.Work]
	return cmp.Or(
		cmp.Compare(w.FormOf(y, y.Current).Priority, w.FormOf(x, x.Current).Priority),
		cmp.Compare(x.Submitted, y.Submitted),
		w.CompareIDs(a.Work, b.Work),
		cmp.Compare(a.Set, b.Set),
		cmp.Compare(a.Index, b.Index),
	)
}

// StartClaims starts, workload by workload, the claims whose places are free
// now (S4), if these are all or the workload is at its minimum with them (G1). Claims
// that are broken are given up.
func (w Settling) StartClaims(d *cluster.Decision, held, claims []cluster.Holding) (all, waiting []cluster.Holding) {
	if len(claims) == 0 {
		return held, nil
	}
	leaves := make(map[int32]bool) // tasks of the workload still leave that wait again (S5)
	for _, h := range held {
		if h.Phase == cluster.Terminating {
			leaves[h.Work] = leaves[h.Work] || waitsAgain(&h, w.World)
		} else {
			w.Live[w.Works[h.Work].Live].Held[h.Set]++
		}
	}
	for from := 0; from < len(claims); {
		to := from + 1
		for to < len(claims) && claims[to].Work == claims[from].Work {
			to++
		}
		k := &w.Works[claims[from].Work]
		rest := claims[from:to]
		if broken := w.brokenClaims(k, rest); len(broken) > 0 {
			d.GiveUp(cluster.Unclaim, broken, cluster.ClaimBroken)
			for i := range broken {
				x, shape := claimed(&broken[i], w.World)
				_ = x.Give(shape, broken[i].Place(w.World)) // it was taken
			}
			rest = slices.DeleteFunc(slices.Clone(rest), func(h cluster.Holding) bool { return !h.Begun })
		}
		from = to
		if len(rest) == 0 {
			continue
		}
		var free []cluster.Holding
		if !leaves[rest[0].Work] {
			free, rest = w.freeClaims(k, rest)
		}
		if len(free) > 0 {
			d.StartClaimed(free)
		}
		for _, h := range free {
			h.Phase, h.Fresh = cluster.Running, true
			held = append(held, h)
		}
		waiting = append(waiting, rest...)
	}
	for _, list := range [...][]cluster.Holding{held, waiting} {
		for i := range list {
			clear(w.Live[w.Works[list[i].Work].Live].Held) // hold counts afresh
		}
	}
	return held, waiting
}

// freeClaims parts the claims of a workload into those that start now, whose places it takes as
// such, and those that wait. What is free starts if that is all or the workload is at its minimum
// with it (G1). If it is not, what has begun goes on alone, where all of that is free: what of a
// gang ran below its minimum does so where it moves, whatever else is claimed to complete it (M10).
func (w Settling) freeClaims(k *cluster.Work, claims []cluster.Holding) (free, rest []cluster.Holding) {
	x, _ := claimed(&claims[0], w.World)
	waits := func(h *cluster.Holding, begunAlone bool) bool {
		return begunAlone && !h.Begun || !startsNow(h, w.World, x)
	}
	for _, begunAlone := range [...]bool{false, true} {
		free, rest = nil, nil
		m, counts, stays := x.Mark(), slices.Clone(w.Live[k.Live].Held), false
		for _, h := range claims {
			if waits(&h, begunAlone) {
				rest, stays = append(rest, h), stays || h.Begun
				continue
			}
			counts[h.Set]++
			free = append(free, h)
		}
		if len(rest) == 0 || begunAlone && !stays || w.Definition(k, k.Current).Gang.AtMinimum(counts) {
			x.Commit(m)
			return free, rest
		}
		x.Undo(m)
	}
	return nil, claims
}

// waitsAgain says whether a task that leaves is one that its workload waits for before it
// starts (S5): it would start again, or the workload may be in another form by then, and
// is in one at a time (G5).
func waitsAgain(h *cluster.Holding, w *cluster.World) bool {
	k := &w.Works[h.Work]
	return len(k.Others) > 0 || h.Index < w.Definition(k, h.Form).Counts[h.Set]
}

// startsNow has a claim start if its place has come free.
func startsNow(h *cluster.Holding, w *cluster.World, x *placement.Index) bool {
	_, shape := claimed(h, w)
	claim := h.Place(w)
	now := claim
	now.Pipelined = false
	_ = x.Give(shape, claim) // it was taken as a claim
	if !x.Fits(shape, now) {
		_ = x.Take(shape, claim) // it was just given
		return false
	}
	return x.Take(shape, now) == nil
}

// brokenClaims are the claims of a workload that have yet to start, where all that it runs and claims is below the minimum:
// what of a gang ran below its minimum goes on where it moves (M10).
func (w Settling) brokenClaims(k *cluster.Work, claims []cluster.Holding) (broken []cluster.Holding) {
	counts := slices.Clone(w.Live[k.Live].Held)
	for i := range claims {
		counts[claims[i].Set]++
	}
	if w.Definition(k, k.Current).Gang.AtMinimum(counts) {
		return nil
	}
	for i := range claims {
		if !claims[i].Begun {
			broken = append(broken, claims[i])
		}
	}
	return broken
}

// holdAll is Hold of all: what follows each other and is charged alike is charged at once.
func (w Settling) holdAll() error {
	var last, all quota.Amounts
	var leaf *cluster.Form
	times := int64(0)
	charge := func() (err error) {
		if all, err = all[:0].AddScaled(last, times); err != nil || len(all) == 0 {
			return err
		}
		return w.Pools[leaf.Pool].Tree.Charge(int(leaf.Queue), all, leaf.NonPreemptible)
	}
	for i := range w.Holdings {
		f, next := w.note(int32(i))
		if len(next) == 0 {
			continue
		}
		alike := times > 0 && f.Pool == leaf.Pool && f.Queue == leaf.Queue && f.NonPreemptible == leaf.NonPreemptible
		if !alike || len(next) != len(last) || &next[0] != &last[0] {
			if err := charge(); err != nil {
				return err
			}
			leaf, last, times = f, next, 0
		}
		times++
	}
	return charge()
}

// Hold charges one standing or claimed task and notes it in its workload.
func (w Settling) Hold(at int32) error {
	f, charge := w.note(at)
	return w.Pools[f.Pool].Tree.Charge(int(f.Queue), charge, f.NonPreemptible)
}

// note notes a standing or claimed task in its workload. It is what it is charged, and where: what is leaving is
// charged nothing.
func (w Settling) note(at int32) (*cluster.Form, quota.Amounts) {
	h := &w.Holdings[at]
	k := &w.Works[h.Work]
	f := w.FormOf(k, k.Current)
	p := w.Pools[f.Pool]
	l := &w.Live[k.Live]
	if l.To == 0 {
		l.From = at
	}
	l.To = at + 1
	if h.Phase == cluster.Terminating {
		if k.Status != cluster.Ending && waitsAgain(h, w.World) {
			l.Leaving++
		}
		return f, nil
	}
	l.Held[h.Set]++
	if h.Phase == cluster.Claimed {
		l.Claimed++
	}
	charge := p.ChargeOf(&p.Definitions[f.Definition].Sets[h.Set], &w.Nodes[h.Node], h.Devices)
	if p.Counted && !l.Counted {
		l.Counted = true
		charge = append(slices.Clip(charge), quota.Amount{Resource: int32(p.Width - 1), Value: 1})
	}
	return f, charge
}

// Settling has what is held take its place before anything is decided.
type Settling struct{ *cluster.World }

// Of is the world as it is settled.
func Of(w *cluster.World) Settling { return Settling{w} }
