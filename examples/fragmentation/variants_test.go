package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/allotsched/allot/examples/internal/openb"
	"github.com/allotsched/allot/placement"
)

// listsOf reads the five published lists and the cluster.
func listsOf(t testing.TB) (*cluster, []*workload) {
	t.Helper()
	folder := dataFolder(t)
	c, err := readCluster(filepath.Join(folder, openb.NodeList))
	if err != nil {
		t.Fatal(err)
	}
	var lists []*workload
	for _, name := range workloadNames {
		w, err := readWorkload(filepath.Join(folder, podList(name)))
		if err != nil {
			t.Fatal(err)
		}
		w.source = name
		lists = append(lists, w)
	}
	return c, lists
}

// withPods is a workload of those pods, in the order of their names.
func withPods(source string, pods []pod) *workload {
	w := &workload{source: source, pods: slices.Clone(pods)}
	for i := range w.pods { // pods drawn twice have names of their own
		w.pods[i].name = fmt.Sprintf("pod-%06d", i)
	}
	w.mix = mixOf(w.pods)
	return w
}

// variant makes the n-th list of a kind that nothing was chosen by: rows drawn again
// or left out, shapes more or less frequent, two lists as one, other needs.
func variant(lists []*workload, n int) *workload {
	r := rand.New(rand.NewPCG(uint64(n), 21))
	from := lists[n%len(lists)]
	pods := from.pods
	keep := func(chance func(*pod) float64) (out []pod) {
		for i := range pods {
			for p := chance(&pods[i]); p > 0; p-- {
				if r.Float64() < p {
					out = append(out, pods[i])
				}
			}
		}
		return out
	}
	name := ""
	switch kind := n / len(lists) % 8; kind {
	case 0:
		name = "drawn again"
		out := make([]pod, len(pods))
		for i := range out {
			out[i] = pods[r.IntN(len(pods))]
		}
		pods = out
	case 1:
		part := 0.5 + 0.45*r.Float64()
		name = fmt.Sprintf("%.0f%% of the rows", 100*part)
		pods = keep(func(*pod) float64 { return part })
	case 2:
		begin, length := r.IntN(len(pods)), len(pods)/10+r.IntN(len(pods)/5)
		name = fmt.Sprintf("without %d rows from %d", length, begin)
		pods = slices.Clone(pods)
		pods = append(pods, pods...)[begin+length : begin+len(pods)]
	case 3:
		name = "shapes reweighted"
		weight := map[demand]float64{}
		pods = keep(func(p *pod) float64 {
			d := p.demand
			d.memoryMiB = 0
			if _, ok := weight[d]; !ok {
				weight[d] = []float64{0.25, 0.5, 0.75, 1, 1.25, 1.5, 2}[r.IntN(7)]
			}
			return weight[d]
		})
	case 4:
		other := lists[(n+1+r.IntN(len(lists)-1))%len(lists)]
		part := 0.2 + 0.6*r.Float64()
		name = fmt.Sprintf("%.0f%% of it, %.0f%% of %s", 100*part, 100-100*part, other.source)
		out := keep(func(*pod) float64 { return part })
		pods = other.pods
		pods = append(out, keep(func(*pod) float64 { return 1 - part })...)
	case 5:
		factors := [4]float64{}
		for i := range factors {
			factors[i] = []float64{0.3, 0.6, 1, 1.5, 2}[r.IntN(5)]
		}
		name = fmt.Sprintf("classes times %v", factors)
		pods = keep(func(p *pod) float64 { return factors[classOf(&p.demand)] })
	case 6:
		part := 0.1 + 0.3*r.Float64()
		name = fmt.Sprintf("%.0f%% bound to models", 100*part)
		pods = slices.Clone(pods)
		specs := []string{"T4", "G2", "P100", "V100M16|V100M32", "G2|T4", "V100M32", "G3|G2"}
		for i := range pods {
			if pods[i].gpus > 0 && r.Float64() < part {
				pods[i].models = specs[r.IntN(len(specs))]
				if pods[i].gpus > 2 && pods[i].models == "T4" {
					pods[i].models = "G2"
				}
			}
		}
	case 7:
		factor := 0.5 + r.Float64()
		name = fmt.Sprintf("CPU times %.2f", factor)
		pods = slices.Clone(pods)
		for i := range pods {
			pods[i].cpuMilli = min(int64(float64(pods[i].cpuMilli)*factor)/500*500, 96000)
		}
	}
	return withPods(fmt.Sprintf("%d %s, %s", n, from.source, name), pods)
}

// classOf is 0 for pods without GPU, 1 for a part of one, 2 for one, 3 for several.
func classOf(d *demand) int {
	switch {
	case d.gpus == 0:
		return 0
	case d.gpuMilli < 1000:
		return 1
	}
	return min(2+d.gpus/2, 3)
}

// outcome are the means over the seeds at 70, 90 and 100%, and the idle nodes at 70%.
type outcome struct{ at70, at90, at100, idle float64 }

func outcomes(t testing.TB, c *cluster, lists []*workload, policies []placement.Strategy, seeds []int64) [][]outcome {
	out := make([][]outcome, len(lists))
	var group sync.WaitGroup
	var lock sync.Mutex
	slots := make(chan bool, *parallel)
	for i, w := range lists {
		out[i] = make([]outcome, len(policies))
		for j, policy := range policies {
			for _, seed := range seeds {
				slots <- true
				group.Go(func() {
					defer func() { <-slots }()
					s, err := simulate(c, w, policy, 101, seed)
					if err != nil {
						t.Error(err)
						return
					}
					lock.Lock()
					defer lock.Unlock()
					o, n := &out[i][j], 100*float64(len(seeds))
					o.at70 += float64(s.Allocated[70]) / n
					o.at90 += float64(s.Allocated[90]) / n
					o.at100 += float64(s.Allocated[100]) / n
					o.idle += float64(s.Idle[70]) / n * 10
				})
			}
		}
	}
	group.Wait()
	return out
}

func TestVariants(t *testing.T) {
	c, lists := listsOf(t)
	for n := *firstVariant; n < *lastVariant; n++ {
		lists = append(lists, variant(lists[:5], n))
	}
	policies := []placement.Strategy{placement.BestFit, placement.FragmentationGradient, placement.ShadowPrice}
	if *onlyShadow {
		policies = policies[2:]
	}
	var b strings.Builder
	worst := outcome{}
	sum := outcome{}
	bad := 0
	for i, o := range outcomes(t, c, lists, policies, seedRange(42, *lastSeed)) {
		if len(o) == 1 {
			fmt.Fprintf(&b, "%6.2f %6.2f %6.2f %5.0f   %s\n", o[0].at70, o[0].at90, o[0].at100, o[0].idle, lists[i].source)
			continue
		}
		ours := o[2]
		d := outcome{
			ours.at70 - max(o[0].at70, o[1].at70), ours.at90 - max(o[0].at90, o[1].at90), ours.at100 - max(o[0].at100, o[1].at100),
			ours.idle - max(o[0].idle, o[1].idle),
		}
		mark := " "
		if min(d.at70, d.at90, d.at100) < -0.05 {
			mark = "*"
			bad++
		}
		worst = outcome{min(worst.at70, d.at70), min(worst.at90, d.at90), min(worst.at100, d.at100), min(worst.idle, d.idle)}
		sum.at90 += d.at90
		sum.at100 += d.at100
		sum.idle += d.idle
		fmt.Fprintf(&b, "%s 70: %5.2f %+5.2f  90: %5.2f %+5.2f  100: %5.2f %+5.2f idle %3.0f %+4.0f   %s\n", mark, ours.at70, d.at70, ours.at90, d.at90,
			ours.at100, d.at100, ours.idle, d.idle, lists[i].source)
	}
	n := float64(len(lists))
	fmt.Fprintf(&b, "bad %d of %d, worst %+.2f, mean %+.3f at 90, %+.3f at 100, idle %+.1f\n", bad, len(lists), worst, sum.at90/n, sum.at100/n, sum.idle/n)
	fmt.Println(b.String())
}

// TestKnife drops a few rows.
func TestKnife(t *testing.T) {
	c, lists := listsOf(t)
	for n := *firstVariant; n < *lastVariant; n++ {
		lists = append(lists, variant(lists[:5], n))
	}
	var all []*workload
	const each = 6
	for i, w := range lists {
		all = append(all, w)
		for k := range each - 1 {
			r := rand.New(rand.NewPCG(uint64(i), uint64(k)))
			pods := slices.Clone(w.pods)
			drop := len(pods) / 1000
			for drop > 0 {
				at := r.IntN(len(pods))
				if class := classOf(&pods[at].demand); k < 4 && class != k {
					if r.IntN(100000) == 0 {
						break
					}
					continue
				}
				pods = slices.Delete(pods, at, at+1)
				drop--
			}
			all = append(all, withPods(fmt.Sprint(w.source, " less ", k), pods))
		}
	}
	outs := outcomes(t, c, all, []placement.Strategy{placement.ShadowPrice}, seedRange(42, *lastSeed))
	type jump struct {
		o    outcome
		name string
	}
	var jumps []jump
	for i := range lists {
		low, high := outs[i*each][0], outs[i*each][0]
		for _, o := range outs[i*each : (i+1)*each] {
			low = outcome{min(low.at70, o[0].at70), min(low.at90, o[0].at90), min(low.at100, o[0].at100), min(low.idle, o[0].idle)}
			high = outcome{max(high.at70, o[0].at70), max(high.at90, o[0].at90), max(high.at100, o[0].at100), max(high.idle, o[0].idle)}
		}
		jumps = append(jumps, jump{outcome{high.at70 - low.at70, high.at90 - low.at90, high.at100 - low.at100, high.idle - low.idle}, lists[i].source})
	}
	slices.SortFunc(jumps, func(a, b jump) int { return cmp.Compare(b.o.idle, a.o.idle) })
	for i, j := range jumps {
		if i < 12 {
			fmt.Printf("%.2f %s\n", j.o, j.name)
		}
	}
	slices.SortFunc(jumps, func(a, b jump) int { return cmp.Compare(b.o.at100, a.o.at100) })
	for i, j := range jumps {
		if i < 6 {
			fmt.Printf("at 100: %.2f %s\n", j.o, j.name)
		}
	}
}
