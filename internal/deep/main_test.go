package deep

import (
	"flag"
	"testing"
)

// Rapid has the same seed and what a package asks for on every machine, unless the
// command line says otherwise; a package without rapid is told so.
func TestSet(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		seed   uint64
		checks int
	}{
		{"none given", nil, 20261121, 1000},
		{"another seed", []string{"-rapid.seed=7"}, 7, 1000},
		{"rapid's own zero", []string{"-rapid.seed=0"}, 0, 1000},
		{"other checks", []string{"-rapid.checks=20"}, 20261121, 20},
	} {
		flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
		seed, checks := flags.Uint64("rapid.seed", 0, ""), flags.Int("rapid.checks", 100, "")
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		if err := set(flags, []string{"rapid.checks=1000", rapidSeed}); err != nil || *seed != c.seed || *checks != c.checks {
			t.Errorf("%s: seed %d, %d checks, error %v; want %d and %d", c.name, *seed, *checks, err, c.seed, c.checks)
		}
	}
	empty := flag.NewFlagSet("no rapid", flag.ContinueOnError)
	if set(empty, []string{rapidSeed}) == nil || set(empty, []string{"rapid.checks"}) == nil {
		t.Error("a flag that is not there, or has no value, was set")
	}
}
