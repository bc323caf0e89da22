package placement

import (
	"math/bits"
	"slices"
)

// CouldTake says whether the nodes could take so many tasks of the shape were all of them
// empty, as [Index.Candidates] counts them. It looks at nodes until it has found enough;
// with none asked for it is true.
func CouldTake(x *Index, s Shape, tasks int64) bool {
	sh := x.shape(s)
	if sh == nil || tasks <= 0 {
		return tasks <= 0
	}
	if sh.candidates >= 0 {
		return int64(sh.candidates) >= tasks
	}
	for word, some := range sh.allowed.bits {
		for ; some != 0; some &= some - 1 {
			if tasks -= x.emptyRoom(sh, int32(word<<6+bits.TrailingZeros64(some))); tasks <= 0 {
				return true
			}
		}
	}
	return false
}

// A Vacancy is what a node would be to tasks of one shape with nothing on it.
type Vacancy struct {
	// Tasks is how many it would take at most, as [Index.Candidates] counts them; 0 is
	// a node that takes none. Devices are those of which they would be.
	Tasks   int64
	Devices uint64
}

// Vacant says what the node would be to tasks of the shape with nothing on it but foreign
// use. A cordoned node is nothing to any. The node is by position.
func Vacant(x *Index, s Shape, node int32) Vacancy {
	sh := x.shape(s)
	if sh == nil || node < 0 || int(node) >= len(x.nodes) || !sh.allowed.has(node) {
		return Vacancy{}
	}
	return vacancyOf(x, sh, node)
}

// Vacancies are what Vacant says of every node, by position.
func Vacancies(x *Index, s Shape) []Vacancy {
	out, sh := make([]Vacancy, len(x.nodes)), x.shape(s)
	if sh == nil {
		return out
	}
	looked := make([]int32, len(x.layouts)) // by layout: the last node that was looked at, plus one
	for word, some := range sh.allowed.bits {
		for ; some != 0; some &= some - 1 {
			v := int32(word<<6 + bits.TrailingZeros64(some))
			last := &looked[x.nodes[v].layout]
			if *last > 0 && emptyAlike(x, *last-1, v) {
				out[v] = out[*last-1]
				continue
			}
			out[v], *last = vacancyOf(x, sh, v), v+1
		}
	}
	return out
}

// vacancyOf is what an allowed node would be to tasks of the shape.
func vacancyOf(x *Index, sh *shape, v int32) Vacancy {
	out := Vacancy{Tasks: x.emptyRoom(sh, v)}
	if out.Tasks > 0 && sh.count > 0 {
		out.Devices = x.couldTake(sh, &x.nodes[v])
	}
	return out
}

// emptyAlike says whether two nodes of one layout are plainly the same to tasks that both allow, with nothing on them.
func emptyAlike(x *Index, a, b int32) bool {
	return x.foreign == nil && x.nodes[a].healthy == x.nodes[b].healthy && x.slots[a] == x.slots[b] &&
		slices.Equal(x.capacityOf(a), x.capacityOf(b))
}

// Units are the milli of these devices of a node that no foreign use takes, each rounded
// down.
func Units(x *Index, node int32, devices uint64) (milli int64) {
	nd := &x.nodes[node]
	l := &x.layouts[nd.layout]
	for m := devices; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		milli += x.unforeign(nd, d) / l.scale[d]
	}
	return milli
}
