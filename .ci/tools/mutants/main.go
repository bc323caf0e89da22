// Mutants applies every row of testdata/mutants.table (a rule, broken in one line) and says
// which of them no test notices. TestMutants builds the module anew for each row; this
// builds it once: each function that a row breaks is there whole and once more for each of
// its rows, and a variable of the environment chooses which of them runs. A row outside of
// functions, or whose function does not compile beside the others, is built by itself.
//
//	go -C .ci/tools run ./mutants -C "$PWD" [-only TEXT] [-jobs 1] [-deep] [-each 2m]
//
// A row is tried by the test that it names, then by the scenarios of its rule, then by the
// short tests of its folder, at last by all short tests of the root (-deep); the first that
// fails has noticed it. A test that takes longer than -each counts as one that failed.
//
// Exit status: 0 if all are noticed, 1 if not, 2 if it could not tell.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A run is what the command line asks for.
type run struct {
	repo string        // the module's folder
	list string        // the table; "" is the module's own
	work string        // where the overlay and the binaries are
	each time.Duration // for one test of one mutant
	deep bool          // all short tests of the root too

	lock     sync.Mutex
	binaries map[string]string // by folder and number of a mutant built by itself
	holds    map[string]bool   // by binary and test: it holds where nothing is broken
	folders  map[string][]string
	table    []*mutant
}

func main() {
	r := &run{binaries: make(map[string]string), holds: make(map[string]bool)}
	only := flag.String("only", "", "rows whose rule, killer or file contain this, or one of several parted by |")
	jobs := flag.Int("jobs", 1, "mutants tried at once")
	flag.StringVar(&r.repo, "C", ".", "the module's `folder`")
	flag.DurationVar(&r.each, "each", 2*time.Minute, "what one run of tests may take")
	flag.StringVar(&r.list, "table", "", "another `file` of mutants")
	flag.BoolVar(&r.deep, "deep", false, "all short tests of the root too")
	flag.Parse()
	survived, err := r.all(strings.Split(*only, "|"), *jobs)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case survived > 0:
		os.Exit(1)
	}
}

// all tries the rows that contain one of the texts and counts those that nothing noticed.
func (r *run) all(only []string, jobs int) (survived int, err error) {
	if r.repo, err = filepath.Abs(r.repo); err != nil {
		return 0, err
	}
	if r.work, err = os.MkdirTemp("", "mutants"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(r.work)
	data, err := os.ReadFile(cmp.Or(r.list, filepath.Join(r.repo, "testdata", "mutants.table")))
	if err != nil {
		return 0, err
	}
	r.table = choose(parse(string(data)), only)
	if r.folders, err = testFolders(r.repo); err != nil {
		return 0, err
	}
	if err := r.weave(); err != nil {
		return 0, err
	}
	var wait sync.WaitGroup
	next := make(chan *mutant)
	for range max(1, jobs) {
		wait.Go(func() {
			for m := range next {
				r.try(m)
				r.tell(m)
			}
		})
	}
	for _, m := range r.table {
		next <- m
	}
	close(next)
	wait.Wait()
	for _, m := range r.table {
		if m.verdict != noticed {
			survived++
		}
	}
	fmt.Printf("%d of %d mutants were not noticed\n", survived, len(r.table))
	return survived, nil
}

// tell prints what came of a mutant.
func (r *run) tell(m *mutant) {
	r.lock.Lock()
	defer r.lock.Unlock()
	fmt.Printf("%-9s %5.1fs  %s\t%s\t%s\n", m.verdict, m.took.Seconds(), m.rule, m.file, m.by)
}
