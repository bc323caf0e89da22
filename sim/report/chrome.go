package report

import (
	"bufio"
	"encoding/json"
	"io"
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
	held    map[string][]slice
	began   bool
	err     error
}

// A slice is a place that a job holds.
type slice struct {
	place allot.Placement
	since time.Duration
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
	c := &ChromeWriter{out: bufio.NewWriter(w), nodes: make(map[string]int), held: make(map[string][]slice)}
	c.encoder = json.NewEncoder(c.out)
	c.encoder.SetEscapeHTML(false)
	_, c.err = c.out.WriteString("{\"traceEvents\":[\n")
	for i := range cluster.Nodes {
		n := &cluster.Nodes[i]
		c.nodes[n.ID] = i
		c.put(traceEvent{Name: "process_name", Phase: "M", Process: i, Args: map[string]any{"name": n.ID}})
		for d := range n.Devices {
			c.put(traceEvent{Name: "thread_name", Phase: "M", Process: i, Thread: d + 1, Args: map[string]any{"name": "GPU " + string(rune('0'+d/10)) + string(rune('0'+d%10))}})
		}
	}
	return c
}

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
	switch e.Kind {
	case sim.EndEvent, sim.StopEvent:
		c.end(e.Job, e.At, nil)
	case sim.ActionEvent:
		a := e.Action
		switch a.Kind {
		case allot.Evict:
			c.end(e.Job, e.At, nil)
		case allot.Displace, allot.Shrink:
			c.end(e.Job, e.At, a.Tasks)
		case allot.Move:
			c.end(e.Job, e.At, a.From)
		}
		if !e.Claimed && (a.Kind == allot.Start || a.Kind == allot.Resize || a.Kind == allot.Move) {
			for i := range a.Tasks {
				p := a.Tasks[i]
				p.Devices = slices.Clone(p.Devices)
				c.end(e.Job, e.At, []allot.Placement{p})
				c.held[e.Job] = append(c.held[e.Job], slice{p, e.At})
			}
		}
	}
}

// end closes the slices of the tasks of a job, all of them if tasks is nil.
func (c *ChromeWriter) end(job string, at time.Duration, tasks []allot.Placement) {
	var left []slice
	for _, s := range c.held[job] {
		if tasks != nil && !slices.ContainsFunc(tasks, func(p allot.Placement) bool {
			return p.PodSet == s.place.PodSet && p.Index == s.place.Index
		}) {
			left = append(left, s)
			continue
		}
		node, known := c.nodes[s.place.Node]
		if !known || at == s.since {
			continue
		}
		threads := []int{0}
		if len(s.place.Devices) > 0 {
			threads = nil
			for _, d := range s.place.Devices {
				threads = append(threads, d+1)
			}
		}
		for _, thread := range threads {
			c.put(traceEvent{
				Name: job, Phase: "X", Process: node, Thread: thread,
				At: micros(s.since), Duration: micros(at - s.since),
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
	var jobs []string
	for job := range c.held { // sorted below
		jobs = append(jobs, job)
	}
	slices.Sort(jobs)
	for _, job := range jobs {
		c.end(job, end, nil)
	}
	if c.err == nil {
		_, c.err = c.out.WriteString("]}\n")
	}
	if c.err == nil {
		c.err = c.out.Flush()
	}
	return c.err
}
