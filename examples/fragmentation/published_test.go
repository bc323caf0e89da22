package main

import (
	"compress/gzip"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/allotsched/allot/examples/internal/openb"
	"github.com/allotsched/allot/placement"
)

var (
	everything = flag.Bool("fragmentation.all", false, "compare all workloads and seeds with the published tables, not only one")
	write      = flag.Bool("write", false, "write published.csv from the original table")
)

// The names that the published tables have for the policies.
var publishedNames = map[placement.Strategy]string{
	placement.Random: "01-Random", placement.DotProduct: "02-DotProd", placement.GPUClustering: "03-GpuClustering",
	placement.GPUPacking: "04-GpuPacking", placement.BestFit: "05-BestFit", placement.FragmentationGradient: "06-FGD",
}

var workloadNames = []string{"default", "cpu250", "gpushare100", "gpuspec33", "multigpu50"}

func podList(workload string) string { return "openb_pod_list_" + workload + ".csv.gz" }

// dataFolder is where the original files are. The test is skipped where they are not.
func dataFolder(t testing.TB) string {
	t.Helper()
	folder := openb.Folder()
	if folder == "" {
		t.Skip("the original files are in no ../shared/data/openb, and OPENB_DATA is not set")
	}
	return folder
}

// publishedRows reads one of the published tables: the cells from 0 to 130% by
// workload, policy and seed.
func publishedRows(t *testing.T, file string) map[publishedKey][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dataFolder(t), file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	first := slices.Index(rows[0], "0")
	out := make(map[publishedKey][]string)
	for _, row := range rows[1:] {
		seed, err := strconv.ParseInt(row[3], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out[publishedKey{strings.TrimPrefix(row[0], "openb_pod_list_"), row[1], seed}] = row[first:]
	}
	return out
}

// hundredthsOf reads a cell.
func hundredthsOf(t *testing.T, cell string) int64 {
	t.Helper()
	f, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(f*100 + 0.5)
}

// The table that is compiled in is the original's column of 100%.
func TestPublishedTable(t *testing.T) {
	rows := publishedRows(t, "expected_analysis_allo_discrete.csv.gz")
	head, _, _ := strings.Cut(string(publishedTable), "workload,policy,")
	var b strings.Builder
	b.WriteString(head + "workload,policy")
	for seed := range seeds() {
		fmt.Fprintf(&b, ",%d", seed)
	}
	b.WriteByte('\n')
	for _, workload := range workloadNames {
		for _, policy := range published {
			fmt.Fprintf(&b, "%s,%s", workload, policy)
			for seed := range seeds() {
				cell := hundredthsOf(t, rows[publishedKey{workload, publishedNames[policy], seed}][publishedPercent])
				b.WriteString("," + percent(cell))
			}
			b.WriteByte('\n')
		}
	}
	if *write {
		if err := os.WriteFile("published.csv", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if b.String() != string(publishedTable) {
		t.Error("published.csv is not what the original table says; -write writes it")
	}
}

// seeds are the published ones.
func seeds() func(func(int64) bool) { return slices.Values(seedRange(42, 51)) }

// A gap is how far a row of ours is from the published one.
type gap struct {
	cells   int   // that are not equal
	most    int64 // in hundredths of a percent
	at      int
	example string
}

func gapOf(t *testing.T, ours []int64, theirs []string) (g gap) {
	t.Helper()
	for k, cell := range theirs {
		want := hundredthsOf(t, cell)
		off := max(ours[k]-want, want-ours[k])
		if off > 0 {
			g.cells++
		}
		if off > g.most {
			g.most, g.at, g.example = off, k, fmt.Sprintf("%s, published %s", percent(ours[k]), cell)
		}
	}
	return g
}

// eachRun calls run for the runs that are compared, a few at once.
func eachRun(t *testing.T, policies []placement.Strategy, run func(c *cluster, w *workload, key publishedKey, policy placement.Strategy)) {
	t.Helper()
	folder := dataFolder(t)
	c, err := readCluster(filepath.Join(folder, openb.NodeList))
	if err != nil {
		t.Fatal(err)
	}
	workloads, last := workloadNames, int64(51)
	if !*everything {
		workloads, last = workloads[:1], 42
	}
	var group sync.WaitGroup
	slots := make(chan bool, 2)
	for _, name := range workloads {
		w, err := readWorkload(filepath.Join(folder, podList(name)))
		if err != nil {
			t.Fatal(err)
		}
		if got := nameOf(c, w); got != name {
			t.Errorf("%s is taken for %q", name, got)
		}
		for _, policy := range policies {
			for _, seed := range seedRange(42, last) {
				slots <- true
				group.Go(func() {
					run(c, w, publishedKey{name, publishedNames[policy], seed}, policy)
					<-slots
				})
			}
		}
	}
	group.Wait()
}
