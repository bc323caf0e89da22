package edit

import (
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
)

// OfFiles says that the argument is the name of a file.
func (k Kind) OfFiles() bool { return k.Argument == "FILE" }

// Complete is what an argument may become that is begun so, by the names of the state. What
// ends in an equals sign goes on after it.
func (k Kind) Complete(s *allot.State, begun string) (whole []string) {
	switch k.Name {
	case "add":
		count, _, _ := strings.Cut(begun, "x")
		if begun == "" {
			count = "1"
		}
		if count != "" && strings.Trim(count, "0123456789") == "" {
			whole = Begun(begun, nodesOf(s, count+"x", func(*allot.Node) bool { return true }))
		}
	case "cordon":
		whole = lastOf(begun, nodesOf(s, "", func(n *allot.Node) bool { return !n.Cordoned }))
	case "uncordon":
		whole = lastOf(begun, nodesOf(s, "", func(n *allot.Node) bool { return n.Cordoned }))
	case "lose":
		whole = lastOf(begun, nodesOf(s, "", func(n *allot.Node) bool { return !n.Lost }))
	case "quota", "limit":
		whole = Begun(begun, withEquals(QueueNames(s)))
	case "end":
		whole = lastOf(begun, JobNames(s, begun[strings.LastIndexByte(begun, ',')+1:]))
	case "priority", "class", "to":
		at := strings.LastIndexByte(begun, '=')
		if at < 0 {
			return Begun(begun, withEquals(JobNames(s, begun)))
		}
		values := map[string][]string{"class": classNames(s), "to": QueueNames(s)}[k.Name]
		for _, value := range Begun(begun[at+1:], values) {
			whole = append(whole, begun[:at+1]+value)
		}
	}
	return whole
}

// Begun are the names that begin so.
func Begun(begun string, names []string) []string {
	var out []string
	for _, name := range names {
		if strings.HasPrefix(name, begun) {
			out = append(out, name)
		}
	}
	return out
}

// QueueNames are the queues of a state.
func QueueNames(s *allot.State) []string {
	var out []string
	for i := range s.Queues {
		out = append(out, s.Queues[i].ID)
	}
	return out
}

// JobNames are the jobs of a state, by ID, or by queue and ID where one is begun so.
func JobNames(s *allot.State, begun string) []string {
	var out []string
	for i := range s.Workloads {
		w := &s.Workloads[i]
		name := w.ID
		if strings.Contains(begun, "/") && !strings.HasPrefix(name, begun) {
			name = words.WorkName(w.Queue, w.ID)
		}
		out = append(out, name)
	}
	return Begun(begun, out)
}

func nodesOf(s *allot.State, before string, wanted func(*allot.Node) bool) []string {
	var out []string
	for i := range s.Nodes {
		if wanted(&s.Nodes[i]) {
			out = append(out, before+s.Nodes[i].ID)
		}
	}
	return out
}

func classNames(s *allot.State) []string {
	var out []string
	for i := range s.Pools {
		for _, c := range s.Pools[i].Policy.Classes {
			out = append(out, c.Name)
		}
	}
	return out
}

func withEquals(names []string) []string {
	for i := range names {
		names[i] += "="
	}
	return names
}

// lastOf completes the last of several names with commas between.
func lastOf(begun string, names []string) []string {
	at := strings.LastIndexByte(begun, ',') + 1
	out := Begun(begun[at:], names)
	for i := range out {
		out[i] = begun[:at] + out[i]
	}
	return out
}
