package importer

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// A slurm is what was read of Slurm: records of fields, by what they are of.
type slurm struct {
	nodes, jobs, partitions []map[string]string
	// named is how many names lists of nodes have come to.
	named int
	// arrayed is how many jobs arrays have come to.
	arrayed int
}

// isSlurm recognises the output of scontrol show, sacct -P and sinfo.
func isSlurm(text []byte) bool {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if bytes.Count(first, []byte(":")) >= 2 && !bytes.Contains(first, []byte("|")) { // sinfo -l says the time first
		second, _, _ := bytes.Cut(rest, []byte("\n"))
		if isSinfo(string(second)) {
			return true
		}
	}
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
		m.sinfo(lines)
	case len(lines) > 1 && isSinfo(lines[1]):
		m.sinfo(lines[1:])
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
			m.addJob(record)
		case record["NodeName"] != "":
			m.addRecord(&m.slurm.nodes, record)
		case record["PartitionName"] != "":
			m.addRecord(&m.slurm.partitions, record)
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
			rest := name == "JobName" && !strings.Contains(trimmed, " UserId=") // in lines of its own a name is all that follows
			if rest {
				end = len(trimmed)
			}
			if _, said := record[name]; !said && len(record) < 200 {
				record[name] = strings.TrimSpace(trimmed[at[1]:end])
			}
			if rest {
				break
			}
		}
	}
	flush()
}

// sinfo reads a table of columns, of which the last may have spaces.
func (m *importing) sinfo(lines []string) {
	heads := len(strings.Fields(lines[0]))
	if !strings.Contains(strings.ToUpper(lines[0]), "GRES") {
		m.note("", "sinfo says no GPUs of nodes here: take -o \"%%N %%c %%m %%G %%T %%P\"")
	}
	m.slurmTable(lines, func(line string) []string {
		cells := strings.Fields(line)
		if len(cells) > heads {
			cells = append(cells[:heads-1], strings.Join(cells[heads-1:], " "))
		}
		return cells
	})
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
			m.addRecord(&m.slurm.nodes, map[string]string{
				"NodeName": name, "CPUTot": strings.TrimRight(record["CPUS"], "+"), "RealMemory": strings.TrimRight(record["MEMORY"], "+"),
				"Gres": record["GRES"], "State": sinfoState(record["STATE"]), "Partitions": strings.TrimRight(record["PARTITION"], "*"),
			})
		}
	}
}

// addRecord keeps a record, as far as there may be so many: a node has one for each partition.
func (m *importing) addRecord(to *[]map[string]string, record map[string]string) {
	if len(*to) >= 4*mostMade {
		m.note("", "more than %d lines about nodes or partitions are left out", 4*mostMade)
		return
	}
	*to = append(*to, record)
}

func clip(text string) string {
	if len(text) > 60 {
		return text[:60]
	}
	return text
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
		if len(m.state.Nodes) >= mostMade && places[n.ID] == nil {
			m.note(n.ID, "more than %d nodes are left out", mostMade)
			continue
		}
		if places[n.ID] != nil || n.ID == "" {
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
	known := make(map[string]bool)
	for _, r := range m.slurm.jobs {
		for _, id := range m.arrayIDs(r) {
			if known[id] {
				m.note(id, "jobs that are listed twice are taken once")
				continue
			}
			known[id] = true
			m.slurmJob(id, r, places)
		}
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
	cpus, mib := cmp.Or(r["CPUEfctv"], r["CPUTot"]), r["RealMemory"]
	if count, err := strconv.ParseInt(cpus, 10, 32); err == nil && count > 0 {
		n.Capacity[allot.CPU] = count * 1000
	} else if cpus != "" {
		m.note(n.ID, "a number of CPUs that cannot be read is none: %.20s", cpus)
	}
	if size, err := strconv.ParseInt(mib, 10, 33); err == nil && size > 0 {
		if kept, err := strconv.ParseInt(r["MemSpecLimit"], 10, 33); err == nil && kept > 0 {
			size = max(size-kept, 0)
		}
		n.Capacity[allot.Memory] = size << 20
	} else if mib != "" {
		m.note(n.ID, "an amount of memory that cannot be read is none: %.20s", mib)
	}
	for gres := range strings.SplitSeq(inParentheses.ReplaceAllString(r["Gres"], ""), ",") {
		m.gres(&n, gres)
	}
	m.slurmState(&n, r["State"])
	return n
}

// inParentheses is what Slurm says of a generic resource beside its number: sockets, which may
// be a list.
var inParentheses = regexp.MustCompile(`\([^)]*\)?`)

// sinfoState is a state of sinfo as scontrol says it: letters behind it are flags.
func sinfoState(state string) string {
	words := []string{strings.ToUpper(strings.TrimRight(state, "*~#!%$@^+-"))}
	for flag, word := range map[string]string{ // all of them: order cannot matter
		"*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "!": "POWER_DOWN", "%": "POWERING_DOWN", "$": "MAINTENANCE", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "-": "PLANNED",
	} {
		if strings.Contains(strings.TrimLeft(state, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"), flag) {
			words = append(words, word)
		}
	}
	return strings.Join(words, "+")
}

// slurmState says of a node whether it takes work.
func (m *importing) slurmState(n *allot.Node, state string) {
	for i, word := range strings.Split(state, "+") {
		switch word {
		case "POWERED_DOWN", "POWERING_UP", "POW_UP", "POWER_UP":
			m.note(n.ID, "nodes that are powered down take work, as Slurm starts them for it")
		case "RESERVED", "RESV":
			m.note(n.ID, "reserved nodes take all work, as reservations are left out")
		case "DOWN":
			n.Cordoned = true
			if i == 0 {
				m.note(n.ID, "a node that is down is cordoned; say lost when nothing runs there any more")
			}
		case "DRAIN", "DRAINED", "DRAINING", "DRNG", "FAIL", "FAILING", "FAILG", "ERROR", "UNKNOWN", "UNK", "INVAL", "INVALID_REG",
			"MAINT", "MAINTENANCE", "NOT_RESPONDING", "NO_RESPOND", "POWER_DOWN", "POWERING_DOWN", "POW_DN", "REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED", "BOOT", "FUTURE", "FUTR",
			"PERFCTRS", "NPC":
			n.Cordoned = true
		}
	}
}

// gres adds the GPUs of a generic resource such as "gpu:a100:4(S:0-1)".
func (m *importing) gres(n *allot.Node, text string) {
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
	m.addDevices(n, count, allot.Device{Model: model})
}
