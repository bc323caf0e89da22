package allot

// carryOut carries a plan out.
func (s *Snapshot) carryOut(p *Plan, keep func(i int, a Action) bool, how func(*State, *Plan, func(int, Action) bool) (*State, error)) (*Snapshot, error) {
	next, err := how(s.nouns.state(), p, keep)
	if err != nil {
		return nil, err
	}
	var c Change
	after := tableOf(next.Workloads, workloadID, func(k Workload) Workload { return k })
	for _, d := range differences(s.nouns.workloads, after) {
		if d.after == nil {
			c.Remove.Workloads = append(c.Remove.Workloads, d.before.ID)
		} else {
			c.Workloads = append(c.Workloads, *d.after)
		}
	}
	return s.With(c)
}
