package cluster

// Seekers are the workloads that wait at rest or may grow, in no order.
type Seekers struct {
	List []int32
	At   []int32 // by work: where in the list it is, plus one
}

// Seeks says whether a workload may have something to start as it is.
func Seeks(w *World, i int32) bool {
	k := &w.Works[i]
	return k.Status != Complete || w.Definition(k, k.Current).Elastic
}

// SeekersOf are those of a world that is settled; nil where they are most.
func SeekersOf(w *World) *Seekers {
	if len(w.Live) < len(w.Works)/2 {
		return nil
	}
	out := &Seekers{At: make([]int32, len(w.Works))}
	for i := range w.Works {
		if Seeks(w, int32(i)) {
			out.Put(int32(i), true)
		}
	}
	return out
}

// Put takes a workload in, or out.
func (s *Seekers) Put(i int32, seeks bool) {
	if more := int(i) + 1 - len(s.At); more > 0 {
		s.At = append(s.At, make([]int32, more)...)
	}
	switch at := s.At[i]; {
	case seeks && at == 0:
		s.List = append(s.List, i)
		s.At[i] = int32(len(s.List))
	case !seeks && at > 0:
		last := s.List[len(s.List)-1]
		s.List[at-1], s.At[last] = last, at
		s.List, s.At[i] = s.List[:len(s.List)-1], 0
	}
}
