package fairshare

// entitle fills in Guaranteed for the members of a group (R8): what of its quota each may
// defend, min(quota, requestable); where these exceed the most that there is for all, that
// is divided among them by quota.
func (g *groupDivider) entitle(shares []Share, queues []Queue, group []int32, most int64, c *TreeConfig) {
	if c.Method != QuotaThenWeight {
		return
	}
	for _, i := range group {
		shares[i].Guaranteed = min(queues[i].Quota, shares[i].Requestable)
	}
	g.cut(shares, queues, group, most, func(s *Share) *int64 { return &s.Guaranteed })
}

// cut divides what there is among the members by quota (F5), none above its part, where the
// parts exceed it (F2), and says whether they did.
func (g *groupDivider) cut(shares []Share, queues []Queue, group []int32, there int64, part func(*Share) *int64) bool {
	total := int64(0)
	for _, i := range group {
		total = saturatingAdd(total, *part(&shares[i]))
	}
	if total <= there {
		return false
	}
	g.claims = g.claims[:0]
	for _, i := range group {
		q := &queues[i]
		g.claims = append(g.claims, Claim{Requestable: *part(&shares[i]), Weight: q.Quota, Created: q.Created})
	}
	g.result = g.divider.divide(g.result, there, g.claims, Options{Granule: g.options.Granule})
	for position, i := range group {
		*part(&shares[i]) = g.result[position]
	}
	return true
}
