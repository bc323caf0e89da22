// Coverage refuses a package whose own tests leave too much of it unreached.
//
// It runs `go test -short -cover` over the packages that must stand on their own
// tests, that is, over all of the module but the root, its engine and the parts of that, which the
// scenarios and laws of states test together, sim, and programs. Each must reach 85%
// of its statements. What was below when this gate came stands in a list with its
// whole percents: to fall below them is refused, and so is an entry that is no longer
// true, so that the list can only shrink. One percent is left for what tests draw.
//
// Exit status: 0 if every package holds its floor, 1 if not, 2 if the tests fail
// or it could not tell.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/.ci/tools/internal/flags"
)

// floor is the least that a package's own tests reach, in whole percents.
const floor = 85

// listed are the packages that are below the floor still, with what they reach.
var listed = map[string]int{}

func main() {
	problems, err := gate(os.Stdout, flags.Repo(), listed)
	for _, problem := range problems {
		fmt.Println("coverage:", problem)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(2)
	case len(problems) > 0:
		os.Exit(1)
	}
}

// gate runs the tests of the repository's packages, shows what they print and
// judges it.
func gate(out io.Writer, repo string, listed map[string]int) (problems []string, err error) {
	module, err := run(repo, "list", "-m")
	if err != nil {
		return nil, err
	}
	text, err := run(repo, "list", "./...")
	if err != nil {
		return nil, err
	}
	root := strings.TrimSpace(module)
	var packages []string
	for _, name := range strings.Fields(text) {
		if standsAlone(strings.TrimPrefix(name, root)) {
			packages = append(packages, name)
		}
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("%s has no package to measure", root)
	}
	text, err = run(repo, append([]string{"test", "-short", "-cover"}, packages...)...)
	fmt.Fprint(out, text)
	if err != nil {
		return nil, err
	}
	return judge(root, packages, text, listed), nil
}

// run returns what the go command prints.
func run(repo string, args ...string) (string, error) {
	var errors bytes.Buffer
	command := exec.Command("go", args...)
	command.Dir, command.Stderr = repo, &errors
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", args[0], err, errors.String())
	}
	return string(out), err
}

// standsAlone says of a path below the module, such as "/quota", whether the
// package must be reached by its own tests. The engine and its parts decide on what the root
// compiles, and their rules are scenarios of states.
func standsAlone(below string) bool {
	switch below {
	case "", "/internal/cluster", "/internal/cluster/sample", "/internal/settling", "/internal/division", "/internal/difference", "/internal/engine":
		return false
	}
	first, _, _ := strings.Cut(below[1:], "/")
	return first != "sim" && first != "examples"
}

var (
	covered = regexp.MustCompile(`(?m)^(?:ok  )?\t(\S+)\t.*coverage: ([0-9]+)\.[0-9]% of statements`)
	empty   = regexp.MustCompile(`(?m)^ok  \t(\S+)\t.*coverage: \[no statements\]`)
)

// judge says which packages miss their floor by what the tests printed, and
// which entries of the list are not true. A package of tests only has no
// statements and no floor.
func judge(root string, packages []string, printed string, listed map[string]int) (problems []string) {
	reached := make(map[string]int)
	for _, line := range covered.FindAllStringSubmatch(printed, -1) {
		reached[line[1]], _ = strconv.Atoi(line[2]) // digits, by the pattern
	}
	for _, line := range empty.FindAllStringSubmatch(printed, -1) {
		reached[line[1]] = 100
	}
	for _, name := range packages {
		below := strings.TrimPrefix(name, root+"/")
		percent := reached[name] // 0 without tests
		say := fmt.Sprintf("the own tests of %s reach %d%%", below, percent)
		switch entry, is := listed[below]; {
		case percent >= floor && is:
			problems = append(problems, say+": remove its entry (listed, .ci/tools/coverage)")
		case percent >= floor:
		case !is:
			problems = append(problems, fmt.Sprintf("%s, and %d%% is the floor: test what they do not reach", say, floor))
		case percent < entry:
			problems = append(problems, fmt.Sprintf("%s, less than its entry %d%%: the list may only shrink", say, entry))
		case percent > entry+1:
			problems = append(problems, fmt.Sprintf("%s: raise its entry to %q: %d (listed, .ci/tools/coverage)", say, below, percent))
		}
	}
	for below := range listed { // sorted below
		if !slices.Contains(packages, path.Join(root, below)) {
			problems = append(problems, fmt.Sprintf("there is no %s: remove its entry (listed, .ci/tools/coverage)", below))
		}
	}
	slices.Sort(problems)
	return problems
}
