package allot

// An OracleLine is what a queue may defend of a resource that is divided (R8), as the
// oracle draws it.
type OracleLine struct {
	Queue, Resource string
	Quota, Share    int64 // LQ and LF
}

// OracleLines are the lines of all queues of a pool.
func OracleLines(s *State, pool string) (lines []OracleLine) {
	for _, p := range oraclePools(s) {
		if p.id != pool {
			continue
		}
		p.divide()
		p.drawLines()
		for _, q := range p.queues {
			for _, r := range p.resources {
				if p.divided(r) {
					lines = append(lines, OracleLine{q.id, r, q.byQuota[r], q.byShare[r]})
				}
			}
		}
	}
	return lines
}
