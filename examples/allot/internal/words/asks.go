package words

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
)

// FormOf is the queue and the pod sets of a form that the workload's tasks belong to.
func FormOf(w *allot.Workload, form int) (queue string, podSets []allot.PodSet) {
	if form == 0 || len(w.Tasks) == 0 || form > len(w.Alternatives) {
		return w.Queue, w.PodSets
	}
	f := &w.Alternatives[form-1]
	return cmp.Or(f.Queue, w.Queue), f.PodSets
}

// Asks says what a workload asks: "4 × 8 GPUs (H100)".
func Asks(w *allot.Workload) string {
	_, podSets := FormOf(w, w.Form)
	var texts []string
	for i := range podSets {
		s := &podSets[i]
		ask := &s.Request.GPU
		text := ""
		switch {
		case ask.Memory > 0:
			text = Bytes(ask.Memory) + " of a GPU"
			if ask.Count > 1 {
				text = strconv.Itoa(ask.Count) + " × " + text
			}
		case ask.Milli > 0 && ask.Count > 1:
			text = strconv.Itoa(ask.Count) + " × " + Amount(allot.GPU, ask.Milli)
		case ask.Milli > 0:
			text = Amount(allot.GPU, ask.Milli)
		case ask.Count > 0:
			text = Amount(allot.GPU, int64(ask.Count)*1000)
		default:
			text = "a task without GPUs"
			if s.Count != 1 {
				text = "tasks without GPUs"
			}
		}
		if len(ask.Models) > 0 {
			text += " (" + strings.Join(ask.Models, " or ") + ")"
		}
		switch {
		case s.Min > 0 && s.Min < s.Count:
			text = strconv.Itoa(s.Min) + " to " + strconv.Itoa(s.Count) + " × " + text
		case s.Count > 1:
			text = strconv.Itoa(s.Count) + " × " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " + ")
}

// Models is "8 × H100" or "4 × A10, 4 × H100".
func Models(n *allot.Node) string {
	counts := make(map[string]int)
	var names []string
	for i := range n.Devices {
		model := cmp.Or(n.Devices[i].Model, "GPU")
		if counts[model] == 0 {
			names = append(names, model)
		}
		counts[model]++
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = strconv.Itoa(counts[name]) + " × " + name
	}
	return strings.Join(names, ", ")
}
