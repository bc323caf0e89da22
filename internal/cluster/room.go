package cluster

// GiveSteps gives seats, in the order of their pod sets, the units of the growth by stages, and
// says how many there are.
func (d *Definition) GiveSteps(seats []Seat, stages ...[]int32) (steps int32) {
	next := make([]int, len(d.Sets)) // by set: where its next seat is
	for at := len(seats) - 1; at >= 0; at-- {
		next[seats[at].Set] = at
	}
	units := d.growth(stages...)
	for n, unit := range units {
		for set, count := range unit.Add {
			for range count {
				seats[next[set]].Step = int32(n)
				next[set]++
			}
		}
	}
	return int32(len(units))
}
