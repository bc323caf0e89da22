package importer

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/units"
	"github.com/allotsched/allot/placement"
)

// A slurm is what was read of Slurm: records of fields, by what they are of.
type slurm struct {
	nodes, jobs, partitions []map[string]string
	// named is how many names lists of nodes have come to.
	named int
}

// isSlurm recognises the output of scontrol show, sacct -P and sinfo.
func isSlurm(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	line := string(first)
	for _, begin := range []string{"NodeName=", "JobId=", "PartitionName="} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return strings.HasPrefix(line, "JobID|") || strings.Contains(line, "|JobID|") || isSinfo(line)
}

// isSinfo: the heading of a table of nodes.
func isSinfo(line string) bool {
	heads := strings.Fields(strings.ToUpper(line))
	return slices.Contains(heads, "NODELIST") && (slices.Contains(heads, "STATE") || slices.Contains(heads, "GRES"))
}

func (m *importing) slurmFile(text string) error {
	lines := strings.Split(text, "\n")
	if len(lines) > 4*mostThings {
		return fmt.Errorf("has more than %d lines", 4*mostThings)
	}
	switch {
	case strings.Contains(lines[0], "|"):
		m.slurmTable(lines, func(line string) []string { return strings.Split(line, "|") })
	case isSinfo(lines[0]):
		m.slurmTable(lines, strings.Fields)
	default:
		m.slurmRecords(lines)
	}
	return nil
}

// slurmField is the beginning of a field: its name and an equals sign.
var slurmField = regexp.MustCompile(`(?:^|\s)([A-Za-z][A-Za-z0-9_/:]*)=`)

// slurmRecords reads the records of scontrol show, between empty lines or from one name
// to the next. A value goes on to the next field, as names of jobs may have spaces.
func (m *importing) slurmRecords(lines []string) {
	var record map[string]string
	flush := func() {
		switch {
		case record == nil:
		case record["JobId"] != "":
			m.slurm.jobs = append(m.slurm.jobs, record)
		case record["NodeName"] != "":
			m.slurm.nodes = append(m.slurm.nodes, record)
		case record["PartitionName"] != "":
			m.slurm.partitions = append(m.slurm.partitions, record)
		}
		record = nil
	}
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(line, "NodeName=") || strings.HasPrefix(line, "JobId=") || strings.HasPrefix(line, "PartitionName=") {
			flush()
		}
		if trimmed == "" {
			continue
		}
		if record == nil {
			record = make(map[string]string)
		}
		fields := slurmField.FindAllStringSubmatchIndex(trimmed, -1)
		for i, at := range fields {
			end := len(trimmed)
			if i+1 < len(fields) {
				end = fields[i+1][0]
			}
			name := trimmed[at[2]:at[3]]
			if _, said := record[name]; !said && len(record) < 200 {
				record[name] = strings.TrimSpace(trimmed[at[1]:end])
			}
		}
	}
	flush()
}

// slurmTable reads a table with a heading: of jobs (sacct -P) or of nodes (sinfo).
func (m *importing) slurmTable(lines []string, split func(string) []string) {
	heads := split(lines[0])
	for i := range heads {
		heads[i] = strings.ToUpper(strings.TrimSpace(heads[i]))
	}
	for _, line := range lines[1:] {
		cells := split(line)
		if len(cells) != len(heads) {
			if strings.TrimSpace(line) != "" {
				m.note(clip(line), "lines of a table that have other columns than its heading are left out")
			}
			continue
		}
		record := make(map[string]string)
		for i, head := range heads {
			record[head] = strings.TrimSpace(cells[i])
		}
		if id := record["JOBID"]; id != "" {
			m.sacctJob(id, record)
			continue
		}
		for _, name := range m.hosts(record["NODELIST"]) {
			m.slurm.nodes = append(m.slurm.nodes, map[string]string{
				"NodeName": name, "CPUTot": strings.TrimRight(record["CPUS"], "+"), "RealMemory": strings.TrimRight(record["MEMORY"], "+"),
				"Gres": record["GRES"], "State": strings.ToUpper(strings.TrimRight(record["STATE"], "*~#!%$@+-")), "Partitions": strings.TrimRight(record["PARTITION"], "*"),
			})
		}
	}
}

func clip(text string) string {
	if len(text) > 60 {
		return text[:60]
	}
	return text
}

// sacctJob makes of a line of sacct what scontrol would say of the job. Steps, which have
// a point in their ID, are part of their job.
func (m *importing) sacctJob(id string, r map[string]string) {
	if strings.Contains(id, ".") {
		return
	}
	tres := r["REQTRES"]
	if tres == "" {
		tres = r["ALLOCTRES"]
	}
	m.slurm.jobs = append(m.slurm.jobs, map[string]string{
		"JobId": id, "JobName": r["JOBNAME"], "Partition": r["PARTITION"], "JobState": r["STATE"], "SubmitTime": r["SUBMIT"],
		"NodeList": r["NODELIST"], "NumNodes": r["NNODES"], "TRES": tres, "Priority": r["PRIORITY"], "Account": r["ACCOUNT"], "QOS": r["QOS"],
	})
}

// mostHosts bounds the names of one list; all lists together have at most mostThings.
const mostHosts = 65_536

// hosts are the names of a list such as "n[1-3,07],login1".
func (m *importing) hosts(list string) []string {
	if list == "" || strings.HasPrefix(list, "(") || strings.HasPrefix(list, "None") || len(list) > 1<<20 {
		return nil
	}
	var out []string
	depth, begin := 0, 0
	for i := 0; i <= len(list); i++ {
		if i < len(list) && list[i] == '[' {
			depth++
		}
		if i < len(list) && list[i] == ']' {
			depth--
		}
		if i < len(list) && (list[i] != ',' || depth > 0) {
			continue
		}
		names := m.hostRange(list[begin:i], min(mostHosts-len(out), mostThings-m.slurm.named))
		m.slurm.named += len(names)
		out = append(out, names...)
		begin = i + 1
	}
	return out
}

// hostRange are the names of one part of a list: "n[1-3,07]-ib" or a name.
func (m *importing) hostRange(text string, most int) []string {
	open, end := strings.IndexByte(text, '['), strings.LastIndexByte(text, ']')
	if open < 0 || end < open {
		if text == "" || most < 1 {
			return nil
		}
		return []string{text}
	}
	var out []string
	for one := range strings.SplitSeq(text[open+1:end], ",") {
		first, last, isRange := strings.Cut(one, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || len(first) > 9 || len(last) > 9 || to < from {
			m.note(clip(text), "names of nodes that cannot be read are left out")
			continue
		}
		for n := from; n <= to; n++ {
			if len(out) >= most {
				m.note(clip(text), "a list of more than %d nodes, or of more than %d in all, is cut", mostHosts, mostThings)
				return out
			}
			out = append(out, text[:open]+fmt.Sprintf("%0*d", len(first), n)+text[end+1:])
		}
	}
	return out
}

// slurmEnd makes nouns of all that was read.
func (m *importing) slurmEnd() {
	places := make(map[string]*nodePlaces)
	partitions := make(map[string][]string)
	type member struct{ partition, node string }
	in := make(map[member]bool)
	for _, r := range m.slurm.nodes {
		n := m.slurmNode(r)
		for p := range strings.SplitSeq(r["Partitions"], ",") {
			if at := (member{p, n.ID}); p != "" && p != "(null)" && !in[at] && len(in) < mostThings {
				in[at] = true
				partitions[p] = append(partitions[p], n.ID)
			}
		}
		if places[n.ID] != nil || n.ID == "" || len(m.state.Nodes) >= mostThings {
			continue // sinfo has a line for each partition of a node
		}
		places[n.ID] = &nodePlaces{free: make([]int64, len(n.Devices))}
		for d := range n.Devices {
			places[n.ID].free[d] = 1000
		}
		m.state.Nodes = append(m.state.Nodes, n)
	}
	for i := range m.state.Nodes {
		if p := places[m.state.Nodes[i].ID]; p != nil {
			p.node = &m.state.Nodes[i]
		}
	}
	m.slurmPartitions(partitions, places)
	for _, r := range m.slurm.jobs {
		m.slurmJob(r, places)
	}
	if len(m.slurm.jobs) > 0 {
		m.note("", "accounts, QOS, associations and limits of Slurm are left out: queues are the partitions")
		m.note("", "time limits and reservations are left out")
	}
}

// slurmPartitions are the queues: partitions may share nodes, and pools may not.
func (m *importing) slurmPartitions(of map[string][]string, places map[string]*nodePlaces) {
	for _, r := range m.slurm.partitions {
		name := r["PartitionName"]
		if _, known := of[name]; known {
			continue
		}
		of[name] = nil
		for _, host := range m.hosts(r["Nodes"]) {
			if places[host] != nil {
				of[name] = append(of[name], host)
			}
		}
	}
	for _, r := range m.slurm.jobs {
		if p := r["Partition"]; p != "" && !strings.Contains(p, ",") {
			if _, known := of[p]; !known {
				of[p] = nil
			}
		}
	}
	var names []string
	for name := range of { // sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		hosts := of[name]
		slices.Sort(hosts)
		q := allot.Queue{ID: name}
		if len(hosts) < len(m.state.Nodes) {
			q.Nodes.IDs = slices.Compact(hosts)
		}
		m.state.Queues = append(m.state.Queues, q)
	}
}

// slurmNode is a node of scontrol show node.
func (m *importing) slurmNode(r map[string]string) allot.Node {
	n := allot.Node{ID: r["NodeName"], Capacity: make(map[string]int64)}
	if cpus, err := strconv.ParseInt(r["CPUTot"], 10, 32); err == nil && cpus > 0 {
		n.Capacity[allot.CPU] = cpus * 1000
	}
	if mib, err := strconv.ParseInt(r["RealMemory"], 10, 33); err == nil && mib > 0 {
		n.Capacity[allot.Memory] = mib << 20
	}
	for gres := range strings.SplitSeq(r["Gres"], ",") {
		m.gres(&n, gres)
	}
	state := r["State"]
	for _, word := range []string{"DRAIN", "DOWN", "FAIL", "MAINT", "NOT_RESPONDING", "POWER", "UNKNOWN", "DRNG"} {
		if strings.Contains(state, word) {
			n.Cordoned = true
		}
	}
	if strings.HasPrefix(state, "DOWN") {
		m.note(n.ID, "a node that is down is cordoned; say lost when nothing runs there any more")
	}
	return n
}

// gres adds the GPUs of a generic resource such as "gpu:a100:4(S:0-1)".
func (m *importing) gres(n *allot.Node, text string) {
	text, _, _ = strings.Cut(text, "(")
	parts := strings.Split(text, ":")
	if parts[0] != "gpu" {
		if text != "" {
			m.note(n.ID, "generic resources of kind %.40s are left out", parts[0])
		}
		return
	}
	count, err := strconv.Atoi(parts[len(parts)-1])
	model := ""
	if len(parts) > 2 {
		model = parts[1]
	}
	if err != nil || count < 0 || len(n.Devices)+count > placement.MaxDevices {
		m.note(n.ID, "a number of GPUs that cannot be is none: %.20s", text)
		return
	}
	for range count {
		n.Devices = append(n.Devices, allot.Device{Model: model})
	}
}

// slurmJob is a job that waits or runs: a task on each of its nodes.
func (m *importing) slurmJob(r map[string]string, places map[string]*nodePlaces) {
	state, _, _ := strings.Cut(r["JobState"], " ")
	running := state == "RUNNING" || state == "COMPLETING" || state == "SUSPENDED"
	if !running && state != "PENDING" && state != "CONFIGURING" && state != "REQUEUED" {
		return
	}
	if len(m.state.Workloads) >= mostThings {
		m.note(r["JobId"], "more than %d jobs are left out", mostThings)
		return
	}
	tres := r["TRES"]
	if tres == "" {
		tres = r["ReqTRES"]
	}
	asks := m.tres(r["JobId"], tres)
	nodes := int64(1)
	if n, err := strconv.ParseInt(strings.SplitN(r["NumNodes"], "-", 2)[0], 10, 20); err == nil && n > 0 {
		nodes = n
	}
	var req allot.Request
	if gpus := asks[allot.GPU]; gpus > 0 {
		if gpus%nodes != 0 {
			m.note(r["JobId"], "a job whose GPUs do not part evenly over its nodes asks more on each")
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
		m.note(r["JobId"], "of several partitions of a job the first is its queue")
	}
	w := allot.Workload{ID: r["JobId"], Queue: partition, PodSets: []allot.PodSet{{Count: int(nodes), Request: req}}}
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
		m.slurmPlaces(&w, r["NodeList"], places)
	}
	m.state.Workloads = append(m.state.Workloads, w)
}

// slurmPlaces are where a running job is. Where one of its nodes is not known or full, it
// waits as a whole.
func (m *importing) slurmPlaces(w *allot.Workload, list string, places map[string]*nodePlaces) {
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
		w.Tasks = append(w.Tasks, allot.Task{Index: i, Node: host, Devices: devices})
	}
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
