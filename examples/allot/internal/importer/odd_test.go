package importer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/input"
)

// imported is what a text becomes, and what is noted.
func imported(t *testing.T, texts ...string) (*allot.State, string) {
	t.Helper()
	var files []input.File
	for i, text := range texts {
		files = append(files, input.File{Name: fmt.Sprint(i), Data: []byte(text)})
	}
	r, err := Import(files, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, n := range r.Notes {
		notes = append(notes, fmt.Sprintf("%d %s (%s)", n.Count, n.What, n.Example))
	}
	return r.State, strings.Join(notes, "\n")
}

// jobs are the workloads in a line each: what each asks, and where its tasks are.
func jobs(s *allot.State) string {
	var out []string
	for i := range s.Workloads {
		w := &s.Workloads[i]
		line := w.ID
		for _, set := range w.PodSets {
			line += fmt.Sprintf(" %d×", set.Count)
			if set.Request.GPU.Count > 0 {
				line += fmt.Sprintf("gpu=%d", set.Request.GPU.Count)
			}
			if cpu := set.Request.Resources[allot.CPU]; cpu > 0 {
				line += fmt.Sprintf(" cpu=%dm", cpu)
			}
			if memory := set.Request.Resources[allot.Memory]; memory > 0 {
				line += fmt.Sprintf(" memory=%dMi", memory>>20)
			}
		}
		for _, task := range w.Tasks {
			line += " on " + task.Node
			if task.Phase != allot.Running {
				line += " " + task.Phase.String()
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// Amounts of Kubernetes, in all the forms that it writes and takes.
func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		resource, text string
		want           int64 // -1 is an error
	}{
		{"cpu", `"1500m"`, 1500}, {"cpu", `4`, 4000}, {"cpu", `0.5`, 500}, {"cpu", `"0.1"`, 100}, {"cpu", `"100u"`, 1}, {"cpu", `"1234567890n"`, 1235},
		{"cpu", `"1e3"`, 1e6}, {"cpu", `1e3`, 1e6}, {"cpu", `"1E3"`, 1e6}, {"cpu", `"5e-1"`, 500}, {"cpu", `"2.5k"`, 2_500_000}, {"cpu", `".5"`, 500}, {"cpu", `"5."`, 5000}, {"cpu", `"+2"`, 2000},
		{"memory", `"1Gi"`, 1 << 30}, {"memory", `"1G"`, 1e9}, {"memory", `"128974848"`, 128974848}, {"memory", `"129e6"`, 129e6}, {"memory", `"1288490188800m"`, 1288490189}, {"memory", `"1.5Ti"`, 3 << 39}, {"memory", `"0"`, 0},
		{"nvidia.com/gpu", `"8"`, 8}, {"nvidia.com/mig-1g.5gb", `"7"`, 7}, {"example.com/widget", `"2k"`, 2000},
		{"memory", `"1 GiB"`, -1}, {"memory", `"1gb"`, -1}, {"memory", `"-1Gi"`, -1}, {"memory", `"9E99"`, -1}, {"memory", `"1e999999999"`, -1}, {"memory", `"16Ei"`, -1}, {"cpu", `""`, -1}, {"cpu", `"."`, -1}, {"cpu", `null`, -1}, {"cpu", `{}`, -1}, {"cpu", `"NaN"`, -1}, {"cpu", `"0x10"`, -1},
		{"cpu", `"` + strings.Repeat("1", 100) + `"`, -1},
	} {
		got, err := quantity(c.resource, json.RawMessage(c.text))
		if err != nil {
			got = -1
		}
		if got != c.want {
			t.Errorf("%s %s: %d, want %d (%v)", c.resource, c.text, got, c.want, err)
		}
	}
}

const kubeNode = `{"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8", "nvidia.com/mig-1g.5gb": "7", "pods": "110"}}}`

// pod is a pod with a spec, and more of its metadata and status.
func pod(name, metadata, spec, phase string) string {
	return fmt.Sprintf(`{"kind": "Pod", "metadata": {"name": %q, "namespace": "x"%s}, "spec": {%s}, "status": {"phase": %q}}`, name, metadata, spec, phase)
}

const oneCPU = `"containers": [{"resources": {"requests": {"cpu": "1"}}}]`

// Pods as they are in real clusters, one by one.
func TestOddPods(t *testing.T) {
	for _, c := range []struct{ name, pod, want, note string }{
		{"init containers run before", pod("p", "", `"initContainers": [{"resources": {"requests": {"cpu": "4"}}}, {"resources": {"requests": {"cpu": "2", "memory": "8Gi"}}}], "containers": [{"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]`, "Pending"),
			"x/p 1× cpu=4000m memory=8192Mi", ""},
		{"sidecars run with what comes after them", pod("p", "", `"initContainers": [{"resources": {"requests": {"cpu": "5"}}}, {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "5"}}}], "containers": [{"resources": {"requests": {"cpu": "2"}}}]`, "Pending"),
			"x/p 1× cpu=6000m", ""},
		{"a sidecar after an init container", pod("p", "", `"initContainers": [{"resources": {"requests": {"cpu": "5"}}}, {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}], "containers": [{"resources": {"requests": {"cpu": "2"}}}]`, "Pending"),
			"x/p 1× cpu=5000m", ""},
		{"limits where nothing is requested", pod("p", "", `"containers": [{"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": 2}}}]`, "Pending"),
			"x/p 1×gpu=2 cpu=1000m memory=1024Mi", ""},
		{"limits of init containers", pod("p", "", `"initContainers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}], `+oneCPU, "Pending"), "x/p 1×gpu=1 cpu=1000m", ""},
		{"of the pod as a whole, and its overhead", pod("p", "", `"resources": {"requests": {"cpu": "8"}}, "overhead": {"cpu": "250m", "memory": "120Mi"}, `+oneCPU, "Pending"), "x/p 1× cpu=8250m memory=120Mi", ""},
		{"nothing is said", pod("p", "", `"containers": [{}]`, "Pending"), "x/p 1×", ""},
		{"no containers", pod("p", "", `"nodeName": ""`, ""), "x/p 1×", ""},
		{"MIG", pod("p", "", `"nodeName": "n1", "containers": [{"resources": {"limits": {"nvidia.com/mig-1g.5gb": "2"}}}]`, "Running"), "x/p 1× on n1", "parts of GPUs such as nvidia.com/mig-1g.5gb"},
		{"terminating", pod("p", `, "deletionTimestamp": "2026-03-01T10:00:00Z"`, `"nodeName": "n1", `+oneCPU, "Running"), "x/p 1× cpu=1000m on n1 terminating", ""},
		{"deleted before it ran", pod("p", `, "deletionTimestamp": "2026-03-01T10:00:00Z"`, oneCPU, "Pending"), "", "deleted before they have a node"},
		{"done", pod("p", "", `"nodeName": "n1", `+oneCPU, "Succeeded"), "", ""},
		{"failed", pod("p", "", `"nodeName": "n1", `+oneCPU, "Failed"), "", ""},
		{"bound and still pulling its image", pod("p", "", `"nodeName": "n1", `+oneCPU, "Pending"), "x/p 1× cpu=1000m on n1", ""},
		{"on a node that is gone", pod("p", "", `"nodeName": "n9", `+oneCPU, "Running"), "x/p 1× cpu=1000m", "a node that was not given"},
		{"more than its node has", pod("p", "", `"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "65"}}}]`, "Running"), "x/p 1× cpu=65000m", "a pod holds more cpu than its node has"},
		{"gated by somebody", pod("p", "", `"schedulingGates": [{"name": "example.com/later"}], `+oneCPU, "Pending"), "", "scheduling gates"},
		{"held back by Kueue", pod("p", "", `"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}], `+oneCPU, "Pending"), "x/p 1× cpu=1000m", ""},
		{"a group of Kueue that is not there in full", pod("p", `, "labels": {"kueue.x-k8s.io/pod-group-name": "g"}, "annotations": {"kueue.x-k8s.io/pod-group-total-count": "3"}`, oneCPU, "Pending"), "x/g 3× cpu=1000m", ""},
		{"twice", pod("p", "", oneCPU, "Pending") + pod("p", "", oneCPU, "Pending"), "x/p 1× cpu=1000m", "listed twice"},
		{"without a name", pod("", "", oneCPU, "Pending"), "", "pods without a name"},
		{"an amount that cannot be read", pod("p", "", `"containers": [{"resources": {"requests": {"cpu": "many", "nvidia.com/gpu": "1.5"}}}]`, "Pending"), "x/p 1×gpu=2", "an amount of cpu that cannot be read"},
		{"the least priority", pod("p", "", `"priority": -2147483648, `+oneCPU, "Pending"), "x/p 1× cpu=1000m", ""},
		{"of a daemon set", pod("p", `, "ownerReferences": [{"kind": "DaemonSet"}]`, `"nodeName": "n1", `+oneCPU, "Running"), "", "foreign use"},
	} {
		s, notes := imported(t, kubeNode, c.pod)
		if got := jobs(s); got != c.want || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %q, want %q; notes %q, want %q", c.name, got, c.want, notes, c.note)
		}
	}
}

// What a pod requires of its node is taken over where it is no choice.
func TestAffinity(t *testing.T) {
	term := `{"matchExpressions": [{"key": "model", "operator": "In", "values": ["H100"]}]}`
	for _, c := range []struct {
		affinity string
		taken    int
		note     string
	}{
		{`{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [` + term + `]}}}`, 1, ""},
		{`{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [` + term + `,` + term + `]}}}`, 0, "is a choice"},
		{`{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name"}]}]}}}`, 0, "of fields"},
		{`{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "model", "operator": "Like"}]}]}}}`, 0, "is a choice"},
		{`{"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}`, 0, "of other pods"},
		{`{}`, 0, ""}, {`null`, 0, ""}, {`{"nodeAffinity": 3}`, 0, "is a choice"},
	} {
		s, notes := imported(t, kubeNode, pod("p", "", `"affinity": `+c.affinity+`, `+oneCPU, "Pending"))
		if got := len(s.Workloads[0].PodSets[0].Request.Selector.Expressions); got != c.taken || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %d taken, %q", c.affinity, got, notes)
		}
	}
}

// Several commands may have written into one file, with whatever else.
func TestOddFiles(t *testing.T) {
	s, _ := imported(t, "\ufeff"+kubeNode+"\n"+pod("a", "", oneCPU, "Pending")+"\n"+`{"kind": "PodList", "items": [`+pod("b", "", oneCPU, "Pending")+"]}\n")
	if got := jobs(s); len(s.Nodes) != 1 || got != "x/a 1× cpu=1000m\nx/b 1× cpu=1000m" {
		t.Errorf("%d nodes, %q", len(s.Nodes), got)
	}
	if s, _ := imported(t, `{"kind": "List", "items": []}`); len(s.Nodes)+len(s.Workloads) > 0 {
		t.Errorf("%v", s)
	}
	for text, want := range map[string]string{ // each by itself: order cannot matter
		kubeNode + "\n{": "begins like JSON and is none", "N\x00o\x00d\x00e\x00": "no text in UTF-8", "No jobs in the system": "of no known format",
	} {
		if _, err := Import([]input.File{{Name: "x", Data: []byte(text)}}, time.Time{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v", text, err)
		}
	}
	// What is said twice, or of nobody, is no reason to refuse the rest.
	for _, c := range []struct{ text, want, note string }{
		{`{"projects": [{"name": "b"}, {"name": "b"}, {"name": ""}]}`, "b", "2 a queue that is listed twice, or has no name"},
		{`{"pools": {"p2": {}, "p1": {}, "a": {"quota_limit": "8"}}}`, "a p1 p2", ""},
	} {
		s, notes := imported(t, c.text)
		var names []string
		for i := range s.Queues {
			names = append(names, s.Queues[i].ID)
		}
		if got := strings.Join(names, " "); got != c.want || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %q, %q", c.text, got, notes)
		}
	}
}

const slurmNodes = "NodeName=n1\n   CPUTot=64 RealMemory=512000\n   Gres=gpu:a100:8(S:0,1)\n   State=IDLE\n   Partitions=gpu\n\n"

// Jobs of Slurm as they are in real clusters, one by one.
func TestOddJobs(t *testing.T) {
	job := func(lines string) string {
		return slurmNodes + "JobId=7 JobName=j\n   Partition=gpu\n   " + lines + "\n"
	}
	table := func(line string) string {
		return "JobID|State|Partition|ReqTRES|AllocTRES|NodeList|NNodes|Priority\n" + line + "\n"
	}
	for _, c := range []struct{ name, text, want, note string }{
		{"an array that waits", job("ArrayTaskId=1-5:2,9%2 JobState=PENDING NumNodes=1 ReqTRES=cpu=2"), "7_1 1× cpu=2000m\n7_3 1× cpu=2000m\n7_5 1× cpu=2000m\n7_9 1× cpu=2000m", "how many of an array may run at once"},
		{"one of an array", job("ArrayJobId=5 ArrayTaskId=3 JobState=RUNNING NodeList=n1 NumNodes=1 ReqTRES=cpu=2"), "5_3 1× cpu=2000m on n1", ""},
		{"an array as sacct has it", slurmNodes + "\x00" + table("7_[2-3%1]|PENDING|gpu|cpu=2|||1|9\n7_1|RUNNING|gpu|cpu=2||n1|1|9\n7_1.batch|RUNNING||cpu=2||n1|1|"), "7_2 1× cpu=2000m\n7_3 1× cpu=2000m\n7_1 1× cpu=2000m on n1", ""},
		{"an array that is cut", job("ArrayTaskId=1-2,... JobState=PENDING NumNodes=1 ReqTRES=cpu=2"), "7_1 1× cpu=2000m\n7_2 1× cpu=2000m", "does not list to its end"},
		{"an array of nonsense", job("ArrayTaskId=x-y JobState=PENDING NumNodes=1 ReqTRES=cpu=2"), "7 1× cpu=2000m", "cannot be read"},
		{"cancelled by somebody", slurmNodes + "\x00" + table("1|CANCELLED by 1000|gpu|cpu=2||n1|1|9\n2|TIMEOUT|gpu|cpu=2||n1|1|9\n3|OUT_OF_MEMORY|gpu|||n1|1|\n4|NODE_FAIL|gpu|||n1|1|"), "", ""},
		{"what is allocated, of what runs", slurmNodes + "\x00" + table("1|RUNNING|gpu|cpu=1,mem=1G,gres/gpu=1|billing=9,cpu=2,gres/gpu:a100=1,gres/gpu=1,mem=2G,node=1|n1|1|9\n2|PENDING|gpu|cpu=1,mem=1.50G||None assigned|1|9"), "1 1×gpu=1 cpu=2000m memory=2048Mi on n1\n2 1× cpu=1000m memory=1536Mi", ""},
		{"held", job("JobState=PENDING Reason=JobHeldUser Priority=0 NumNodes=1"), "", "jobs that are held"},
		{"ending", job("JobState=COMPLETING NodeList=n1 NumNodes=1 TRES=cpu=2"), "7 1× cpu=2000m on n1 terminating", ""},
		{"suspended", job("JobState=SUSPENDED NodeList=n1 NumNodes=1 TRES=cpu=2"), "7 1× cpu=2000m on n1", ""},
		{"GPUs of each node", job("JobState=PENDING NumNodes=2 ReqTRES=cpu=4,node=2 TresPerNode=gres/gpu:a100:4"), "7 2×gpu=4 cpu=2000m", ""},
		{"GPUs in an older form", job("JobState=PENDING NumNodes=2 TRES=cpu=4,node=2 TresPerNode=gpu:2"), "7 2×gpu=2 cpu=2000m", ""},
		{"GPUs in all", job("JobState=PENDING NumNodes=2 TRES=cpu=4,node=2 TresPerJob=gres:gpu:6"), "7 2×gpu=3 cpu=2000m", ""},
		{"GPUs of each task", job("JobState=PENDING NumNodes=1 NumTasks=3 TRES=cpu=4 TresPerTask=gres/gpu=2"), "7 1×gpu=6 cpu=4000m", ""},
		{"no limits", job("JobState=PENDING TimeLimit=UNLIMITED NumNodes=1-4 ReqTRES=cpu=2,mem=0"), "7 1× cpu=2000m", "time limits"},
		{"nothing is said", job("JobState=PENDING"), "7 1×", ""},
		{"numbers that cannot be", job("JobState=PENDING NumNodes=99999999999 ReqTRES=cpu=x,mem=1Q,gres/gpu=-1"), "7 1×", "cannot be read"},
		{"a name of fields", slurmNodes + "JobId=7 JobName=a JobState=RUNNING NodeList=n1\n   Partition=gpu JobState=PENDING NumNodes=1\n", "7 1×", ""},
		{"in one line", "JobId=7 JobName=a UserId=ann(1) JobState=PENDING Partition=gpu NumNodes=1 ReqTRES=cpu=2\nJobId=8 JobName=b UserId=ann(1) JobState=RUNNING Partition=gpu NumNodes=1\n", "7 1× cpu=2000m\n8 1×", ""},
		{"twice", job("JobState=PENDING NumNodes=1") + "\x00" + table("7|PENDING|gpu|cpu=2||None assigned|1|9"), "7 1×", "listed twice"},
		{"with a trailing bar", "JobID|State|NNodes|\n7|PENDING|1|\n", "7 1×", ""},
		{"with Windows' ends of lines", strings.ReplaceAll(job("JobState=PENDING NumNodes=1 ReqTRES=cpu=2"), "\n", "\r\n"), "7 1× cpu=2000m", ""},
		{"of several partitions", job("JobState=PENDING NumNodes=1 Partition=gpu") + "JobId=8 JobName=k\n   Partition=gpu,big JobState=PENDING NumNodes=1\n", "7 1×\n8 1×", "of several partitions"},
	} {
		s, notes := imported(t, strings.Split(c.text, "\x00")...)
		if got := jobs(s); got != c.want || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %q, want %q; notes %q, want %q", c.name, got, c.want, notes, c.note)
		}
	}
}

// States of nodes, with the letters that sinfo puts behind them and the words that scontrol adds.
func TestNodeStates(t *testing.T) {
	for state, takes := range map[string]bool{ // each by itself: order cannot matter
		"idle": true, "mix": true, "mixed": true, "alloc": true, "allocated": true, "comp": true, "completing": true, "plnd": true, "planned": true, "idle-": true, "mixed+": true, "resv": true, "reserved": true,
		"idle~": true, "idle#": true, "blocked": true,
		"idle*": false, "down": false, "down*": false, "drain": false, "drained": false, "drng": false, "draining": false, "drained*": false, "maint": false, "idle$": false, "mix@": false, "idle^": false,
		"idle%": false, "idle!": false, "fail": false, "failing": false, "unk": false, "unk*": false, "inval": false, "boot": false, "boot^": false, "futr": false, "npc": false, "drain~": false,
		"IDLE+DRAIN": false, "MIXED+CLOUD": true, "IDLE+CLOUD+POWERED_DOWN": true, "IDLE+NOT_RESPONDING": false, "DOWN+CLOUD": false, "DOWN*+DRAIN": false, "IDLE+MAINTENANCE+RESERVED": false, "ALLOCATED+REBOOT_REQUESTED": false, "IDLE+INVALID_REG": false, "MIXED+PLANNED": true, "UNKNOWN": false,
	} {
		text := "NODELIST CPUS STATE PARTITION\nn1 64 " + state + " gpu*\n"
		if state == strings.ToUpper(state) {
			text = "NodeName=n1 CPUTot=64\n   State=" + state + "\n"
		}
		if s, _ := imported(t, text); len(s.Nodes) != 1 || s.Nodes[0].Cordoned == takes {
			t.Errorf("%s: %+v", state, s.Nodes)
		}
	}
}

// Tables of sinfo as its options make them.
func TestOddSinfo(t *testing.T) {
	for _, c := range []struct {
		text       string
		nodes      int
		gpus, cpus int
		note       string
	}{
		{"Mon Mar  2 12:00:00 2026\nNODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON\nn1 1 gpu* drained 64 2:16:2 512000 0 1 (null) Not responding\nn2 1 gpu* idle 64 2:16:2 512000 0 1 (null) none\n", 2, 0, 64, "sinfo says no GPUs"},
		{"PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\ngpu*         up   infinite      2   idle n[1-2]\ngpu* up infinite 0 n/a\n", 2, 0, 0, "other columns than its heading"},
		{"NODELIST CPUS MEMORY GRES STATE PARTITION\nn1 64 512000+ gpu:a100:4(S:0,2),gpu:a100:4(S:1) mix gpu*\nn1 64 512000 gpu:a100:8 mix big\n", 1, 8, 64, ""},
		{"NODELIST CPUS MEMORY GRES STATE PARTITION\nn1 64 512000 (null) idle cpu\n", 1, 0, 64, ""},
		{"NODELIST CPUS MEMORY GRES STATE PARTITION\nn1 64 lots gpu:a100:no_consume:x idle cpu\n", 1, 0, 64, "cannot be"},
	} {
		s, notes := imported(t, c.text)
		if len(s.Nodes) != c.nodes || len(s.Nodes[0].Devices) != c.gpus || s.Nodes[0].Capacity[allot.CPU] != int64(c.cpus)*1000 || !strings.Contains(notes, c.note) {
			t.Errorf("%q: %+v, %q", c.text, s.Nodes, notes)
		}
	}
}

// Memory and cores that Slurm keeps for itself are nobody's.
func TestSpecialised(t *testing.T) {
	s, notes := imported(t, "NodeName=n1 CPUTot=64 CPUEfctv=62\n   RealMemory=512000 MemSpecLimit=12000\n\nNodeName=n2 CPUTot=many RealMemory=9999999999999\n")
	if got := s.Nodes[0].Capacity; got[allot.CPU] != 62_000 || got[allot.Memory] != 500_000<<20 {
		t.Errorf("%v", got)
	}
	if !strings.Contains(notes, "a number of CPUs that cannot be read") || !strings.Contains(notes, "an amount of memory that cannot be read") {
		t.Errorf("%s", notes)
	}
}

// What KAI knows of a pod by its class, its priority and its label.
func TestKAIClasses(t *testing.T) {
	queue := `{"kind": "Queue", "apiVersion": "scheduling.run.ai/v2", "metadata": {"name": "q"}, "spec": {"resources": {"gpu": {"quota": 4.35}}}}`
	label := `, "labels": {"kai.scheduler/queue": "q"`
	s, notes := imported(t, queue+
		pod("a", label+`}`, `"priorityClassName": "train", "priority": 50, `+oneCPU, "Pending")+
		pod("b", label+`}`, `"priority": 100, `+oneCPU, "Pending")+
		pod("c", label+`}`, `"priority": 99, `+oneCPU, "Pending")+
		pod("d", label+`, "kai.scheduler/preemptibility": "non-preemptible"}`, oneCPU, "Pending"))
	for i, want := range []allot.Workload{{Class: "train"}, {Priority: 100, Preemption: allot.NonPreemptible}, {Priority: 99}, {Preemption: allot.NonPreemptible}} {
		if w := s.Workloads[i]; w.Class != want.Class || w.Priority != want.Priority || w.Preemption != want.Preemption {
			t.Errorf("%s: class %q, priority %d, %v", w.ID, w.Class, w.Priority, w.Preemption)
		}
	}
	if strings.Contains(notes, "rounded") {
		t.Errorf("%s", notes)
	}
}
