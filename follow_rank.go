package allot

import (
	"maps"
	"slices"

	"github.com/allotsched/allot/internal/engine"
)

// seat gives the workloads that came, in the order of their IDs, works and ranks
// between those of their neighbours. It is false where neighbours are too close.
func (t *follower) seat(came []string, n *objects) bool {
	for len(came) > 0 {
		// Those that come between the same two neighbours are a run.
		run := 1
		_, after := n.workloads.Beside(came[0])
		for after != nil && run < len(came) && after.ID == came[run] {
			_, after = n.workloads.Beside(came[run])
			run++
		}
		before, _ := n.workloads.Beside(came[0])
		first, step, ok := t.ranksBetween(before, after, int64(run))
		if !ok {
			return false
		}
		for i, id := range came[:run] {
			t.slots[id] = t.newWork(first + int64(i)*step)
		}
		came = came[run:]
	}
	return true
}

// rankStep is how far from its neighbour's the rank of a workload is that comes beside
// others that came late.
const rankStep = 1 << 12

// mostRank bounds the ranks, so that no difference of two overflows.
const mostRank = 1 << 61

// ranksBetween are n ranks between those of two workloads, of which there may be
// none.
func (t *follower) ranksBetween(before, after *Workload, n int64) (first, step int64, ok bool) {
	switch {
	case before == nil && after == nil:
		return 0, engine.RankGap, true
	case after == nil:
		first = t.rankOf(before) + engine.RankGap
		return first, engine.RankGap, first+n*engine.RankGap < mostRank
	case before == nil:
		first = t.rankOf(after) - n*engine.RankGap
		return first, engine.RankGap, first > -mostRank
	}
	low, high := t.rankOf(before), t.rankOf(after)
	step = (high - low) / (n + 1)
	if step > rankStep {
		// IDs often count up, or down, between others: then the next comes beside
		// this one, and needs the room.
		switch newer, older := low%engine.RankGap != 0, high%engine.RankGap == 0; {
		case !newer && !older:
			return high - n*rankStep, rankStep, true
		case newer && older || !newer:
			return low + rankStep, rankStep, true
		}
	}
	return low + step, step, step > 0
}

func (t *follower) rankOf(k *Workload) int64 { return t.world.Works[t.slots[k.ID]].Rank }

// newWork returns a work that no workload has, with the rank.
func (t *follower) newWork(rank int64) int32 {
	i, fresh := t.Add(rank)
	if fresh {
		t.world.workloads = append(t.world.workloads, new(Workload))
	}
	return i
}

// equalButUse says whether two nodes differ in nothing but whether they are lost
// or cordoned.
func equalButUse(a, b *Node) bool {
	return a.ID == b.ID && a.Class == b.Class && a.MaxTasks == b.MaxTasks && a.ForeignTasks == b.ForeignTasks &&
		a.Rank == b.Rank && maps.Equal(a.Capacity, b.Capacity) && maps.Equal(a.Foreign, b.Foreign) &&
		maps.Equal(a.Domains, b.Domains) && a.Hardware == b.Hardware && slices.Equal(a.Links, b.Links) &&
		maps.Equal(a.Labels, b.Labels) && slices.Equal(a.Devices, b.Devices) && slices.Equal(a.Taints, b.Taints)
}
