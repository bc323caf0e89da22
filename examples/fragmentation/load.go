package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/examples/internal/openb"
)

// A machine is a node of the list.
type machine struct {
	cpuMilli  int64
	memoryMiB int64
	gpus      int
	model     string
}

// A cluster is the nodes in the order of their file.
type cluster struct {
	source   string
	machines []machine
	milli    int64 // of all GPUs
}

// A pod is one task of the list.
type pod struct {
	name string
	demand
}

// A demand is what a pod asks.
type demand struct {
	cpuMilli  int64
	memoryMiB int64
	gpus      int
	gpuMilli  int64 // of each GPU
	models    string
}

// milli is the demand over all its GPUs.
func (d *demand) milli() int64 { return int64(d.gpus) * d.gpuMilli }

// accepts reports whether a GPU of the model will do.
func (d *demand) accepts(model string) bool {
	return d.models == "" || slices.Contains(strings.Split(d.models, openb.ModelSeparator), model)
}

// order compares the figures, the largest demand first.
func (d demand) order(e demand) int {
	return cmp.Or(cmp.Compare(e.cpuMilli, d.cpuMilli), cmp.Compare(e.gpuMilli, d.gpuMilli),
		cmp.Compare(e.gpus, d.gpus), strings.Compare(e.models, d.models), cmp.Compare(e.memoryMiB, d.memoryMiB))
}

// A workload is the pods, sorted by name.
type workload struct {
	source string
	pods   []pod
	mix    []share
	// unnamed says that the pods come from a table of shapes: their order, and with
	// it every run, is not that of the list that the table was made from.
	unnamed bool
}

// A share of a workload is a demand without its memory and how many pods have it.
type share struct {
	demand
	count int64
}

func readCluster(file string) (*cluster, error) {
	c := &cluster{source: cmp.Or(file, "openb's node shapes")}
	err := openb.WithFile(file, openb.NodeShapesFile, openb.NodeShapes, func(name string, content io.Reader) error {
		needed := []string{openb.ColumnCPU, openb.ColumnMemory, openb.ColumnGPUs, openb.ColumnModel}
		return openb.ReadTable(name, content, openb.ColumnNode, needed, func(r *openb.Row) {
			m := machine{
				cpuMilli:  r.Number(openb.ColumnCPU, 0, openb.MaxAmount),
				memoryMiB: r.Number(openb.ColumnMemory, 0, openb.MaxMiB),
				gpus:      int(r.Number(openb.ColumnGPUs, 0, openb.MaxGPUs)),
				model:     r.Text(openb.ColumnModel),
			}
			for range r.Count {
				c.machines = append(c.machines, m)
				c.milli += 1000 * int64(m.gpus)
			}
		})
	})
	if err == nil && c.milli == 0 {
		err = fmt.Errorf("%s: no node has a GPU", c.source)
	}
	return c, err
}

func readWorkload(file string) (*workload, error) {
	w := &workload{source: cmp.Or(file, "openb's pod shapes")}
	err := openb.WithFile(file, openb.PodShapesFile, openb.PodShapes, func(name string, content io.Reader) error {
		needed := []string{openb.ColumnCPU, openb.ColumnMemory, openb.ColumnDevices, openb.ColumnMilli}
		return openb.ReadTable(name, content, openb.ColumnPod, needed, w.read)
	})
	if err != nil {
		return nil, err
	}
	w.name()
	slices.SortStableFunc(w.pods, func(a, b pod) int { return strings.Compare(a.name, b.name) })
	w.mix = mixOf(w.pods)
	return w, nil
}

func (w *workload) read(r *openb.Row) {
	p := pod{r.Text(openb.ColumnPod), demand{
		cpuMilli:  r.Number(openb.ColumnCPU, 0, openb.MaxAmount),
		memoryMiB: r.Number(openb.ColumnMemory, 0, openb.MaxMiB),
		gpus:      int(r.Number(openb.ColumnDevices, 0, openb.MaxGPUs)),
		gpuMilli:  r.Number(openb.ColumnMilli, 0, 1000),
		models:    r.Text(openb.ColumnSpec),
	}}
	switch {
	case p.gpus > 0 && p.gpuMilli == 0:
		r.Fail(openb.ColumnMilli, "must be from 1 to 1000 where GPUs are asked")
	case p.gpus == 0:
		p.gpuMilli, p.models = 0, ""
	}
	for range r.Count {
		w.pods = append(w.pods, p)
	}
}

// name gives the pods of a table of shapes names in the order of the table.
func (w *workload) name() {
	digits := len(strconv.Itoa(len(w.pods)))
	for i := range w.pods {
		if w.pods[i].name == "" {
			w.unnamed = true
			w.pods[i].name = fmt.Sprintf("pod-%0*d", digits, i)
		}
	}
}

// maxPods bounds the arrivals: past it, the list asks too little of the cluster.
const maxPods = 1 << 22

// check refuses a list that cannot fill the cluster to the load.
func (w *workload) check(c *cluster, load int) error {
	sum := int64(0)
	for i := range w.pods {
		sum += w.pods[i].milli()
	}
	if sum == 0 {
		return fmt.Errorf("%s: no pod asks a GPU", w.source)
	}
	if c.milli > math.MaxInt64/100_000/int64(len(w.pods)) {
		return fmt.Errorf("%s: more pods times GPUs than can be counted", w.source)
	}
	if target := c.milli / 100 * int64(load); target/sum >= maxPods/int64(len(w.pods)) {
		return fmt.Errorf("%s: the pods ask so little that more than %d would have to arrive", w.source, maxPods)
	}
	return nil
}

// coverage is how many of the pods, in percent, the target mix covers at least.
const coverage = 95

// mixOf returns the target mix: the most frequent demands, the largest first of
// equally frequent ones.
func mixOf(pods []pod) []share {
	counts := make(map[demand]int64)
	for i := range pods {
		d := pods[i].demand
		d.memoryMiB = 0
		counts[d]++
	}
	var all []share
	for d, count := range counts { // sorted below
		all = append(all, share{d, count})
	}
	slices.SortFunc(all, func(a, b share) int { return cmp.Or(cmp.Compare(b.count, a.count), a.order(b.demand)) })
	covered, n := int64(0), 0
	for ; covered*100 < coverage*int64(len(pods)); n++ {
		covered += all[n].count
	}
	return all[:n]
}

// arrivals are the pods in the order of their arrival and the rank of each node,
// as a seed has them. The draws are, one for one, those of the published runs.
func (w *workload) arrivals(c *cluster, load int, seed int64) (pods []pod, rank []int) {
	random := rand.New(rand.NewSource(seed))
	random.Int()
	pods = slices.Clone(w.pods)
	random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	sum, target := int64(0), c.milli*int64(load)
	for i := range pods {
		sum += pods[i].milli()
	}
	for sum*100 > target {
		i := random.Intn(len(pods))
		sum -= pods[i].milli()
		pods = slices.Delete(pods, i, i+1)
		if sum*100 <= target {
			return pods, ranks(random, len(c.machines))
		}
	}
	for {
		// The published runs draw from the list before it was shuffled, and ask
		// whether one GPU of the next pod would be too much, not all of them.
		p := &w.pods[random.Intn(len(w.pods))]
		if (sum+p.gpuMilli)*100 > target {
			return pods, ranks(random, len(c.machines))
		}
		sum += p.milli()
		pods = append(pods, *p)
	}
}

// ranks draws the order of the nodes, after ten draws that the published runs use
// otherwise.
func ranks(random *rand.Rand, nodes int) []int {
	for range 10 {
		random.Float64()
	}
	return random.Perm(nodes)
}
