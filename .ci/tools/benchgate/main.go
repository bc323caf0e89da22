// Benchgate refuses a change that makes the project slower.
//
// It builds the tests of the working directory and of an earlier commit, runs a
// short set of benchmarks of both by turns, so that what slows the machine for a
// while slows both, and lets benchstat say which differences are significant. What
// has become significantly slower, or takes more memory, by more than the
// threshold, is measured again from scratch; the gate refuses it if it shows
// again. A slow-down that is meant is named in CHANGELOG.md, in a line that the
// earlier commit does not have, by the benchmark in backquotes or by what its name
// begins with: `BenchmarkFill`, `BenchmarkFill/nodes=1000/decide`.
//
// Which earlier commit: on a branch the one where it left main; on main, HEAD for
// what is not committed yet, else the one before it. What that commit does not
// have, or cannot build, has nothing to be compared with, and passes.
//
// Exit status: 0 if nothing is refused, 1 if something is, 2 if it could not tell.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/allotsched/allot/.ci/tools/internal/history"
)

func main() {
	g := gate{out: os.Stdout, rounds: 6, threshold: 15}
	flag.StringVar(&g.repo, "C", ".", "the repository's `folder`")
	flag.StringVar(&g.base, "base", "", "compare with this `commit`, if it is one")
	flag.IntVar(&g.rounds, "count", g.rounds, "how often each benchmark is run on each side; with fewer than 5 nothing is significant")
	flag.Float64Var(&g.threshold, "threshold", g.threshold, "how many `percent` are too much")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	refused, err := g.run(benchmarks)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchgate:", err)
		os.Exit(2)
	case refused > 0:
		os.Exit(1)
	}
}

// A gate is what the command line says.
type gate struct {
	out       io.Writer
	repo      string
	base      string // "" is to be found
	rounds    int
	threshold float64
}

// run compares the working directory of the repository with its base and returns
// how many benchmarks it refuses.
func (g *gate) run(set []benchmark) (refused int, err error) {
	if _, err := history.Git(g.repo, "rev-parse", "--verify", "--quiet", g.base+"^{commit}"); err != nil {
		if g.base, err = findBase(g.repo); err != nil {
			return 0, err
		}
	}
	if g.base == "" {
		fmt.Fprintln(g.out, "bench: there is no earlier commit")
		return 0, nil
	}
	folder, err := os.MkdirTemp("", "benchgate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	both, err := g.build(set, folder)
	if err != nil {
		return 0, err
	}
	if len(both.set) == 0 {
		fmt.Fprintln(g.out, "bench: there is nothing to compare")
		return 0, nil
	}
	fmt.Fprintf(g.out, "bench: against %.10s, %d runs of each by turns\n", g.base, g.rounds)
	excuses, err := g.excuses()
	if err != nil {
		return 0, err
	}
	return g.judge(both, excuses)
}

// judge measures, and once more what seems slower.
func (g *gate) judge(both *sides, excuses string) (refused int, err error) {
	var suspects []slowdown
	for try := 1; try <= 2; try++ {
		base, head, err := both.measure(g.rounds, suspects)
		if err != nil {
			return 0, err
		}
		table, slower, err := compare(base, head, g.threshold)
		if err != nil {
			return 0, err
		}
		fmt.Fprint(g.out, table)
		if try > 1 {
			slower = repeated(slower, suspects)
		}
		suspects = slower
		if len(suspects) == 0 {
			fmt.Fprintf(g.out, "bench: nothing is slower by more than %v%%, or it was so once only\n", g.threshold)
			return 0, nil
		}
		if try == 1 {
			fmt.Fprintf(g.out, "bench: %d seem slower and are measured again\n", len(suspects))
		}
	}
	for _, s := range suspects {
		if excused(excuses, s.name) {
			fmt.Fprintf(g.out, "bench: %s, which %s names\n", s, history.ChangeLog)
			continue
		}
		refused++
		fmt.Fprintf(g.out, "bench: %s, twice; %s does not name `Benchmark%s`\n", s, history.ChangeLog, s.name)
	}
	return refused, nil
}

// findBase is the commit to compare with; "" if there is none.
func findBase(repo string) (string, error) {
	commits, err := history.FirstParents(repo)
	if err != nil {
		return "", err
	}
	if trunk := history.Trunk(repo); trunk != "" && trunk != commits[0] {
		return trunk, nil
	}
	changed, err := history.Git(repo, "status", "--porcelain", "--untracked-files=no")
	switch {
	case err != nil:
		return "", err
	case len(changed) > 0:
		return commits[0], nil
	case len(commits) > 1:
		return commits[1], nil
	}
	return "", nil
}

// excuses are the lines of the change log that the base does not have.
func (g *gate) excuses() (string, error) {
	now, err := os.ReadFile(filepath.Join(g.repo, history.ChangeLog))
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	before, err := history.Git(g.repo, "show", g.base+":"+history.ChangeLog)
	if err != nil {
		before = nil // it had none
	}
	known := make(map[string]bool)
	for line := range strings.Lines(string(before)) {
		known[line] = true
	}
	var added strings.Builder
	for line := range strings.Lines(string(now)) {
		if !known[line] {
			added.WriteString(line)
		}
	}
	return added.String(), nil
}

// excused tells whether a text names the benchmark, or what its name begins with.
func excused(text, name string) bool {
	name = "Benchmark" + name
	for {
		if strings.Contains(text, "`"+name+"`") {
			return true
		}
		at := strings.LastIndexByte(name, '/')
		if at < 0 {
			return false
		}
		name = name[:at]
	}
}
