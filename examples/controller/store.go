package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/allotsched/allot"
)

// A record is everything the controller must not forget. It is written as one,
// so that no part of it is ever newer than another.
type record struct {
	// State is what Solve was last given, with the plan set going: claims,
	// Since, PartialSince and Retries live here and nowhere else.
	State *allot.State `json:"state"`
	// Attempts are the runs of tasks that the cluster was told of, or is about
	// to be, and that are not known to be over; by number.
	Attempts []attempt `json:"attempts,omitempty"`
	// LastNumber is the last number given to an attempt. A number is never given
	// twice, or a request that comes late would be taken for another.
	LastNumber int64 `json:"lastNumber"`
	// Requests is how many of the users' requests are in State.
	Requests int `json:"requests"`
	// Reported is when the last report in State was true. An older one that
	// comes later is of no use.
	Reported time.Time `json:"reported,omitzero"`
	// Solved is when Solve was last asked.
	Solved time.Time `json:"solved,omitzero"`

	base string // the revision that was read, which this one replaces
}

// An attempt is one run of one task at one place. Its number makes every
// request about it harmless to repeat.
type attempt struct {
	taskName
	Number  int64     `json:"number"`
	Node    string    `json:"node"`
	Devices []int     `json:"devices,omitempty"`
	Begun   time.Time `json:"begun"`
	// Ending is how an evicted one ends: a request to stop says it, however
	// often it has to be sent and by whichever life of the controller.
	Ending allot.Ending `json:"ending,omitzero"`
	// Lost: the State lists the task no more, as its place is lost, but the
	// cluster has not said yet that this run is over.
	Lost bool `json:"lost,omitzero"`
}

// A taskName names a task.
type taskName struct {
	Workload string `json:"workload"`
	PodSet   string `json:"podSet,omitzero"`
	Index    int    `json:"index"`
}

// errConflict says that somebody else has written since the record was read.
var errConflict = errors.New("the record was written by another controller")

// A store keeps the record. Write replaces all of it or nothing, is durable
// when it returns, and refuses a record that was not made from the one that is
// there. A row of a database does, or a file that is replaced by renaming
// under a lock.
type store interface {
	Read() (*record, error)
	Write(*record) error
}

// memory is a store that outlives the controller, though not the program.
type memory struct {
	revision string
	data     []byte
}

func (m *memory) Read() (*record, error) {
	r := &record{base: m.revision}
	err := json.Unmarshal(m.data, r)
	return r, err
}

func (m *memory) Write(r *record) error {
	if m.revision != r.base {
		return errConflict
	}
	data, err := json.Marshal(r)
	if err == nil {
		m.revision, m.data = r.State.Revision, data
	}
	return err
}

// nextRevision is the name of the state after the one named.
func nextRevision(revision string) string {
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil {
		n = 0 // the first one has no name
	}
	return strconv.FormatInt(n+1, 10)
}

// workload finds a workload of the state, nil if there is none.
func (r *record) workload(id string) *allot.Workload {
	for i := range r.State.Workloads {
		if r.State.Workloads[i].ID == id {
			return &r.State.Workloads[i]
		}
	}
	return nil
}

// task finds what the state says of an attempt, nil if nothing. A claim is no
// attempt: nothing runs for it.
func (r *record) task(a *attempt) *allot.Task {
	w := r.workload(a.Workload)
	if w == nil || a.Lost {
		return nil
	}
	for i := range w.Tasks {
		t := &w.Tasks[i]
		if t.Phase != allot.Claimed && t.PodSet == a.PodSet && t.Index == a.Index &&
			t.Node == a.Node && slices.Equal(t.Devices, a.Devices) {
			return t
		}
	}
	return nil
}

// adopt takes over the state in which the plan has begun, and gives a number
// to everything that starts. What the state no longer lists is not forgotten:
// it may still be on its way.
func (r *record) adopt(begun *allot.State, plan *allot.Plan) {
	r.State = begun
	known := make(map[taskName]bool)
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if a.Lost = r.task(a) == nil; !a.Lost {
			known[a.taskName] = true
		}
	}
	for i := range begun.Workloads {
		w := &begun.Workloads[i]
		for _, t := range w.Tasks {
			name := taskName{w.ID, t.PodSet, t.Index}
			if t.Phase == allot.Claimed || known[name] {
				continue
			}
			r.LastNumber++
			r.Attempts = append(r.Attempts, attempt{
				taskName: name, Number: r.LastNumber, Node: t.Node, Devices: t.Devices, Begun: begun.Now,
			})
		}
	}
	for _, action := range plan.Actions {
		if action.Kind != allot.Evict {
			continue
		}
		for i := range r.Attempts {
			if a := &r.Attempts[i]; a.Workload == action.Workload && !a.Lost {
				a.Ending = action.Ending
			}
		}
	}
}
