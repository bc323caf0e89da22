package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/allotsched/allot/examples/internal/openb"
)

// A machine is a node of the trace.
type machine struct {
	name      string
	cpuMilli  int64
	memoryMiB int64
	gpus      int
	model     string
}

// A pod is a pod of the trace: one task.
type pod struct {
	name      string
	cpuMilli  int64
	memoryMiB int64
	gpus      int
	gpuMilli  int64 // of each GPU
	models    string
	qos       string
	created   int64 // seconds since the trace began
}

// shape is what makes two pods ask and count for the same.
func (p pod) shape() pod {
	p.name, p.created = "", 0
	return p
}

// gpuMilliAsked is the pod's request in milli-GPU over all its devices.
func (p *pod) gpuMilliAsked() int64 { return int64(p.gpus) * p.gpuMilli }

// The columns that only this program reads.
const (
	columnQoS  = "qos"
	columnTime = "creation_time"
)

// readMachines reads a node list of the trace, plain or gzipped, or a table of
// shapes; file names it in errors.
func readMachines(file string, content io.Reader) ([]machine, error) {
	var out []machine
	err := openb.ReadTable(file, content, openb.ColumnNode, []string{openb.ColumnCPU, openb.ColumnMemory, openb.ColumnGPUs, openb.ColumnModel}, func(r *openb.Row) {
		m := machine{
			name: r.Text(openb.ColumnNode), cpuMilli: r.Number(openb.ColumnCPU, 0, openb.MaxAmount), memoryMiB: r.Number(openb.ColumnMemory, 0, openb.MaxMiB),
			gpus: int(r.Number(openb.ColumnGPUs, 0, openb.MaxGPUs)), model: r.Text(openb.ColumnModel),
		}
		for range r.Count {
			out = append(out, m)
		}
	})
	if err != nil {
		return nil, err
	}
	digits := len(strconv.Itoa(len(out)))
	for i := range out {
		if out[i].name == "" {
			out[i].name = fmt.Sprintf("node-%0*d", digits, i)
		}
	}
	return out, nil
}

// readPods reads a pod list of the trace, in order of creation, or a table of
// shapes, evenly mixed. Some lists of the trace have the first five columns
// only: their pods accept any model and are best effort.
func readPods(file string, content io.Reader) ([]pod, error) {
	var out []pod
	var mixed []turn
	err := openb.ReadTable(file, content, openb.ColumnPod, []string{openb.ColumnCPU, openb.ColumnMemory, openb.ColumnDevices, openb.ColumnMilli}, func(r *openb.Row) {
		p := pod{
			name: r.Text(openb.ColumnPod), cpuMilli: r.Number(openb.ColumnCPU, 0, openb.MaxAmount), memoryMiB: r.Number(openb.ColumnMemory, 0, openb.MaxMiB),
			gpus: int(r.Number(openb.ColumnDevices, 0, openb.MaxGPUs)), gpuMilli: r.Number(openb.ColumnMilli, 0, 1000),
			models: r.Text(openb.ColumnSpec), qos: cmp.Or(r.Text(columnQoS), qosBestEffort),
		}
		if r.Has(columnTime) {
			p.created = r.Number(columnTime, 0, openb.MaxAmount)
		}
		switch {
		case p.gpus > 0 && p.gpuMilli == 0:
			r.Fail(openb.ColumnMilli, "must be from 1 to 1000 where GPUs are asked")
		case !knownQoS(p.qos):
			r.Fail(columnQoS, "must be one of "+qosNames())
		}
		for i := range int64(r.Count) {
			mixed = append(mixed, turn{at: 2*i + 1, of: 2 * int64(r.Count), pod: len(out)})
			out = append(out, p)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(out) > 0 && out[0].name == "" {
		return mix(out, mixed), nil
	}
	slices.SortStableFunc(out, func(a, b pod) int { return cmp.Compare(a.created, b.created) })
	return out, nil
}

// A turn is when a pod of a table of shapes arrives, at/of of the way from the
// first arrival to the last.
type turn struct {
	at, of int64
	pod    int
}

// mix gives the pods of a table of shapes an order of arrival in which every
// stretch has about the proportions of the whole, and names by that order.
func mix(pods []pod, turns []turn) []pod {
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.at*b.of, b.at*a.of) })
	out := make([]pod, len(pods))
	digits := len(strconv.Itoa(len(pods)))
	for i, t := range turns {
		out[i] = pods[t.pod]
		out[i].name = fmt.Sprintf("pod-%0*d", digits, i)
		out[i].created = int64(i)
	}
	return out
}

// A trace is a cluster and what arrives there.
type trace struct {
	machines []machine
	pods     []pod
}

// readTrace reads the files, each the shipped table where its name is empty.
func readTrace(nodesFile, podsFile string) (*trace, error) {
	var t trace
	err := openb.WithFile(nodesFile, openb.NodeShapesFile, openb.NodeShapes, func(name string, content io.Reader) (err error) {
		t.machines, err = readMachines(name, content)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = openb.WithFile(podsFile, openb.PodShapesFile, openb.PodShapes, func(name string, content io.Reader) (err error) {
		t.pods, err = readPods(name, content)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// arriving is the load in percent of the trace's: its first pods, or all of
// them and then the same again under other names.
func (t *trace) arriving(percent int) []pod {
	n := len(t.pods) * percent / 100
	out := make([]pod, 0, n)
	var span int64
	if len(t.pods) > 0 {
		span = t.pods[len(t.pods)-1].created + 1
	}
	for i := range n {
		p, round := t.pods[i%len(t.pods)], i/len(t.pods)
		if round > 0 {
			p.name += "+" + strconv.Itoa(round)
			p.created += int64(round) * span
		}
		out = append(out, p)
	}
	return out
}
