package deep

import (
	"flag"
	"testing"
)

// Rapid has the same seed on every machine, unless the command line gives one; a
// package without rapid is told so.
func TestSeed(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want uint64
	}{
		{"none given", nil, 20261121},
		{"another given", []string{"-rapid.seed=7"}, 7},
		{"rapid's own zero given", []string{"-rapid.seed=0"}, 0},
	} {
		flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
		got := flags.Uint64(rapidSeed, 0, "")
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		if err := seed(flags); err != nil || *got != c.want {
			t.Errorf("%s: seed %d, error %v; want %d", c.name, *got, err, c.want)
		}
	}
	if seed(flag.NewFlagSet("no rapid", flag.ContinueOnError)) == nil {
		t.Error("a package without rapid has no seed to set")
	}
}
