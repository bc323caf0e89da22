// Command allot answers people's questions about a GPU cluster: what starts, why a job
// waits, what a change would do, who uses what. It reads states as YAML or JSON and
// keeps nothing. README.md shows every command; allot help tells all.
package main

import (
	"os"

	"github.com/allotsched/allot/examples/allot/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
