// Apigate refuses incompatible changes of the exported API that CHANGELOG.md
// does not name.
//
// It compares the packages of the working directory with those of earlier
// commits, by golang.org/x/exp/apidiff. A break is named by its
// package-qualified identifier in backquotes (`quota.Tree.Check`,
// `allot.Policy.Order`, `package sim`), in a section of CHANGELOG.md that the
// earlier commit does not have, or in the section Unreleased.
//
// Which earlier commits: every state that the main branch has had is one that
// somebody may use, back to the first one with a CHANGELOG.md: before it there
// was no promise, and with no such state the gate passes. The gate looks at
// HEAD (for what is not committed yet), at the states 1, 2, 4, 8, … commits back
// along the first parents, and at the first of all. On a branch the steps count
// from where it left main: what stood on the branch alone was never promised.
//
// Exit status: 0 if every break is named, 1 if not, 2 if it could not tell.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/allotsched/allot/.ci/tools/internal/flags"
	"github.com/allotsched/allot/.ci/tools/internal/history"
)

func main() {
	unnamed, err := gate(os.Stdout, newLoader(), flags.Repo())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "apigate:", err)
		os.Exit(2)
	case unnamed > 0:
		os.Exit(1)
	}
}

// gate compares the working directory of the repository with its bases, tells
// what it found, and returns how many breaks the change log does not name.
func gate(out io.Writer, loader *loader, repo string) (unnamed int, err error) {
	bases, err := findBases(repo)
	if err != nil {
		return 0, err
	}
	if len(bases) == 0 {
		fmt.Fprintln(out, "api: no earlier commit made a promise")
		return 0, nil
	}
	head, err := loader.load(repo)
	if err != nil {
		return 0, err
	}
	log, err := os.ReadFile(repo + "/" + history.ChangeLog)
	if err != nil {
		return 0, err
	}
	told := make(map[string]bool) // a break shows against several bases
	for _, b := range bases {
		breaks, err := b.compare(repo, loader, head)
		if err != nil {
			fmt.Fprintf(out, "api: %s cannot be compared with: %v\n", b, err)
			continue
		}
		text := newSections(string(log), b.changeLog)
		for _, broken := range breaks {
			if named(text, broken.names) || told[broken.message] {
				continue
			}
			told[broken.message] = true
			unnamed++
			fmt.Fprintf(out, "api: break against %s: %s: %s does not name `%s`\n", b, broken.message, history.ChangeLog, broken.names[0])
		}
	}
	if unnamed == 0 {
		fmt.Fprintf(out, "api: no unnamed break against %d earlier states, the oldest being %s\n", len(bases), bases[len(bases)-1])
	}
	return unnamed, nil
}
