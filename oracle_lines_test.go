package allot

import "math/big"

// The lines of SPEC R8, by which M9 starts first what stays within them.

// withinLines says whether a unit keeps every queue of its path within its
// lines: its own LF, and above it the larger of quota and fair share.
func (p *oraclePool) withinLines(w *oracleWork, unit []int) bool {
	for _, r := range p.resources {
		need := p.unitCharge(w, unit, r)
		if need == 0 || !p.divided(r) {
			continue
		}
		for _, q := range w.queue.path() {
			line := max(p.shareQuota(q, r), q.fair[r])
			if q == w.queue {
				line = p.line(q, r, true)
			}
			if p.use(q, r, false)+need > line {
				return false
			}
		}
	}
	return true
}

// line is LF, or LQ.
func (p *oraclePool) line(q *oracleQueue, resource string, byShare bool) int64 {
	own := p.defends(q, resource)
	if q.parent != nil {
		own = p.cut(q, resource, p.line(q.parent, resource, false))
	}
	if !byShare {
		return own
	}
	if q.parent != nil {
		if most := p.line(q.parent, resource, true); p.defended(q.parent, resource) > most {
			return max(own, p.cut(q, resource, most))
		}
	}
	return max(own, q.fair[resource])
}

func (p *oraclePool) defends(q *oracleQueue, resource string) int64 {
	return min(p.shareQuota(q, resource), p.requestable(q, resource))
}

func (p *oraclePool) defended(parent *oracleQueue, resource string) (sum int64) {
	for _, q := range parent.children {
		sum += p.defends(q, resource)
	}
	return sum
}

// cut is the queue's part of what its parent may defend.
func (p *oraclePool) cut(q *oracleQueue, resource string, most int64) int64 {
	if p.defended(q.parent, resource) <= most {
		return p.defends(q, resource)
	}
	var claims []*oracleClaim
	for _, sibling := range q.parent.children {
		claims = append(claims, &oracleClaim{
			queue: sibling, requestable: p.defends(sibling, resource), weight: big.NewInt(p.shareQuota(sibling, resource)),
		})
	}
	p.divideTier(claims, 0, resource, most)
	for _, c := range claims {
		if c.queue == q {
			return c.share
		}
	}
	return 0
}
