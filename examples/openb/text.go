package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/allotsched/allot/internal/prose"
)

// writeText prints the report for people.
func (r *report) writeText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "source   %s and %s, load %d%%\n", r.NodeSource, r.PodSource, r.LoadPercent)
	fmt.Fprintf(&b, "cluster  %s with %s GPUs\n", prose.Count(r.Nodes, "node"), whole(r.GPU))
	fmt.Fprintf(&b, "load     %s that ask %s GPUs, %s of all\n",
		prose.Count(r.Arrived.Pods, "pod"), gpus(r.Arrived.GPU), percent(r.Arrived.GPU, r.GPU))
	fmt.Fprintf(&b, "policy   preset %s, strategy %s\n\n", r.Preset, r.Strategy)
	r.writeTotals(&b)
	r.writeModels(&b)
	r.writeQueues(&b)
	r.writeReasons(&b)
	fmt.Fprintf(&b, "free        %s GPUs: %s unused and %s in parts of %d; %s idle\n",
		gpus(r.Free.GPU), whole(r.Free.Whole), gpus(r.Free.GPU-r.Free.Whole), r.Free.SharedDevices, prose.Count(r.Free.IdleNodes, "node"))
	fmt.Fprintf(&b, "fragmented  %s GPUs, %s of all: free, and no use to the average pod (FGD's measure)\n",
		gpus(r.Free.Fragmented), percent(r.Free.Fragmented, r.GPU))
	if r.Verified {
		b.WriteString("verified    the plan is lawful\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *report) writeTotals(b *strings.Builder) {
	t := table{head: []string{"", "pods", "GPUs", "of all GPUs"}}
	for _, line := range []struct {
		name string
		amount
	}{{"placed", r.Placed}, {"waiting", r.Waiting}} {
		t.add(line.name, strconv.Itoa(line.Pods), gpus(line.GPU), percent(line.GPU, r.GPU))
	}
	t.write(b)
}

func (r *report) writeModels(b *strings.Builder) {
	t := table{head: []string{"GPU model", "nodes", "GPUs", "allocated", "", "free", "unused", "CPU allocated"}}
	all := modelFigures{Model: "all"}
	for _, m := range r.Models {
		t.addModel(&m)
		all.Nodes += m.Nodes
		all.GPU += m.GPU
		all.Allocated += m.Allocated
		all.FreeWhole += m.FreeWhole
		all.CPU += m.CPU
		all.CPUUsed += m.CPUUsed
	}
	t.addModel(&all)
	t.write(b)
}

func (t *table) addModel(m *modelFigures) {
	t.add(m.Model, strconv.Itoa(m.Nodes), whole(m.GPU), gpus(m.Allocated), percent(m.Allocated, m.GPU),
		gpus(m.GPU-m.Allocated), whole(m.FreeWhole), percent(m.CPUUsed, m.CPU))
}

func (r *report) writeQueues(b *strings.Builder) {
	t := table{head: []string{"GPUs by queue", "quota", "fair share", "demand", "used", "borrowed", "pods waiting"}}
	for _, q := range r.Queues {
		name, quota, fair := q.Queue, gpus(q.Quota.Amount()), gpus(q.FairShare)
		if q.parent != "" {
			name = "  " + name
		}
		if q.Quota.IsUnlimited() {
			quota = "-"
			if q.FairShare == 0 { // the policy divides nothing
				fair = "-"
			}
		}
		t.add(name, quota, fair, gpus(q.Demand), gpus(q.Used), gpus(q.Borrowed), strconv.Itoa(q.Waiting.Pods))
	}
	t.write(b)
}

func (r *report) writeReasons(b *strings.Builder) {
	if len(r.Reasons) == 0 {
		b.WriteString("nothing waits\n\n")
		return
	}
	b.WriteString("why they wait, by the most telling reason\n")
	for _, w := range r.Reasons {
		fmt.Fprintf(b, "  %s: %s, %s GPUs, such as %s/%s\n",
			w.Code, prose.Count(w.Amount.Pods, "pod"), gpus(w.Amount.GPU), w.Example.Queue, w.Example.Workload)
		for _, reason := range w.Example.Reasons {
			for i, line := range wrap(reason.String(), lineWidth-indent) {
				lead := "    - "
				if i > 0 {
					lead = "      "
				}
				b.WriteString(lead + line + "\n")
			}
		}
	}
	b.WriteByte('\n')
}

const (
	lineWidth = 100
	indent    = 6
)

// wrap breaks a text between words into lines of at most width runes, where
// words allow.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// A table is a first column to the left and the others to the right.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the table and an empty line.
func (t *table) write(b *strings.Builder) {
	b.WriteString(prose.AlignFigures(append([][]string{t.head}, t.rows...)))
	b.WriteByte('\n')
}

// gpus is an amount of milli-GPU in GPUs with one decimal, rounded.
func gpus(milli int64) string { return tenths((milli + 50) / 100) }

// whole is an amount of milli-GPU that is a number of GPUs.
func whole(milli int64) string { return strconv.FormatInt(milli/1000, 10) }

// percent is n of all in percent with one decimal, rounded.
func percent(n, all int64) string {
	if all == 0 {
		return "-"
	}
	return tenths((n*1000+all/2)/all) + "%"
}

func tenths(n int64) string {
	return strconv.FormatInt(n/10, 10) + "." + strconv.FormatInt(n%10, 10)
}
