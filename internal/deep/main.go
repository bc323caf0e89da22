package deep

import (
	"flag"
	"os"
	"testing"
)

// rapidSeed is the name of rapid's flag.
const rapidSeed = "rapid.seed"

// Main runs the tests of a package whose properties are written with rapid, and
// ends the program. It gives rapid a seed, so that a run on any machine draws the
// same; -rapid.seed draws otherwise.
func Main(m *testing.M) {
	flag.Parse()
	if err := seed(flag.CommandLine); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// seed sets rapid's seed where the command line has not.
func seed(flags *flag.FlagSet) error {
	given := false
	flags.Visit(func(f *flag.Flag) { given = given || f.Name == rapidSeed })
	if given {
		return nil
	}
	return flags.Set(rapidSeed, "20261121")
}
