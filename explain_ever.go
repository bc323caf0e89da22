package allot

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// What the empty cluster would take, for what is impossible (X1).

// everTakes says whether some node would take a task of the shape if it were
// empty, and how many all of them would. What is cordoned or unhealthy may come
// back, and so is counted as if it had.
func (s *solver) everTakes(shape *shape) (atBest, error) {
	if known, ok := s.ever[shape.placed]; ok {
		return known, nil
	}
	if s.sound == nil {
		var err error
		if s.sound, err = s.pool.soundIndex(); err != nil {
			return atBest{}, err
		}
	}
	mended := s.sound.Shape(shape.request)
	best := atBest{s.sound.Reject(mended).Ever, s.sound.Candidates(mended)}
	s.ever[shape.placed] = best
	return best, nil
}

// atBest is whether one empty node would take a task, and how many all would.
type atBest struct {
	one bool
	all int
}

// impaired says whether a node is cordoned or a device unhealthy.
func (p *pool) impaired() bool {
	return slices.ContainsFunc(p.placed, func(n placement.Node) bool {
		return n.Cordoned || slices.ContainsFunc(n.Devices, func(d placement.Device) bool { return d.Unhealthy })
	})
}

// soundIndex is the pool with nothing cordoned and all devices healthy, for
// questions about empty nodes: the pool's own index where nothing is impaired.
func (p *pool) soundIndex() (*placement.Index, error) {
	if !p.impaired() {
		return p.index, nil
	}
	return p.emptyIndex()
}

// emptyIndex is the pool with nothing running, nothing cordoned and all devices
// healthy.
func (p *pool) emptyIndex() (*placement.Index, error) {
	nodes := slices.Clone(p.placed)
	for i := range nodes {
		nodes[i].Cordoned = false
		nodes[i].Devices = slices.Clone(nodes[i].Devices)
		for d := range nodes[i].Devices {
			nodes[i].Devices[d].Unhealthy = false
		}
	}
	return placement.NewIndex(nodes, p.plain-1)
}
