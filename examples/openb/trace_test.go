package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot/examples/internal/openb"
	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/internal/deep"
)

var write = flag.Bool("write", false, "write the tables of shapes from the original files")

// dataFolder is where the original files are. The test is skipped where they are not.
func dataFolder(t *testing.T) string {
	t.Helper()
	folder := openb.Folder()
	if folder == "" {
		t.Skip("the original files are in no ../shared/data/openb, and OPENB_DATA is not set")
	}
	return folder
}

func open(t *testing.T, folder, file string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

const tableHead = `# %s
# Facts of Alibaba's cluster-trace-gpu-v2023 (openb), published with 'Beware of
# Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
# Descent' (FGD, USENIX ATC 2023) under Apache-2.0. TestShapesAreTheTraces
# compares this table with the original file and writes it with -write.
count,%s
`

// shapeTable is a table of shapes, most frequent first.
func shapeTable[S comparable](title, columns string, shapes []S, line func(S) string) string {
	counts := make(map[S]int)
	for _, s := range shapes {
		counts[s]++
	}
	var distinct []S
	for s := range counts { // sorted below
		distinct = append(distinct, s)
	}
	slices.SortFunc(distinct, func(a, b S) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(line(a), line(b)))
	})
	var b strings.Builder
	fmt.Fprintf(&b, tableHead, title, columns)
	for _, s := range distinct {
		fmt.Fprintf(&b, "%d,%s\n", counts[s], line(s))
	}
	return b.String()
}

func compareTable(t *testing.T, file string, shipped []byte, want string) {
	t.Helper()
	if *write {
		if err := os.WriteFile(filepath.Join("..", "internal", "openb", file), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(shipped) != want {
		t.Errorf("%s is not what the original file says; -write writes it", file)
	}
}

func TestShapesAreTheTraces(t *testing.T) {
	folder := dataFolder(t)
	machines, err := readMachines(openb.NodeList, open(t, folder, openb.NodeList))
	if err != nil {
		t.Fatal(err)
	}
	for i := range machines {
		machines[i].name = ""
	}
	compareTable(t, openb.NodeShapesFile, openb.NodeShapes, shapeTable(
		"The 15 shapes of the 1,213 nodes and how many nodes have each.", "cpu_milli,memory_mib,gpu,model", machines,
		func(m machine) string { return fmt.Sprintf("%d,%d,%d,%s", m.cpuMilli, m.memoryMiB, m.gpus, m.model) }))
	pods, err := readPods(openb.PodList, open(t, folder, openb.PodList))
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		pods[i] = pods[i].shape()
	}
	compareTable(t, openb.PodShapesFile, openb.PodShapes, shapeTable(
		"The 151 shapes of the 8,152 pods, by quality of service, and how many pods have each.",
		"cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos", pods,
		func(p pod) string {
			return fmt.Sprintf("%d,%d,%d,%d,%s,%s", p.cpuMilli, p.memoryMiB, p.gpus, p.gpuMilli, p.models, p.qos)
		}))
}

// The published figures of the trace hold for the shipped tables.
func TestShippedTables(t *testing.T) {
	trace, err := readTrace("", "")
	if err != nil {
		t.Fatal(err)
	}
	gpus, machineShapes := 0, make(map[machine]bool)
	for _, m := range trace.machines {
		gpus += m.gpus
		m.name = ""
		machineShapes[m] = true
	}
	if len(trace.machines) != 1213 || gpus != 6212 || len(machineShapes) != 15 {
		t.Errorf("%d nodes, %d GPUs, %d shapes", len(trace.machines), gpus, len(machineShapes))
	}
	requests := make(map[pod]bool)
	for _, p := range trace.pods {
		p = p.shape()
		p.qos = ""
		requests[p] = true
	}
	if len(trace.pods) != 8152 || len(requests) != 151 {
		t.Errorf("%d pods, %d request shapes", len(trace.pods), len(requests))
	}
	// Evenly mixed: any tenth of the arrivals has about a tenth of each shape.
	common := trace.pods[slices.IndexFunc(trace.pods, func(p pod) bool { return p.gpuMilli == 810 })].shape()
	for from := 0; from+815 <= len(trace.pods); from += 815 {
		n := 0
		for _, p := range trace.pods[from : from+815] {
			if p.shape() == common {
				n++
			}
		}
		if n < 100 || n > 109 {
			t.Errorf("of the %d pods from %d on, %d have the most frequent shape, of which there are 1047", 815, from, n)
		}
	}
}

// Every published variant of the trace, as it is, gives a lawful plan.
func TestOriginalFiles(t *testing.T) {
	folder := dataFolder(t)
	lists, err := filepath.Glob(filepath.Join(folder, "openb_pod_list_*.csv.gz"))
	if err != nil || len(lists) == 0 {
		t.Fatal(lists, err)
	}
	whole := deep.New(t, len(lists)).Deep()
	for _, list := range lists {
		t.Run(filepath.Base(list), func(t *testing.T) {
			preset := "osmo"
			if whole { // consolidation takes its time on the harder lists
				preset = "runai"
			}
			stdout, stderr, code := command(t, "-preset", preset, "-nodes", filepath.Join(folder, openb.NodeList), "-pods", list)
			if code != program.OK || !strings.Contains(stdout, "the plan is lawful") {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadPlainAndGzipped(t *testing.T) {
	plain, err := os.ReadFile("testdata/pods.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{plain, gzipped(t, plain)} {
		pods, err := readPods("pods.csv", bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range pods {
			names = append(names, p.name)
		}
		// In order of creation, ties as they stand in the file.
		const want = "batch-b serve-a serve-b batch-a batch-c batch-d etl serve-c serve-d"
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if want := (pod{"batch-c", 4000, 8192, 1, 300, "P100", "Burstable", 40}); pods[4] != want {
			t.Errorf("%+v, want %+v", pods[4], want)
		}
	}
}

// Some lists of the trace have the first five columns only.
func TestReadFewColumns(t *testing.T) {
	pods, err := readPods("pods.csv", strings.NewReader("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,2,3,1000\n"))
	if want := (pod{"a", 1, 2, 3, 1000, "", qosBestEffort, 0}); err != nil || len(pods) != 1 || pods[0] != want {
		t.Errorf("%+v, %v, want %+v", pods, err, want)
	}
}

func TestArriving(t *testing.T) {
	trace := trace{pods: []pod{{name: "a", created: 3}, {name: "b", created: 4}}}
	for percent, want := range map[int]string{0: "[]", 50: "[a@3]", 100: "[a@3 b@4]", 250: "[a@3 b@4 a+1@8 b+1@9 a+2@13]"} {
		var got []string
		for _, p := range trace.arriving(percent) {
			got = append(got, fmt.Sprintf("%s@%d", p.name, p.created))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%d%%: %v, want %s", percent, got, want)
		}
	}
}

// What is wrong with a file is told with its line.
func TestBadFiles(t *testing.T) {
	const nodes, pods = "sn,cpu_milli,memory_mib,gpu,model\n", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time\n"
	long := gzipped(t, []byte(nodes+strings.Repeat("#\n", 99)+"a,1,1,1,T4\n"))
	for _, test := range []struct {
		nodes, pods, want string
	}{
		{"", pods, "nodes.csv:1: no header"},
		{"sn,cpu_milli,memory_mib,gpu\n", pods, "nodes.csv:1: no column model"},
		{"cpu_milli,memory_mib,gpu,model\n", pods, "nodes.csv:1: no column sn"},
		{nodes + "a,1,1,1,T4\nb,1,1,1\n", pods, "nodes.csv:3: wrong number of fields"},
		{nodes + "a,1,1,1,T4\na,1,1,1,T4\n", pods, `nodes.csv:3: sn must be unique, stands in line 2 too, is "a"`},
		{nodes + ",1,1,1,T4\n", pods, `nodes.csv:2: sn must not be empty, is ""`},
		{nodes + "a,1,1,65,T4\n", pods, `nodes.csv:2: gpu must be a whole number from 0 to 64, is "65"`},
		{nodes + "a,1.5,1,1,T4\n", pods, `nodes.csv:2: cpu_milli must be a whole number from 0 to 1099511627776, is "1.5"`},
		{nodes + "a,1,4294967297,1,T4\n", pods, `nodes.csv:2: memory_mib must be a whole number from 0 to 4294967296, is "4294967297"`},
		{nodes + "a,1,\"1,1,T4\n", pods, `nodes.csv:2: extraneous or missing " in quoted-field`},
		{string(long[:len(long)-12]), pods, "nodes.csv:102: unexpected EOF"},
		{"\x1f\x8b nonsense", pods, "nodes.csv:1: gzip: invalid header"},
		{nodes, pods + "\n\n# a comment\na,1,1,1,0,,LS,1\n", `pods.csv:5: gpu_milli must be from 1 to 1000 where GPUs are asked, is "0"`},
		{nodes, pods + "a,1,1,1,10,,BestEffort,1\n", `pods.csv:2: qos must be one of LS, Guaranteed, Burstable, BE, is "BestEffort"`},
		{nodes, pods + "a,1,1,1,10,,LS,\n", `pods.csv:2: creation_time must be a whole number from 0 to 1099511627776, is ""`},
		{nodes, "count,cpu_milli,memory_mib,num_gpu,gpu_milli\n-1,1,1,1,1\n", `pods.csv:2: count must be a whole number from 0 to 1048576, is "-1"`},
	} {
		folder := t.TempDir()
		for file, content := range map[string]string{"nodes.csv": test.nodes, "pods.csv": test.pods} {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		stdout, stderr, code := command(t, "-nodes", filepath.Join(folder, "nodes.csv"), "-pods", filepath.Join(folder, "pods.csv"))
		got := strings.TrimSuffix(strings.ReplaceAll(stderr, folder+string(filepath.Separator), ""), "\n")
		if code != program.Failed || stdout != "" || got != "openb: "+test.want {
			t.Errorf("exit code %d: %s, want %s", code, got, test.want)
		}
	}
	if _, stderr, code := command(t, "-pods", "testdata/absent.csv"); code != program.Failed || !strings.Contains(stderr, "testdata/absent.csv") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
