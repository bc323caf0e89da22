// Installable proves that the program for people can be installed by its name alone,
// `go install <module>/examples/allot@latest`, of the tree as it stands.
//
// It packs the library and the program's module, as they would be published at the version
// of the library that the program requires, into a folder that serves as a module proxy,
// and installs the program from there in an empty folder: with a module cache of its own, so
// that nothing of this tree is taken for a published version, and with what others have
// published out of this machine's module cache. Then it runs the program. So it finds what
// only those see who have no clone: a go.mod that replaces something, which go install
// refuses, a requirement of a version that is not there, an embedded file that is not packed.
//
// Where this machine's module cache does not have what the program requires it says so and
// proves nothing: `go -C examples/allot mod download` fetches it.
//
// Exit status: 0 if the program can be installed and runs, 1 if not, 2 if it could not tell.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/allotsched/allot/.ci/tools/internal/flags"
)

// folder is the program's, below the repository's.
const folder = "examples/allot"

func main() {
	err := proveIn(flags.Repo())
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "installable:", err)
	if refused := new(refusal); errors.As(err, &refused) {
		os.Exit(1)
	}
	os.Exit(2)
}

// proveIn proves it of a repository, in a folder of its own.
func proveIn(repo string) error {
	work, err := os.MkdirTemp("", "installable-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	return prove(os.Stdout, repo, work)
}

// A refusal says why the program cannot be installed.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }
