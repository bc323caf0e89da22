package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/placement"
)

// A report is everything that is printed to standard output. Parts of the GPUs are
// in hundredths of a percent of all GPUs of the cluster, amounts of GPU in milli.
type report struct {
	NodeSource string `json:"nodeSource"`
	Nodes      int    `json:"nodes"`
	GPU        int64  `json:"gpu"`
	// MostGPUs is how many the largest nodes have.
	MostGPUs    int              `json:"mostGPUs"`
	LoadPercent int              `json:"loadPercent"`
	Seeds       []int64          `json:"seeds"`
	Workloads   []workloadReport `json:"workloads"`
}

// A workloadReport is the runs of one pod list.
type workloadReport struct {
	PodSource string `json:"podSource"`
	// Published is the name of the published workload that asks the same; empty
	// if there is none. OtherOrder says that the pods have not its names, so that
	// the runs are not the same.
	Published  string `json:"published"`
	OtherOrder bool   `json:"otherOrder"`
	Pods       int    `json:"pods"`
	GPU        int64  `json:"gpu"`
	// MixShapes and MixPods are the shapes of the target mix and the pods that
	// they cover.
	MixShapes int   `json:"mixShapes"`
	MixPods   int64 `json:"mixPods"`
	// Bound is, by seed, what any placement can allocate at most when 100% have
	// arrived, or the whole load if that is less; see bound.
	Bound    []int64        `json:"bound"`
	Policies []policyReport `json:"policies"`
}

// A policyReport is the runs of one policy.
type policyReport struct {
	Policy placement.Strategy `json:"policy"`
	// Mean is over the seeds.
	Mean series `json:"mean"`
	// Published is what is allocated at 100% in the published runs of the same
	// seeds; absent if there are none.
	Published *int64 `json:"published,omitempty"`
	// Seeds are the runs, in the order of the report's seeds.
	Seeds []*series `json:"seeds"`
}

// newReport draws the report from the runs, which are in the order of runAll.
func newReport(c *cluster, workloads []*workload, o *options, results []*series) (*report, error) {
	cells, err := publishedCells(publishedTable)
	if err != nil {
		return nil, err
	}
	r := &report{NodeSource: c.source, Nodes: len(c.machines), GPU: c.milli, LoadPercent: o.load, Seeds: o.seeds}
	for i := range c.machines {
		r.MostGPUs = max(r.MostGPUs, c.machines[i].gpus)
	}
	for _, w := range workloads {
		at := workloadReport{PodSource: w.source, Published: nameOf(c, w), OtherOrder: w.unnamed, Pods: len(w.pods), MixShapes: len(w.mix)}
		for i := range w.pods {
			at.GPU += w.pods[i].milli()
		}
		for i := range w.mix {
			at.MixPods += w.mix[i].count
		}
		for _, seed := range o.seeds {
			pods, _ := w.arrivals(c, o.load, seed)
			at.Bound = append(at.Bound, bound(c, pods, r.at()))
		}
		for _, policy := range o.policies {
			p := policyReport{Policy: policy, Seeds: results[:len(o.seeds)]}
			results = results[len(o.seeds):]
			p.Mean = meanOf(p.Seeds)
			if mean, ok := publishedMean(cells, at.Published, policy.String(), o.seeds); ok && o.load >= publishedPercent {
				p.Published = &mean
			}
			at.Policies = append(at.Policies, p)
		}
		r.Workloads = append(r.Workloads, at)
	}
	return r, nil
}

// meanOf is the mean of the cells over the seeds.
func meanOf(seeds []*series) series {
	mean := func(of func(*series) []int64) []int64 {
		out := make([]int64, len(of(seeds[0])))
		for k := range out {
			for _, s := range seeds {
				out[k] += of(s)[k]
			}
			out[k] = halfToEven(out[k], int64(len(seeds)))
		}
		return out
	}
	return series{
		Allocated:  mean(func(s *series) []int64 { return s.Allocated }),
		Fragmented: mean(func(s *series) []int64 { return s.Fragmented }),
		Idle:       mean(func(s *series) []int64 { return s.Idle }),
	}
}

// shown are the loads, in percent, that the text has a column for.
func (r *report) shown() []int {
	var out []int
	for _, k := range []int{80, 90, 100, 110, 120, 130} {
		if k < r.LoadPercent {
			out = append(out, k)
		}
	}
	return append(out, r.LoadPercent)
}

// shownIdle are those that the text tells the idle nodes of.
func (r *report) shownIdle() []int {
	return slices.DeleteFunc([]int{50, 70, 90}, func(k int) bool { return k > r.LoadPercent })
}

// at is the load of the comparison: 100%, or the last one.
func (r *report) at() int { return min(publishedPercent, r.LoadPercent) }

// writeText prints the report for people.
func (r *report) writeText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster  %s: %d nodes with %s GPUs\n", r.NodeSource, r.Nodes, gpus(r.GPU))
	fmt.Fprintf(&b, "runs     %s, pods arrive up to %d%% of the GPUs\n", count(len(r.Seeds), "seed"), r.LoadPercent)
	for i := range r.Workloads {
		b.WriteByte('\n')
		r.writeWorkload(&b, &r.Workloads[i])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *report) writeWorkload(b *strings.Builder, w *workloadReport) {
	fmt.Fprintf(b, "pods     %s: %s that ask %s GPUs", w.PodSource, count(w.Pods, "pod"), gpus(w.GPU))
	if w.Published != "" {
		fmt.Fprintf(b, ", published as %s", w.Published)
		if w.OtherOrder {
			b.WriteString(", in another order")
		}
	}
	fmt.Fprintf(b, "\nmix      %s of %s\n\n", count(w.MixShapes, "shape"), count(int(w.MixPods), "pod"))
	hasPublished := slices.ContainsFunc(w.Policies, func(p policyReport) bool { return p.Published != nil })
	t := table{head: []string{fmt.Sprintf("at %d%%", r.at()), "unallocated", "best", "worst"}}
	if hasPublished {
		t.head = append(t.head, "published", "difference")
	}
	t.head = append(t.head, "fragmented")
	for i := range w.Policies {
		p := &w.Policies[i]
		least, most := p.extremes(r.at())
		unallocated := 10_000 - p.Mean.Allocated[r.at()]
		cells := []string{p.Policy.String(), percent(unallocated), percent(10_000 - most), percent(10_000 - least)}
		if hasPublished {
			theirs, difference := "-", "-"
			if p.Published != nil {
				theirs, difference = percent(10_000-*p.Published), signed(unallocated-(10_000-*p.Published))
			}
			cells = append(cells, theirs, difference)
		}
		t.add(append(cells, percent(p.Mean.Fragmented[r.at()]))...)
	}
	cells := []string{"bound", percent(10_000 - w.bound()), percent(10_000 - slices.Max(w.Bound)), percent(10_000 - slices.Min(w.Bound))}
	for len(cells) < len(t.head) {
		cells = append(cells, "-")
	}
	t.add(cells...)
	t.write(b)
	b.WriteByte('\n')
	r.writeLoads(b, w, "allocated at", r.shown(), func(s *series, k int) string { return percent(s.Allocated[k]) })
	if len(r.shownIdle()) == 0 {
		return
	}
	b.WriteByte('\n')
	r.writeLoads(b, w, fmt.Sprintf("idle nodes of %s at", count(r.MostGPUs, "GPU")), r.shownIdle(), func(s *series, k int) string {
		return fmt.Sprintf("%d.%d", s.Idle[k]/10, s.Idle[k]%10)
	})
}

// writeLoads is a table of the means with a column for each load.
func (r *report) writeLoads(b *strings.Builder, w *workloadReport, title string, loads []int, cell func(s *series, k int) string) {
	t := table{head: []string{title}}
	for _, k := range loads {
		t.head = append(t.head, strconv.Itoa(k)+"%")
	}
	for i := range w.Policies {
		cells := []string{w.Policies[i].Policy.String()}
		for _, k := range loads {
			cells = append(cells, cell(&w.Policies[i].Mean, k))
		}
		t.add(cells...)
	}
	t.write(b)
}

// bound is the mean of the bounds.
func (w *workloadReport) bound() int64 {
	sum := int64(0)
	for _, b := range w.Bound {
		sum += b
	}
	return halfToEven(sum, int64(len(w.Bound)))
}

// extremes are the least and most that is allocated at k percent, over the seeds.
func (p *policyReport) extremes(k int) (least, most int64) {
	least, most = p.Seeds[0].Allocated[k], p.Seeds[0].Allocated[k]
	for _, s := range p.Seeds {
		least, most = min(least, s.Allocated[k]), max(most, s.Allocated[k])
	}
	return least, most
}

// A table is a first column to the left and the others to the right.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(b *strings.Builder) {
	b.WriteString(prose.AlignFigures(append([][]string{t.head}, t.rows...)))
}

// percent is hundredths of a percent with two decimals.
func percent(hundredths int64) string {
	sign := ""
	if hundredths < 0 {
		sign, hundredths = "-", -hundredths
	}
	return fmt.Sprintf("%s%d.%02d", sign, hundredths/100, hundredths%100)
}

// signed is percent with a sign on what is positive.
func signed(hundredths int64) string {
	if hundredths > 0 {
		return "+" + percent(hundredths)
	}
	return percent(hundredths)
}

// gpus is an amount of milli-GPU in GPUs with one decimal, rounded; none for whole
// numbers.
func gpus(milli int64) string {
	if milli%1000 == 0 {
		return strconv.FormatInt(milli/1000, 10)
	}
	tenths := (milli + 50) / 100
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
