package allot_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

func TestDbg(t *testing.T) {
	b, err := os.ReadFile(os.Getenv("DBG"))
	if err != nil {
		t.Skip()
	}
	s, err := scenario.State(string(b))
	if err != nil {
		t.Fatal(err)
	}
	p, err := allot.Solve(s)
	fmt.Println(p, err)
	sn, err := allot.NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	d, err := sn.Decide()
	fmt.Println(d.Incremental(), err)
	for _, a := range d.Actions() {
		fmt.Println(a.Kind, a.Workload, a.Tasks)
	}
}
