package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
)

// The shipped tables: the shapes of the nodes and pods of the trace and how
// often each occurs.
var (
	//go:embed node_shapes.csv
	nodeShapes []byte
	//go:embed pod_shapes.csv
	podShapes []byte
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

// The columns of the files. A table of shapes has a count in place of a name.
const (
	columnCount  = "count"
	columnNode   = "sn"
	columnPod    = "name"
	columnCPU    = "cpu_milli"
	columnMemory = "memory_mib"
	columnMilli  = "gpu_milli"
	columnSpec   = "gpu_spec"
	columnQoS    = "qos"
	columnTime   = "creation_time"
)

// The bounds of what a file may say. They keep every sum far from overflow.
const (
	maxAmount = 1 << 40
	maxMiB    = 1 << 32
	maxGPUs   = 64
	maxCount  = 1 << 20
)

// readMachines reads a node list of the trace, plain or gzipped, or a table of
// shapes; file names it in errors.
func readMachines(file string, content io.Reader) ([]machine, error) {
	var out []machine
	err := readTable(file, content, columnNode, []string{columnCPU, columnMemory, "gpu", "model"}, func(r *row) {
		m := machine{
			name: r.text(columnNode), cpuMilli: r.number(columnCPU, 0, maxAmount), memoryMiB: r.number(columnMemory, 0, maxMiB),
			gpus: int(r.number("gpu", 0, maxGPUs)), model: r.text("model"),
		}
		for range r.count {
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
	err := readTable(file, content, columnPod, []string{columnCPU, columnMemory, "num_gpu", columnMilli}, func(r *row) {
		p := pod{
			name: r.text(columnPod), cpuMilli: r.number(columnCPU, 0, maxAmount), memoryMiB: r.number(columnMemory, 0, maxMiB),
			gpus: int(r.number("num_gpu", 0, maxGPUs)), gpuMilli: r.number(columnMilli, 0, 1000),
			models: r.text(columnSpec), qos: cmp.Or(r.text(columnQoS), qosBestEffort),
		}
		if r.has(columnTime) {
			p.created = r.number(columnTime, 0, maxAmount)
		}
		switch {
		case p.gpus > 0 && p.gpuMilli == 0:
			r.fail(columnMilli, "must be from 1 to 1000 where GPUs are asked")
		case !knownQoS(p.qos):
			r.fail(columnQoS, "must be one of "+qosNames())
		}
		for i := range int64(r.count) {
			mixed = append(mixed, turn{at: 2*i + 1, of: 2 * int64(r.count), pod: len(out)})
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

// A row gives access to a line's fields by column and keeps its first fault.
type row struct {
	columns map[string]int
	fields  []string
	count   int
	err     error // without the place
}

func (r *row) has(column string) bool { _, ok := r.columns[column]; return ok }

// text is the field, empty where the file has no such column.
func (r *row) text(column string) string {
	if i, ok := r.columns[column]; ok {
		return r.fields[i]
	}
	return ""
}

func (r *row) number(column string, least, most int64) int64 {
	n, err := strconv.ParseInt(r.text(column), 10, 64)
	if err != nil || n < least || n > most {
		r.fail(column, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n
}

func (r *row) fail(column, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s %s, is %q", column, want, r.text(column))
	}
}

// readTable calls each for every line of a CSV file with a header, plain or
// gzipped. Lines are named by the column name, uniquely, or have a column
// count instead; needed are the other columns that must be there. Every error
// begins with file:line.
func readTable(file string, content io.Reader, name string, needed []string, each func(*row)) error {
	lines, err := decompress(content)
	if err != nil {
		return fmt.Errorf("%s:1: %w", file, err)
	}
	table := csv.NewReader(lines)
	table.Comment = '#'
	fields, err := table.Read()
	if err != nil {
		return readError(file, 1, err)
	}
	line, _ := table.FieldPos(0)
	r := row{columns: make(map[string]int, len(fields)), count: 1}
	for i, column := range fields {
		r.columns[column] = i
	}
	if r.has(columnCount) {
		name = columnCount
	}
	for _, column := range append([]string{name}, needed...) {
		if !r.has(column) {
			return fmt.Errorf("%s:%d: no column %s", file, line, column)
		}
	}
	seen := make(map[string]int)
	for {
		if r.fields, err = table.Read(); err == io.EOF {
			return nil
		} else if err != nil {
			return readError(file, line+1, err)
		}
		line, _ = table.FieldPos(0)
		if name == columnCount {
			r.count = int(r.number(columnCount, 0, maxCount))
		} else if id := r.text(name); id == "" {
			r.fail(name, "must not be empty")
		} else if first := seen[id]; first > 0 {
			r.fail(name, fmt.Sprintf("must be unique, stands in line %d too", first))
		} else {
			seen[id] = line
		}
		if r.err == nil {
			each(&r)
		}
		if r.err != nil {
			return fmt.Errorf("%s:%d: %w", file, line, r.err)
		}
	}
}

// readError places an error of the CSV reader, which knows the line itself
// where the text is no CSV; otherwise the bytes end early or are no gzip.
func readError(file string, line int, err error) error {
	var syntax *csv.ParseError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%s:%d: %w", file, syntax.Line, syntax.Err)
	case err == io.EOF:
		return fmt.Errorf("%s:%d: no header", file, line)
	}
	return fmt.Errorf("%s:%d: %w", file, line, err)
}

// decompress reads gzip where the content begins with gzip's magic number.
func decompress(content io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(content)
	magic, err := buffered.Peek(2)
	if err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return buffered, nil // what is wrong with it, the CSV reader will say
	}
	return gzip.NewReader(buffered)
}

// A trace is a cluster and what arrives there.
type trace struct {
	machines []machine
	pods     []pod
}

// readTrace reads the files, each the shipped table where its name is empty.
func readTrace(nodesFile, podsFile string) (*trace, error) {
	var t trace
	err := withFile(nodesFile, "node_shapes.csv", nodeShapes, func(name string, content io.Reader) (err error) {
		t.machines, err = readMachines(name, content)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = withFile(podsFile, "pod_shapes.csv", podShapes, func(name string, content io.Reader) (err error) {
		t.pods, err = readPods(name, content)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// withFile calls read with the file, or with the shipped table.
func withFile(file, shippedName string, shipped []byte, read func(name string, content io.Reader) error) error {
	if file == "" {
		return read(shippedName, bytes.NewReader(shipped))
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return read(file, f)
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
