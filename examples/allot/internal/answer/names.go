package answer

import (
	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
)

// FindWorkload is the ID of the workload that somebody means: the ID itself, or the name
// that texts show, with the queue before it. The error names the nearest.
func FindWorkload(s *allot.State, name string) (string, error) {
	var names, same []string
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if w.ID == name {
			return name, nil
		}
		shown := words.WorkName(w.Queue, w.ID)
		names = append(names, w.ID)
		if shown == name {
			same = append(same, w.ID)
		}
	}
	if len(same) == 1 {
		return same[0], nil
	}
	return "", words.Unknown("workload", name, names)
}

// FindQueue and FindNode are the same for queues and nodes.
func FindQueue(s *allot.State, name string) (*allot.Queue, error) {
	var names []string
	for i := range s.Queues {
		if s.Queues[i].ID == name {
			return &s.Queues[i], nil
		}
		names = append(names, s.Queues[i].ID)
	}
	return nil, words.Unknown("queue", name, names)
}

// LeafQueues are the queues that jobs may be in.
func LeafQueues(s *allot.State) []string {
	inner := make(map[string]bool)
	for i := range s.Queues {
		inner[s.Queues[i].Parent] = true
	}
	var out []string
	for i := range s.Queues {
		if id := s.Queues[i].ID; !inner[id] {
			out = append(out, id)
		}
	}
	return out
}

// FindNode is the node of the ID.
func FindNode(s *allot.State, name string) (*allot.Node, error) {
	var names []string
	for i := range s.Nodes {
		if s.Nodes[i].ID == name {
			return &s.Nodes[i], nil
		}
		names = append(names, s.Nodes[i].ID)
	}
	return nil, words.Unknown("node", name, names)
}
