package trace_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/allotsched/allot/sim/trace"
)

func ExampleRead() {
	in, err := trace.Read(strings.NewReader(`{"trace":{"version":1,"name":"two teams"}}
{"node":{"id":"n0","devices":[{},{},{},{}]}}
{"queue":{"id":"vision","resources":[{"resource":"gpu","quota":4000}]}}
{"job":{"submit":0,"duration":60000000000,"workload":{"id":"a","queue":"vision","podSets":[{"count":2,"request":{"gpu":{"count":1}}}]}}}
`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(in.Cluster.Nodes), "node,", len(in.Jobs), "job of", in.Jobs[0].Duration)
	// Output: 1 node, 1 job of 1m0s
}
