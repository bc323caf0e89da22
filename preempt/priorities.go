package preempt

import (
	"cmp"
	"math"
	"slices"
)

// priorities are how many units there are of each priority, the lowest first: a preemption asks of a priority
// for nothing but which units are below it (E1), and that is the same for all priorities between two of these.
type priorities []ofPriority

// An ofPriority is how many units are of one priority.
type ofPriority struct {
	priority int32
	units    int
}

func (p priorities) find(priority int32) (int, bool) {
	return slices.BinarySearchFunc(p, priority, func(one ofPriority, priority int32) int { return cmp.Compare(one.priority, priority) })
}

// count has so many units more be of a priority.
func (p *priorities) count(priority int32, more int) {
	at, known := p.find(priority)
	if !known {
		*p = slices.Insert(*p, at, ofPriority{priority, 0})
	}
	if (*p)[at].units += more; (*p)[at].units == 0 {
		*p = slices.Delete(*p, at, at+1)
	}
}

// highestBelow is the highest priority below another of which there are units.
func (p priorities) highestBelow(priority int32) int32 {
	at, _ := p.find(priority)
	if at == 0 {
		return math.MinInt32
	}
	return p[at-1].priority
}
