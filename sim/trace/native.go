package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// version is that of the native format.
const version = 1

// A line of the native format: one of its fields is set.
type line struct {
	Trace  *header                 `json:"trace,omitempty"`
	Node   *allot.Node             `json:"node,omitempty"`
	Pool   *allot.Pool             `json:"pool,omitempty"`
	Queue  *allot.Queue            `json:"queue,omitempty"`
	Budget *allot.DisruptionBudget `json:"budget,omitempty"`
	Job    *jobLine                `json:"job,omitempty"`
	Change *sim.Change             `json:"change,omitempty"`
}

type header struct {
	Version int    `json:"version"`
	Name    string `json:"name,omitzero"`
}

// A jobLine is a [sim.Job] as it is written.
type jobLine struct {
	Submit      time.Duration    `json:"submit"`
	Duration    time.Duration    `json:"duration"`
	Estimate    time.Duration    `json:"estimate,omitzero"`
	Fails       bool             `json:"fails,omitzero"`
	CancelAfter time.Duration    `json:"cancelAfter,omitzero"`
	Speed       []int64          `json:"speed,omitempty"`
	ModelSpeed  map[string]int64 `json:"modelSpeed,omitempty"`
	Costs       *sim.Costs       `json:"costs,omitempty"`
	Workload    allot.Workload   `json:"workload"`
}

// maxLine is the longest line that is read, maxObjects how many objects one may have: an empty
// one takes a hundred times the room of its text.
const maxLine, maxObjects = 1 << 24, 1 << 16

// Read reads a trace in the native format, plain or gzipped. A line that cannot be read is left
// out, of whatever it is but the header.
func Read(content io.Reader) (*sim.Input, error) {
	text, err := plain(content, maxLine, maxLines)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, maxLine)
	in := &native{}
	n, began := 0, false
	for lines.Scan() {
		n++
		next := lines.Bytes()
		if len(bytes.TrimSpace(next)) == 0 {
			continue
		}
		jobs := len(in.Jobs)
		if err := in.line(next, !began); err != nil {
			left := leftOut(next)
			left.Line, left.Why = n, err.Error()
			var whole *wholeError
			if began && !errors.As(err, &whole) {
				err = leave(&in.Input, left)
			}
			if err != nil {
				return nil, fmt.Errorf("trace: line %d: %w", n, err)
			}
		}
		if len(in.Jobs) > jobs {
			in.Jobs[jobs].Line = n
		}
		began = true
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("trace: after line %d: %w", n, err)
	}
	if !began {
		return nil, errors.New("trace: it is empty")
	}
	return &in.Input, nil
}

// A wholeError is one of the whole file, none of which can be left out for it: that it is none of the format,
// or too large.
type wholeError struct{ why string }

func (e *wholeError) Error() string { return e.why }

// leftOut is a line that cannot be read as one that is left out, of the kind of its key. It is of none where
// it has no key that is known, or several.
func leftOut(text []byte) sim.LeftOut {
	l := sim.LeftOut{Kind: "line"}
	var keys map[string]json.RawMessage
	if json.Unmarshal(text, &keys) != nil || len(keys) != 1 {
		return l
	}
	for _, known := range []string{"node", "pool", "queue", "budget", "job", "change"} {
		if keys[known] != nil {
			l.Kind = known
		}
	}
	// What has no name or time that can be read is left out without it.
	var change struct{ Job string }
	if json.Unmarshal(keys["change"], &change) == nil {
		l.Job = change.Job
	}
	var named struct{ Workload struct{ ID string } }
	if json.Unmarshal(keys["job"], &named) == nil {
		l.Job = named.Workload.ID
	}
	var timed struct{ Submit *time.Duration }
	if json.Unmarshal(keys["job"], &timed) == nil && timed.Submit != nil {
		l.Submit, l.Timed = *timed.Submit, true
	}
	return l
}

// A native is a trace of the native format as far as it is read.
type native struct {
	sim.Input
	devices int // of all nodes
}

// line takes in one line, which is the header if it is the first.
func (in *native) line(text []byte, first bool) error {
	if n := bytes.Count(text, []byte("{")); n > maxObjects {
		return &wholeError{fmt.Sprintf("it has %d objects: there must be at most %d", n, maxObjects)}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var l line
	if err := decoder.Decode(&l); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	if first != (l.Trace != nil) {
		return &wholeError{"the header, {\"trace\":…}, must be the first line, and only that"}
	}
	set := 0
	for _, given := range []bool{l.Trace != nil, l.Node != nil, l.Pool != nil, l.Queue != nil, l.Budget != nil, l.Job != nil, l.Change != nil} {
		if given {
			set++
		}
	}
	c := &in.Cluster
	switch {
	case set != 1:
		return fmt.Errorf("has %d keys, not 1", set)
	case first:
		if l.Trace.Version != version {
			return fmt.Errorf("version %d is not known, only %d", l.Trace.Version, version)
		}
	case l.Node != nil:
		if len(l.Node.Devices) > nodeDevices {
			return fmt.Errorf("a node has more than %d GPUs", nodeDevices)
		}
		if len(c.Nodes) >= maxNodes || in.devices+len(l.Node.Devices) > maxGPUs {
			return &wholeError{fmt.Sprintf("there are more than %d nodes, or %d GPUs", maxNodes, maxGPUs)}
		}
		c.Nodes, in.devices = append(c.Nodes, *l.Node), in.devices+len(l.Node.Devices)
	case l.Pool != nil:
		c.Pools = append(c.Pools, *l.Pool)
	case l.Queue != nil:
		c.Queues = append(c.Queues, *l.Queue)
	case l.Budget != nil:
		c.Budgets = append(c.Budgets, *l.Budget)
	case l.Job != nil:
		j := l.Job
		in.Jobs = append(in.Jobs, sim.Job{
			Workload: j.Workload, Submit: j.Submit, Duration: j.Duration, Estimate: j.Estimate,
			Fails: j.Fails, CancelAfter: j.CancelAfter, Speed: j.Speed, ModelSpeed: j.ModelSpeed, Costs: j.Costs,
		})
	case l.Change != nil:
		in.Changes = append(in.Changes, *l.Change)
	}
	return nil
}

// errNoInput is the error of whoever is given nil.
var errNoInput = errors.New("trace: there is no input")

// Write writes an input in the native format under a name.
func Write(w io.Writer, name string, in *sim.Input) error {
	if in == nil {
		return errNoInput
	}
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	var fault error
	put := func(l line) {
		if fault == nil {
			fault = encoder.Encode(l)
		}
	}
	put(line{Trace: &header{version, name}})
	c := &in.Cluster
	for i := range c.Nodes {
		put(line{Node: &c.Nodes[i]})
	}
	for i := range c.Pools {
		put(line{Pool: &c.Pools[i]})
	}
	for i := range c.Queues {
		put(line{Queue: &c.Queues[i]})
	}
	for i := range c.Budgets {
		put(line{Budget: &c.Budgets[i]})
	}
	for i := range in.Jobs {
		j := &in.Jobs[i]
		put(line{Job: &jobLine{j.Submit, j.Duration, j.Estimate, j.Fails, j.CancelAfter, j.Speed, j.ModelSpeed, j.Costs, j.Workload}})
	}
	for i := range in.Changes {
		put(line{Change: &in.Changes[i]})
	}
	if fault == nil {
		fault = out.Flush()
	}
	return fault
}
