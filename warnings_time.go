package allot

import "strconv"

// timeWarnings are about what is said of time (B1–B12).
func timeWarnings(s *State) (found []Fault) {
	var promised map[string]bool // made where some task is Behind a workload
	for i := range s.Workloads {
		k := &s.Workloads[i]
		if !k.isBehind() {
			continue
		}
		if promised == nil {
			promised = make(map[string]bool)
			for j := range s.Workloads {
				promised[s.Workloads[j].ID] = s.Workloads[j].Reserved != nil
			}
		}
		for t := range k.Tasks {
			if name := k.Tasks[t].Behind; name != "" && !promised[name] {
				found = append(found, Fault{
					Path: workloadPath(k.ID, "tasks"), Code: WarnBehindNobody, Value: strconv.QuoteToASCII(name),
					Want: "should be behind a workload that has been promised its place",
				})
				break
			}
		}
	}
	return found
}
