package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// SWFOptions say what a processor of a Standard Workload Format file is.
type SWFOptions struct {
	// PerNode is how many processors a node has, at most 64 if they are GPUs; 0 is 8.
	PerNode int
	// Cores: processors are cores, not GPUs.
	Cores bool
	// Processors is how many the cluster has; 0 is what the header says (MaxProcs).
	Processors int
	// Queues makes a queue of each queue number, without quotas.
	Queues bool
}

// The fields of a line of the format that are read, by position.
const (
	swfNumber, swfSubmit, swfWait, swfRun, swfAllocated    = 0, 1, 2, 3, 4
	swfRequested, swfEstimate, swfStatus, swfQueue, swfAll = 7, 8, 10, 14, 18
	swfFailed, swfCancelled                                = 0, 5
)

// swfRead are the fields that must be whole numbers.
var swfRead = []struct {
	at   int
	name string
}{
	{swfSubmit, "submit time"}, {swfWait, "wait time"}, {swfRun, "run time"}, {swfAllocated, "number of allocated processors"},
	{swfRequested, "number of requested processors"}, {swfEstimate, "requested time"}, {swfStatus, "status"},
}

// maxSWFLine is the longest line that is read.
const maxSWFLine = 1 << 20

// SWF reads a file in the Standard Workload Format 2.2 (18 fields a line, comments
// begin with ";"). A job asks the processors that it requested, or else was given,
// runs as long as it ran, and its estimate is the time that it requested. Status 0
// fails. Status 5 was cancelled: one that never ran gives up after the time that it
// waited. Left out are lines of too few fields, or of other than whole numbers in those that are
// read, jobs that never ran and did not give up, those of no processors or of more than there are, and partial runs (status 2 to 4). Dependencies
// and think times are not read.
func SWF(content io.Reader, o SWFOptions) (*sim.Input, error) {
	text, err := plain(content, maxSWFLine, maxLines)
	if err != nil {
		return nil, fmt.Errorf("swf: %w", err)
	}
	s := &swf{SWFOptions: o, in: &sim.Input{}, known: make(map[string]bool)}
	if s.PerNode == 0 {
		s.PerNode = nodeGPUs
	}
	if s.PerNode < 0 || !s.Cores && s.PerNode > 64 || s.PerNode > maxGPUs || s.Processors < 0 || s.Processors > maxGPUs {
		return nil, fmt.Errorf("swf: nodes of %d processors, %d in all, make no cluster", s.PerNode, s.Processors)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, maxSWFLine)
	for n := 1; lines.Scan(); n++ {
		s.line(n, lines.Text())
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("swf: %w", err)
	}
	if s.Processors == 0 {
		return nil, fmt.Errorf("swf: no header MaxProcs of 1 to %d, and no number of processors given", maxGPUs)
	}
	s.finish()
	return s.in, nil
}

// A swf is a file of the format as far as it is read.
type swf struct {
	SWFOptions
	in    *sim.Input
	asks  []int // processors, job by job
	known map[string]bool
}

func (s *swf) line(at int, text string) {
	text = strings.TrimSpace(text)
	if comment, ok := strings.CutPrefix(text, ";"); ok || text == "" {
		name, value, _ := strings.Cut(comment, ":")
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && strings.TrimSpace(name) == "MaxProcs" && s.Processors == 0 && n > 0 && n <= maxGPUs {
			s.Processors = n
		}
		return
	}
	fields := strings.Fields(text)
	left := sim.LeftOut{Line: at}
	leave := func(kind, why string, values ...any) {
		left.Kind, left.Why = kind, fmt.Sprintf(why, values...)
		s.in.LeftOut = append(s.in.LeftOut, left)
	}
	if len(fields) < swfAll {
		leave("fields", "it has %d fields, not %d", len(fields), swfAll)
		return
	}
	left.Job = strings.Clone(fields[swfNumber])
	left.Submit, left.Timed = swfTime(fields[swfSubmit])
	number, why := swfNumbers(fields)
	if why != "" {
		leave("number", "%s", why)
		return
	}
	if !left.Timed || number[swfRun] > int64(maxTime/time.Second) {
		leave("time", "its submit time %q or run time %q is out of range", fields[swfSubmit], fields[swfRun])
		return
	}
	processors := number[swfRequested]
	if processors <= 0 {
		processors = number[swfAllocated]
	}
	j := sim.Job{
		Line: at, Name: left.Job, Submit: left.Submit, Duration: time.Duration(number[swfRun]) * time.Second,
		Fails: number[swfStatus] == swfFailed,
	}
	if n := number[swfEstimate]; n > 0 && n <= int64(maxTime/time.Second) {
		j.Estimate = time.Duration(n) * time.Second
	}
	if wait := number[swfWait]; number[swfStatus] == swfCancelled && j.Duration <= 0 && wait > 0 && wait <= int64(maxTime/time.Second) {
		j.CancelAfter = time.Duration(wait) * time.Second
		j.Duration = max(j.Estimate, time.Second)
	}
	if kind, why := swfUnfit(&j, number[swfStatus], processors); kind != "" {
		leave(kind, "%s", why)
		return
	}
	j.Workload.ID = left.Job
	if s.Queues {
		j.Workload.Queue = "queue-" + fields[swfQueue]
		if !s.known[j.Workload.Queue] {
			s.known[j.Workload.Queue] = true
			s.in.Cluster.Queues = append(s.in.Cluster.Queues, allot.Queue{ID: j.Workload.Queue})
		}
	}
	j.Workload.PodSets = s.gang(int(processors))
	s.in.Jobs = append(s.in.Jobs, j)
	s.asks = append(s.asks, int(processors))
}

// swfTime is an instant, and false where there is none.
func swfTime(text string) (time.Duration, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > int64(maxTime/time.Second) {
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

// swfNumbers are the fields that are read, by position, or which of them is none.
func swfNumbers(fields []string) (number [swfAll]int64, why string) {
	for _, f := range swfRead {
		n, err := strconv.ParseInt(fields[f.at], 10, 64)
		if err != nil {
			return number, fmt.Sprintf("its %s %q is no whole number", f.name, fields[f.at])
		}
		number[f.at] = n
	}
	return number, ""
}

// swfUnfit is why a line makes no job that can be run, empty where it does.
func swfUnfit(j *sim.Job, status, processors int64) (kind, why string) {
	switch {
	case status >= 2 && status <= 4:
		return "partial run", fmt.Sprintf("its status is %d", status)
	case j.Duration <= 0 && status == swfCancelled:
		return "run time", "it was cancelled, and neither ran nor waited"
	case j.Duration < 0:
		return "run time", "nobody knows how long it ran"
	case j.Duration == 0:
		return "run time", "it ran for no time"
	case processors <= 0 || processors > maxGPUs:
		return "processors", fmt.Sprintf("it asks %d processors", processors)
	}
	return "", ""
}

// gang is a job of so many processors: whole nodes and the rest.
func (s *swf) gang(processors int) []allot.PodSet {
	request := func(n int) allot.Request {
		if s.Cores {
			return allot.Request{Resources: map[string]int64{allot.CPU: int64(n) * 1000}}
		}
		return allot.Request{GPU: allot.GPURequest{Count: n}}
	}
	whole, rest := processors/s.PerNode, processors%s.PerNode
	switch {
	case whole == 0:
		return []allot.PodSet{{Count: 1, Request: request(rest)}}
	case rest == 0:
		return []allot.PodSet{{Count: whole, Request: request(s.PerNode)}}
	}
	return []allot.PodSet{{Name: "whole", Count: whole, Request: request(s.PerNode)}, {Name: "rest", Count: 1, Request: request(rest)}}
}

// finish makes the nodes and leaves out the jobs that are larger than all of them.
func (s *swf) finish() {
	full, rest := s.Processors/s.PerNode, s.Processors%s.PerNode
	sizes := make([]int, full, full+1)
	for i := range sizes {
		sizes[i] = s.PerNode
	}
	if rest > 0 {
		sizes = append(sizes, rest)
	}
	s.in.Cluster.Nodes = Nodes(len(sizes), 0)
	for i, size := range sizes {
		n := &s.in.Cluster.Nodes[i]
		if s.Cores {
			n.Capacity = map[string]int64{allot.CPU: int64(size) * 1000}
		} else {
			n.Devices = make([]allot.Device, size)
		}
	}
	kept := s.in.Jobs[:0]
	for i := range s.in.Jobs {
		if s.asks[i] <= s.Processors {
			kept = append(kept, s.in.Jobs[i])
		} else {
			s.in.LeftOut = append(s.in.LeftOut, s.in.Jobs[i].LeftOut("processors", fmt.Sprintf("it asks %d processors, and there are %d", s.asks[i], s.Processors)))
		}
	}
	s.in.Jobs = kept
	lineUp(s.in, false)
}
