package main

import (
	"fmt"

	"github.com/allotsched/allot"
)

// What happens in a world: requests of users, and nodes that come and go.

// happen draws what happens in this second.
func (w *world) happen() {
	for _, m := range w.cluster.nodes {
		switch n := w.chance.IntN(1000); {
		case m.health == ready && n < 3:
			w.cluster.turn(m, silent)
		case m.health == silent && n < 20:
			w.cluster.turn(m, down)
		case m.health != ready && n < 50:
			w.cluster.turn(m, ready)
		}
	}
	switch n := w.chance.IntN(100); {
	case n < 12:
		w.submit()
	case n < 14 && len(w.submitted) > 0:
		w.request(request{End: w.submitted[w.chance.IntN(len(w.submitted))]})
	case n < 15:
		w.request(request{Queue: queues[w.chance.IntN(len(queues))], Quota: 1000 * w.chance.Int64N(9)})
	}
}

// request is a request of a user's.
func (w *world) request(q request) {
	q.At = instant(w.cluster.second)
	w.users.requests = append(w.users.requests, q)
	switch {
	case q.Submit != nil:
		set := q.Submit.PodSets[0]
		w.print("request: submit %s/%s %s, %d to %d tasks of %d GPUs × %d milli", q.Submit.Queue, q.Submit.ID,
			q.Submit.Class, set.Min, set.Count, set.Request.GPU.Count, set.Request.GPU.Milli)
	case q.End != "":
		w.ended[q.End] = true
		w.print("request: end %s", q.End)
	default:
		w.print("request: give %s a quota of %d GPUs", q.Queue, q.Quota/1000)
	}
}

// shapes are what users submit.
var shapes = []struct {
	least, count, gpus int
	milli              int64
}{
	{1, 1, 1, 1000}, {1, 1, 2, 1000}, {1, 1, 4, 1000}, {1, 1, 1, 500},
	{2, 2, 2, 1000}, {3, 3, 1, 1000}, {3, 3, 2, 1000}, {2, 2, 4, 1000}, // gangs
	{1, 4, 1, 1000}, {2, 6, 1, 1000}, // elastic ones
}

// submit has a user submit a workload.
func (w *world) submit() {
	id := fmt.Sprint("w", len(w.submitted)+1)
	shape := shapes[w.chance.IntN(len(shapes))]
	class := ""
	if len(w.policy.Classes) > 0 {
		class = w.policy.Classes[w.chance.IntN(len(w.policy.Classes))].Name
	}
	w.submitted = append(w.submitted, id)
	w.cluster.work[id] = 20 + w.chance.IntN(100)
	w.request(request{Submit: &allot.Workload{
		ID: id, Queue: queues[w.chance.IntN(len(queues))], Class: class,
		PodSets: []allot.PodSet{{
			Count: shape.count, Min: shape.least,
			Request: allot.Request{
				GPU:       allot.GPURequest{Count: shape.gpus, Milli: shape.milli},
				Resources: map[string]int64{allot.CPU: 2000},
			},
		}},
	}})
}
