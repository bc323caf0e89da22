package fairshare

// Granules returns for every queue, in the order of the queues, the granule in
// which its sibling group divides (F5). It is [Options.Granule] wherever some
// member of the group that can use anything asks whole granules only, else the
// greatest common divisor of it and of the [Demand.Unit] of all that the members
// ask. An inner queue asks what the leaves below it ask.
//
// The granules are written to dst if its capacity is enough. The errors are
// those of [DivideTree]. O(n).
func Granules(dst []int64, c TreeConfig) ([]int64, error) {
	t, shares, _, err := asked(nil, &c)
	if err != nil {
		return nil, err
	}
	groups := t.granules(shares, &c)
	out := resize(dst, len(c.Queues))
	for i := range out {
		out[i] = c.optionsOf(groups, c.Queues[i].Parent).Granule
	}
	return out, nil
}

// optionsOf are the options of the division of a queue's children, or of the top
// level, with the granules of all groups.
func (c *TreeConfig) optionsOf(groups []int64, parent int32) Options {
	o := c.Options
	o.Granule = int64(o.granule())
	if groups != nil {
		o.Granule = groups[parent+1]
	}
	return o
}

// granules returns the granule of each sibling group, by the index of the parent
// plus one; nil where every leaf asks whole granules.
func (t *tree) granules(shares []Share, c *TreeConfig) []int64 {
	whole := true
	for i := range t.queues {
		whole = whole && t.queues[i].Demand.Unit == 0
	}
	if whole {
		return nil
	}
	return t.granulesOf(shares, int64(c.granule()))
}

// granulesOf is granules where some leaf asks parts of the whole.
func (t *tree) granulesOf(shares []Share, whole int64) []int64 {
	units, groups := make([]int64, len(t.queues)), make([]int64, len(t.queues)+1)
	for position := len(t.order) - 1; position >= 0; position-- {
		i := t.order[position]
		if t.children[i] == 0 {
			units[i] = commonDivisor(whole, t.queues[i].Demand.Unit)
		}
		if shares[i].Requestable == 0 || units[i] == 0 {
			continue
		}
		parent := t.queues[i].Parent
		if parent >= 0 {
			units[parent] = commonDivisor(units[parent], units[i])
		}
		// A common divisor of parts is a part, so a whole one is what some member asks by.
		if g := &groups[parent+1]; units[i] == whole || *g == whole {
			*g = whole
		} else {
			*g = commonDivisor(*g, units[i])
		}
	}
	for i := range groups {
		if groups[i] == 0 { // no member can use anything
			groups[i] = whole
		}
	}
	return groups
}

// commonDivisor is the greatest common divisor of a and b, of which 0 is a
// multiple of everything.
func commonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
