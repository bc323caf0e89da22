package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/.ci/tools/internal/history"
)

// A benchmark is one of the set that the gate runs.
type benchmark struct {
	// folder of its package, from the root of the repository.
	folder string
	// name without Benchmark; with all below it.
	name string
	// times it is repeated within a run: some tenths of a second.
	times int
}

// sides are the test binaries of the earlier commit and of the working directory.
type sides struct {
	set        []benchmark
	base, head side
}

type side struct {
	root     string
	binaries map[string]string // by folder
}

// build builds both sides in the folder. What the base does not have or cannot
// build is left out.
func (g *gate) build(set []benchmark, folder string) (*sides, error) {
	root := filepath.Join(folder, "base")
	if err := history.Export(g.repo, g.base, root, func(string) bool { return true }); err != nil {
		return nil, err
	}
	both := &sides{base: side{root, make(map[string]string)}, head: side{g.repo, make(map[string]string)}}
	tried := make(map[string]bool)
	for _, b := range set {
		if !tried[b.folder] {
			tried[b.folder] = true
			if err := both.head.build(b.folder, filepath.Join(folder, "head"+strconv.Itoa(len(tried)))); err != nil {
				return nil, err
			}
			if err := both.base.build(b.folder, filepath.Join(folder, "base"+strconv.Itoa(len(tried)))); err != nil {
				fmt.Fprintf(g.out, "bench: ./%s is not compared: at %.10s %v\n", b.folder, g.base, err)
			}
		}
		if both.base.binaries[b.folder] != "" {
			both.set = append(both.set, b)
		}
	}
	return both, nil
}

func (s side) build(folder, binary string) error {
	command := exec.Command("go", "test", "-c", "-o", binary, "./"+folder)
	command.Dir = s.root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	s.binaries[folder] = binary
	return nil
}

// measure runs the benchmarks of both sides by turns and returns the results in
// Go's format: all of the set, or only the suspects.
func (both *sides) measure(rounds int, suspects []slowdown) (base, head []byte, err error) {
	for round := range rounds {
		for _, b := range both.set {
			if suspects != nil && !slices.ContainsFunc(suspects, b.covers) {
				continue
			}
			for turn := range 2 {
				of, into := both.base, &base
				if (turn+round)%2 == 1 { // neither side is always the first
					of, into = both.head, &head
				}
				out, err := of.run(b)
				if err != nil {
					return nil, nil, err
				}
				if into == &head && !bytes.Contains(out, []byte("\nBenchmark")) {
					return nil, nil, fmt.Errorf("there is no Benchmark%s in ./%s any more", b.name, b.folder)
				}
				*into = append(*into, out...)
			}
		}
	}
	return base, head, nil
}

// covers tells whether the benchmark runs the one that has become slower.
func (b benchmark) covers(s slowdown) bool {
	return s.name == b.name || strings.HasPrefix(s.name, b.name+"/")
}

// run is one run of the benchmark. A side that does not have it prints none.
func (s side) run(b benchmark) ([]byte, error) {
	var pattern []string
	for _, part := range strings.Split("Benchmark"+b.name, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	command := exec.Command(s.binaries[b.folder], "-test.run=^$", "-test.bench="+strings.Join(pattern, "/"),
		"-test.benchmem", "-test.benchtime="+strconv.Itoa(b.times)+"x", "-test.timeout=10m")
	command.Dir = filepath.Join(s.root, b.folder)
	out, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("running Benchmark%s: %w\n%s", b.name, err, out)
	}
	return bytes.TrimSuffix(out, []byte("PASS\n")), nil
}
