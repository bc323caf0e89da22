package placement

import (
	"flag"
	"os"
	"testing"
)

// TestMain raises rapid's defaults; -rapid.checks and -rapid.steps still hold.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "500", "rapid.steps": "80"} { // each its own
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
