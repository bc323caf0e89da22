package engine

import "slices"

// Most of a full cluster runs and asks for nothing. Who may have something to start is
// looked for among all workloads from scratch, and kept in a world that is kept.

// seekers are the workloads that wait at rest or may grow, in no order.
type seekers struct {
	list []int32
	at   []int32 // by work: where in the list it is, plus one
}

// seekers are the workloads of the pool that may have something to start: of all those of
// which that is not known, each once. Where they are kept they may be of other pools.
func (s *Solver) seekers() []int32 {
	w := s.world
	if w.seeking == nil {
		return s.pool.Works
	}
	out := slices.Clone(w.seeking.list)
	for _, i := range w.Room.touched {
		if w.seeking.at[i] == 0 {
			out = append(out, i)
		}
	}
	return out
}

// put takes a workload in, or out.
func (s *seekers) put(i int32, seeks bool) {
	if more := int(i) + 1 - len(s.at); more > 0 {
		s.at = append(s.at, make([]int32, more)...)
	}
	switch at := s.at[i]; {
	case seeks && at == 0:
		s.list = append(s.list, i)
		s.at[i] = int32(len(s.list))
	case !seeks && at > 0:
		last := s.list[len(s.list)-1]
		s.list[at-1], s.at[last] = last, at
		s.list, s.at[i] = s.list[:len(s.list)-1], 0
	}
}
