package deep

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// rapidSeed is the flag of rapid, and the value, that every run has.
const rapidSeed = "rapid.seed=20261121"

// Main runs the tests of a package whose properties are written with rapid, and
// ends the program. It gives rapid a seed, so that a run on any machine draws the
// same, and the package's own flags ("rapid.checks=1000"); what the command line says,
// such as -rapid.seed=0 for another seed each time, holds before both.
func Main(m *testing.M, flags ...string) {
	flag.Parse()
	if err := set(flag.CommandLine, append(flags, rapidSeed)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// set gives the flags their values where the command line has not.
func set(flags *flag.FlagSet, values []string) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, value := range values {
		name, value, ok := strings.Cut(value, "=")
		switch {
		case !ok:
			return fmt.Errorf("deep: %q is no flag and its value", name)
		case given[name]:
		default:
			if err := flags.Set(name, value); err != nil {
				return fmt.Errorf("deep: flag %s: %w", name, err)
			}
		}
	}
	return nil
}
