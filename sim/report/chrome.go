package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// A ChromeWriter writes trace.json; its Observe is for [sim.Options.Observe], and at
// the end it wants to be closed.
type ChromeWriter struct {
	out     *bufio.Writer
	encoder *json.Encoder
	nodes   map[string]int // position by ID
	devices []int          // how many each node has
	held    map[string][]*slice
	// now is the instant of the last event, fresh the slices that began at it, which
	// have no threads yet: who leaves at the same instant may be told of later.
	now   time.Duration
	fresh []*slice
	// lanes says of each lane of a device whether it is taken.
	lanes map[device][]bool
	began bool
	err   error
}

// A device is one of a node's, by position; the one behind the last stands for tasks
// without GPUs.
type device struct{ node, index int }

// maxLanes is more than the shares that a device has: a share is a thousandth at least.
const maxLanes = 1000

// A slice is a place that a task of a job holds.
type slice struct {
	place   allot.Placement
	since   time.Duration
	ended   bool
	devices []device
	lanes   []int // one on each of the devices
}

// A traceEvent is an event of the trace-event format.
type traceEvent struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	At       json.Number    `json:"ts,omitzero"`
	Duration json.Number    `json:"dur,omitzero"`
	Args     map[string]any `json:"args,omitempty"`
}

// NewChromeWriter writes to w. The cluster is that of the input.
func NewChromeWriter(w io.Writer, cluster *allot.State) *ChromeWriter {
	if cluster == nil {
		cluster = new(allot.State)
	}
	c := &ChromeWriter{
		out: bufio.NewWriter(w), nodes: make(map[string]int), devices: make([]int, len(cluster.Nodes)),
		held: make(map[string][]*slice), lanes: make(map[device][]bool),
	}
	c.encoder = json.NewEncoder(c.out)
	c.encoder.SetEscapeHTML(false)
	_, c.err = c.out.WriteString("{\"traceEvents\":[\n")
	for i := range cluster.Nodes {
		n := &cluster.Nodes[i]
		c.nodes[n.ID], c.devices[i] = i, len(n.Devices)
		c.put(traceEvent{Name: "process_name", Phase: "M", Process: i, Args: map[string]any{"name": n.ID}})
		for d := range n.Devices {
			c.addLane(device{i, d})
		}
	}
	return c
}

// addLane makes a further lane of a device, and names its thread.
func (c *ChromeWriter) addLane(d device) {
	lane := len(c.lanes[d])
	c.lanes[d] = append(c.lanes[d], false)
	name := fmt.Sprintf("GPU %02d", d.index)
	if d.index == c.devices[d.node] {
		name = "no GPU"
	}
	if lane > 0 {
		name += fmt.Sprintf(", share %d", lane+1)
	}
	c.put(traceEvent{Name: "thread_name", Phase: "M", Process: d.node, Thread: d.thread(lane), Args: map[string]any{"name": name}})
}

// thread is that of a lane: they lie in the order of the devices.
func (d device) thread(lane int) int { return d.index*maxLanes + lane }

func (c *ChromeWriter) put(e traceEvent) {
	if c.began && c.err == nil {
		_, c.err = c.out.WriteString(",")
	}
	c.began = true
	if c.err == nil {
		c.err = c.encoder.Encode(e)
	}
}

// Observe takes in an event.
func (c *ChromeWriter) Observe(e sim.Event) {
	c.advance(e.At)
	switch e.Kind {
	case sim.EndEvent, sim.StopEvent:
		c.end(e.Job, nil)
	case sim.ChangeEvent:
		c.change(e.Change)
	case sim.ActionEvent:
		a := e.Action
		switch a.Kind {
		case allot.Evict:
			c.end(e.Job, nil)
		case allot.Displace, allot.Shrink:
			c.end(e.Job, a.Tasks)
		case allot.Move:
			c.end(e.Job, a.From)
		}
		if !e.Claimed && (a.Kind == allot.Start || a.Kind == allot.Resize || a.Kind == allot.Move) {
			c.end(e.Job, a.Tasks)
			for i := range a.Tasks {
				c.begin(e.Job, a.Tasks[i])
			}
		}
	}
}

// begin opens a slice.
func (c *ChromeWriter) begin(job string, p allot.Placement) {
	node, known := c.nodes[p.Node]
	if !known {
		return // counted in one, as for 2D-LAS
	}
	s := &slice{place: p, since: c.now}
	for _, d := range p.Devices {
		s.devices = append(s.devices, device{node, d})
	}
	if len(p.Devices) == 0 {
		s.devices = []device{{node, c.devices[node]}}
	}
	s.place.Devices = nil // the event's
	c.held[job] = append(c.held[job], s)
	c.fresh = append(c.fresh, s)
}

// advance goes to an instant. What began before and still stands gets the lowest lane
// that is free on each of its devices: slices of one thread must not overlap.
func (c *ChromeWriter) advance(at time.Duration) {
	if at == c.now {
		return
	}
	c.now = at
	for _, s := range c.fresh {
		if s.ended {
			continue
		}
		for _, d := range s.devices {
			lane := slices.Index(c.lanes[d], false)
			if lane < 0 {
				lane = len(c.lanes[d])
				c.addLane(d)
			}
			c.lanes[d][lane] = true
			s.lanes = append(s.lanes, lane)
		}
	}
	c.fresh = c.fresh[:0]
}

// change closes the slices of the tasks that a change of a node ends: no action of a
// plan tells of it where they start again at once.
func (c *ChromeWriter) change(change *sim.Change) {
	node, known := c.nodes[change.Node]
	if !known {
		return
	}
	for _, job := range slices.Sorted(maps.Keys(c.held)) {
		c.endWhere(job, func(s *slice) bool {
			return s.devices[0].node == node && takes(change, c.devices[node], func(d int) bool { return slices.Contains(s.devices, device{node, d}) })
		})
	}
}

// end closes the slices of the tasks of a job, all of them if tasks is nil.
func (c *ChromeWriter) end(job string, tasks []allot.Placement) {
	c.endWhere(job, func(s *slice) bool {
		return tasks == nil || slices.ContainsFunc(tasks, func(p allot.Placement) bool {
			return p.PodSet == s.place.PodSet && p.Index == s.place.Index
		})
	})
}

// endWhere closes the slices of a job for which gone is true.
func (c *ChromeWriter) endWhere(job string, gone func(*slice) bool) {
	var left []*slice
	for _, s := range c.held[job] {
		if !gone(s) {
			left = append(left, s)
			continue
		}
		s.ended = true
		for i, lane := range s.lanes { // none if it has only begun
			d := s.devices[i]
			c.lanes[d][lane] = false
			c.put(traceEvent{
				Name: job, Phase: "X", Process: d.node, Thread: d.thread(lane),
				At: micros(s.since), Duration: micros(c.now - s.since),
			})
		}
	}
	if c.held[job] = left; left == nil {
		delete(c.held, job)
	}
}

// micros is a time in microseconds.
func micros(t time.Duration) json.Number {
	return json.Number(sim.Quotient(int64(t), int64(time.Microsecond)).Text(3))
}

// Close ends the file; end is the run's. What still holds a place ends there.
func (c *ChromeWriter) Close(end time.Duration) error {
	c.advance(end)
	for _, job := range slices.Sorted(maps.Keys(c.held)) {
		c.end(job, nil)
	}
	if c.err == nil {
		_, c.err = c.out.WriteString("]}\n")
	}
	if c.err == nil {
		c.err = c.out.Flush()
	}
	return c.err
}
