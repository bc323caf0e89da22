package answer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
)

// Asks says what a workload asks in its own form: "2 × 4 GPUs, 8 cores, 64 GiB"; several
// pod sets have a plus between them.
func Asks(w *allot.Workload) string {
	var sets []string
	for i := range w.PodSets {
		sets = append(sets, podSetAsks(&w.PodSets[i]))
	}
	return strings.Join(sets, " + ")
}

func podSetAsks(set *allot.PodSet) string {
	text := requestAsks(&set.Request)
	if set.Count == 1 {
		return text
	}
	count := strconv.Itoa(set.Count)
	if set.Min > 0 && set.Min < set.Count {
		count = strconv.Itoa(set.Min) + "–" + count
	}
	return count + " × " + text
}

func requestAsks(r *allot.Request) string {
	var parts []string
	if text := gpuAsks(&r.GPU); text != "" {
		parts = append(parts, text)
	}
	var names []string
	for name := range r.Resources { // sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		parts = append(parts, words.Amount(name, r.Resources[name]))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func gpuAsks(g *allot.GPURequest) string {
	count := int64(max(g.Count, 1))
	text := ""
	switch {
	case g.Memory > 0:
		text = words.Amount(allot.Memory, g.Memory) + " of a GPU"
	case g.Milli > 0 && g.Milli < 1000:
		text = words.Amount(allot.GPU, g.Milli)
	case g.Count > 0 || g.Milli > 0:
		return withModels(words.Amount(allot.GPU, count*1000), g)
	default:
		return ""
	}
	if count > 1 {
		text = strconv.FormatInt(count, 10) + " × " + text
	}
	return withModels(text, g)
}

func withModels(text string, g *allot.GPURequest) string {
	if len(g.Models) == 0 {
		return text
	}
	models := g.Models
	if len(models) > 2 {
		models = append(slices.Clone(models[:2]), "…")
	}
	return text + " (" + strings.Join(models, "|") + ")"
}

// asksOf is what the workloads of a state ask, by ID.
func asksOf(s *allot.State) map[string]*allot.Workload {
	out := make(map[string]*allot.Workload, len(s.Workloads))
	for i := range s.Workloads {
		out[s.Workloads[i].ID] = &s.Workloads[i]
	}
	return out
}

// asks is the text of what a workload asks; a dash for one that is not there.
func asks(byID map[string]*allot.Workload, id string) string {
	if w := byID[id]; w != nil {
		return Asks(w)
	}
	return "-"
}
