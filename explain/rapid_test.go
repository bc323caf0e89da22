package explain

import (
	"flag"
	"os"
	"testing"
)

// TestMain gives rapid a seed, so that a run on any machine draws the same
// states; -rapid.seed draws others.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.seed" })
	if !given {
		if err := flag.Set("rapid.seed", "20261121"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
