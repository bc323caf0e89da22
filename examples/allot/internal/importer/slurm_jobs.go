package importer

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/units"
)

// sacctJob makes of a line of sacct what scontrol would say of the job. Steps, which have
// a point in their ID, are part of their job.
func (m *importing) sacctJob(id string, r map[string]string) {
	if strings.Contains(id, ".") {
		return
	}
	m.slurm.jobs = append(m.slurm.jobs, map[string]string{
		"JobId": id, "JobName": r["JOBNAME"], "Partition": r["PARTITION"], "JobState": r["STATE"], "SubmitTime": r["SUBMIT"],
		"NodeList": r["NODELIST"], "NumNodes": r["NNODES"], "ReqTRES": r["REQTRES"], "AllocTRES": r["ALLOCTRES"], "Reason": r["REASON"], "Priority": r["PRIORITY"], "Account": r["ACCOUNT"], "QOS": r["QOS"],
	})
}

// arrayIDs are the IDs of the jobs that a record is of: of an array as many as it has left.
func (m *importing) arrayIDs(r map[string]string) []string {
	id, rest, isArray := strings.Cut(r["JobId"], "_[")
	list := strings.TrimSuffix(rest, "]")
	if tasks := r["ArrayTaskId"]; tasks != "" && tasks != "N/A" && !isArray { // scontrol; a job that runs has an ID of its own
		if strings.Trim(tasks, "0123456789") == "" {
			return []string{cmp.Or(r["ArrayJobId"], id) + "_" + tasks}
		}
		list, isArray = tasks, true
	}
	if !isArray {
		return []string{r["JobId"]}
	}
	list, _, limited := strings.Cut(list, "%")
	if limited {
		m.note(id, "how many of an array may run at once is left out")
	}
	if strings.Contains(list, "...") {
		m.note(id, "an array that Slurm does not list to its end is taken as far as it does (SLURM_BITSTR_LEN=0 lists all)")
	}
	var ids []string
	for one := range strings.SplitSeq(list, ",") {
		span, step, _ := strings.Cut(one, ":")
		first, last, isRange := strings.Cut(span, "-")
		if !isRange {
			last = first
		}
		by, err := strconv.Atoi(cmp.Or(step, "1"))
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err1 != nil || err2 != nil || by < 1 || from < 0 {
			continue
		}
		for n := from; n <= to && len(ids) < mostHosts && m.slurm.named < mostThings; n += by {
			ids = append(ids, id+"_"+strconv.Itoa(n))
			m.slurm.named++
		}
	}
	if len(ids) == 0 {
		m.note(id, "an array that cannot be read is one job")
		return []string{id}
	}
	return ids
}

// slurmJob is a job that waits or runs: a task on each of its nodes.
func (m *importing) slurmJob(id string, r map[string]string, places map[string]*nodePlaces) {
	state, _, _ := strings.Cut(r["JobState"], " ")
	running, phase := true, allot.Running
	switch state {
	case "RUNNING", "SUSPENDED", "CONFIGURING", "RESIZING", "SIGNALING", "STOPPED", "STAGE_OUT":
	case "COMPLETING":
		phase = allot.Terminating
	case "PENDING", "REQUEUED":
		running = false
	default:
		return
	}
	if strings.HasPrefix(r["Reason"], "JobHeld") || state == "PENDING" && r["Priority"] == "0" {
		m.note(id, "jobs that are held are left out")
		return
	}
	if len(m.state.Workloads) >= mostThings {
		m.note(id, "more than %d jobs are left out", mostThings)
		return
	}
	tres := cmp.Or(r["TRES"], r["ReqTRES"])
	if allocated := r["AllocTRES"]; running && allocated != "" && allocated != "(null)" {
		tres = allocated
	}
	nodes := int64(1)
	if n, err := strconv.ParseInt(strings.SplitN(r["NumNodes"], "-", 2)[0], 10, 20); err == nil && n > 0 {
		nodes = n
	}
	tres += m.tresPer(r, tres, nodes)
	asks := m.tres(id, tres)
	var req allot.Request
	if gpus := asks[allot.GPU]; gpus > 0 {
		if gpus%nodes != 0 {
			m.note(id, "a job whose GPUs do not part evenly over its nodes asks more on each")
		}
		req.GPU.Count = int(min((gpus+nodes-1)/nodes, 1<<20))
		if model := asksModel(tres); model != "" {
			req.GPU.Models = []string{model}
		}
	}
	for _, name := range []string{allot.CPU, allot.Memory} {
		if n := asks[name]; n > 0 {
			if req.Resources == nil {
				req.Resources = make(map[string]int64)
			}
			req.Resources[name] = (n + nodes - 1) / nodes
		}
	}
	partition, _, several := strings.Cut(r["Partition"], ",")
	if several {
		m.note(id, "of several partitions of a job the first is its queue")
	}
	w := allot.Workload{ID: id, Queue: partition, PodSets: []allot.PodSet{{Count: int(nodes), Request: req}}}
	if p, err := strconv.ParseInt(r["Priority"], 10, 64); err == nil {
		if p > math.MaxInt32 {
			m.note(w.ID, "priorities above %d are that much", math.MaxInt32)
		}
		w.Priority = int32(min(max(p, 0), math.MaxInt32))
	}
	if t, err := time.Parse("2006-01-02T15:04:05", r["SubmitTime"]); err == nil && t.Year() >= 1970 && t.Year() < 10000 {
		w.Submitted = t
		m.note("", "times of Slurm have no zone and are taken as UTC")
	}
	if r["Dependency"] != "" && r["Dependency"] != "(null)" {
		m.note(w.ID, "dependencies between jobs are left out")
	}
	if running {
		m.slurmPlaces(&w, r["NodeList"], phase, places)
	}
	m.state.Workloads = append(m.state.Workloads, w)
}

// slurmPlaces are where a running job is. Where one of its nodes is not known or full, it
// waits as a whole.
func (m *importing) slurmPlaces(w *allot.Workload, list string, phase allot.Phase, places map[string]*nodePlaces) {
	hosts := m.hosts(list)
	set := &w.PodSets[0]
	if len(hosts) != set.Count {
		m.note(w.ID, "a job that runs on other nodes than it says waits")
		return
	}
	m.note("", "Slurm does not say here which GPUs of a node a job holds: they are the lowest that are free")
	for i, host := range hosts {
		at := places[host]
		if at == nil {
			m.note(w.ID, "a job runs on a node that was not given: that task waits")
			continue
		}
		fits := true
		for name, n := range set.Request.Resources { // each by itself: order cannot matter
			fits = fits && at.used[name]+n <= at.node.Capacity[name]
		}
		var devices []int
		if fits {
			devices, fits = at.take(&set.Request.GPU)
		}
		if !fits {
			m.note(w.ID, "a job holds more than its node has: that task waits")
			continue
		}
		for name, n := range set.Request.Resources { // sums have no order
			if at.used == nil {
				at.used = make(map[string]int64)
			}
			at.used[name] += n
		}
		w.Tasks = append(w.Tasks, allot.Task{Index: i, Node: host, Devices: devices, Phase: phase})
	}
}

// tresPer are the GPUs that a job asks for each node, or in all, where its list has none.
func (m *importing) tresPer(r map[string]string, tres string, nodes int64) string {
	if strings.Contains(tres, "gres/gpu") {
		return ""
	}
	for _, name := range []string{"TresPerNode", "TresPerJob", "TresPerTask", "Gres"} {
		text := inParentheses.ReplaceAllString(r[name], "")
		for one := range strings.SplitSeq(text, ",") {
			parts := strings.Split(strings.NewReplacer("gres/", "gres:", "=", ":").Replace(one), ":")
			if parts[0] == "gres" {
				parts = parts[1:]
			}
			if len(parts) == 0 || parts[0] != "gpu" {
				continue
			}
			count, model := int64(1), ""
			if n, err := strconv.ParseInt(parts[len(parts)-1], 10, 20); err == nil && n >= 0 {
				count, parts = n, parts[:len(parts)-1]
			}
			if len(parts) > 1 {
				model = ":" + parts[1]
			}
			switch name {
			case "TresPerNode", "Gres":
				count *= nodes
			case "TresPerTask":
				tasks, err := strconv.ParseInt(r["NumTasks"], 10, 20)
				if err != nil || tasks < 1 {
					tasks = 1
				}
				count *= tasks
			}
			return ",gres/gpu" + model + "=" + strconv.FormatInt(count, 10)
		}
	}
	return ""
}

// tres are the amounts of a list such as "cpu=8,mem=64G,node=2,gres/gpu=8,billing=8".
func (m *importing) tres(job, text string) map[string]int64 {
	out := make(map[string]int64)
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		var n int64
		var err error
		switch {
		case name == "cpu":
			n, err = units.Of(allot.CPU).Parse(value)
			name = allot.CPU
		case name == "mem":
			n, err = units.Of(allot.Memory).Parse(slurmMemory(value))
			name = allot.Memory
		case name == "gres/gpu" || strings.HasPrefix(name, "gres/gpu:"):
			n, err = strconv.ParseInt(value, 10, 32)
			name = allot.GPU
			n = max(n, out[name]) // the total stands beside the models
		default:
			continue
		}
		if err != nil || n < 0 || n > allot.MaxAmount {
			m.note(job, "an amount that cannot be read is left out: %.40s", part)
			continue
		}
		out[name] = n
	}
	return out
}

// slurmMemory is an amount of memory, of which Slurm's units are binary and its bare
// numbers mebibytes.
func slurmMemory(text string) string {
	if text == "" {
		return "0"
	}
	if last := text[len(text)-1]; last >= '0' && last <= '9' {
		return text + "Mi"
	} else if strings.IndexByte("KMGTP", last) >= 0 {
		return text + "i"
	}
	return text
}

// asksModel is the model of GPU that a list names.
func asksModel(text string) string {
	for part := range strings.SplitSeq(text, ",") {
		if rest, ok := strings.CutPrefix(part, "gres/gpu:"); ok {
			name, _, _ := strings.Cut(rest, "=")
			return name
		}
	}
	return ""
}
