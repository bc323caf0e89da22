package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/allotsched/allot"
)

// A trail is the running hash of all events and actions.
type trail struct {
	hash hash.Hash
	line []byte
	// kept is how much of the line had come about when something happened last: what is promised
	// since is no matter if nothing does.
	kept int
}

// trailChunk is how much is collected before it is hashed.
const trailChunk = 1 << 14

func (t *trail) open() { t.hash = sha256.New() }

func (t *trail) number(n int64) { t.line = binary.AppendVarint(t.line, n) }

func (t *trail) text(s string) {
	t.number(int64(len(s)))
	t.line = append(t.line, s...)
}

// keep takes note that something has happened.
func (t *trail) keep() {
	if t.kept = len(t.line); t.kept > trailChunk {
		t.hash.Write(t.line)
		t.line, t.kept = t.line[:0], 0
	}
}

// rewind forgets what has come about since something happened last.
func (t *trail) rewind() { t.line = t.line[:t.kept] }

// sum is the hash of what has happened so far.
func (t *trail) sum() string {
	t.hash.Write(t.line)
	t.line = t.line[:0]
	return hex.EncodeToString(t.hash.Sum(nil))
}

// note takes an event into the hash and tells it.
func (e *engine) note(ev Event) {
	if ev.At = e.now; ev.Kind != PromiseEvent {
		e.last = e.now
	}
	t := &e.trail
	t.number(int64(ev.At))
	t.number(int64(ev.Kind))
	t.text(ev.Job)
	t.number(int64(ev.Outcome))
	if a := ev.Action; a != nil {
		t.number(int64(a.Kind))
		t.number(int64(a.Form))
		t.number(int64(a.Reason.Code))
		t.placements(a.Tasks)
		t.placements(a.From)
	}
	if r := ev.Promise; r != nil {
		t.number(int64(r.Change))
		t.number(int64(r.Cause.Code))
		t.number(r.Promise.At.UnixMicro())
		t.placements(r.Promise.Tasks)
	}
	if c := ev.Change; c != nil {
		text, err := json.Marshal(c)
		if err != nil {
			text = []byte(err.Error()) // what JSON cannot hold is told apart by why
		}
		t.text(string(text))
	}
	if e.options.Observe != nil {
		ev.GPUs = taken(e, &ev)
		e.options.Observe(ev)
	}
}

// taken is what each of the tasks takes that an event gives or promises places.
func taken(e *engine, ev *Event) []int64 {
	var tasks []allot.Placement
	switch {
	case ev.Action != nil:
		tasks = ev.Action.Tasks
	case ev.Promise != nil:
		tasks = ev.Promise.Promise.Tasks
	}
	j := e.byID[ev.Job]
	if j == nil || j.slot < 0 || len(tasks) == 0 {
		return nil
	}
	list, w := make([]int64, len(tasks)), e.workload(j)
	for k := range tasks {
		t := allot.Task{PodSet: tasks[k].PodSet, Node: tasks[k].Node, Devices: tasks[k].Devices}
		list[k] = j.takes(w, &t, &e.library.state.Nodes[e.nodes[t.Node]])
	}
	return list
}

func (t *trail) placements(list []allot.Placement) {
	t.number(int64(len(list)))
	for i := range list {
		p := &list[i]
		t.text(p.PodSet)
		t.number(int64(p.Index))
		t.text(p.Node)
		for _, d := range p.Devices {
			t.number(int64(d))
		}
	}
}
