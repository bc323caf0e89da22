package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
	"github.com/allotsched/allot/verify"
)

func main() {
	text, _ := io.ReadAll(os.Stdin)
	s, err := scenario.State(string(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	n, _ := strconv.Atoi(os.Args[1])
	for k := 0; k < n; k++ {
		p, err := allot.Solve(s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("==== step", k, "now", s.Now)
		fmt.Print(scenario.Format(s))
		fmt.Println("----")
		for _, a := range p.Actions {
			fmt.Println(a.Kind, a.Workload, a.Tasks, a.Reason, "behind", a.Behind)
		}
		for _, w := range p.Pending {
			fmt.Println("pending", w.Workload, w.Reasons)
		}
		for i := range p.Reservations {
			r := &p.Reservations[i]
			fmt.Printf("RES %s %v at %v first %v ent %v rule %v waits %v tasks %v cause %+v\n", r.Workload, r.Change, r.Promise.At, r.Promise.First, r.Promise.Entitled, r.Promise.Rule, r.Promise.WaitsFor, r.Promise.Tasks, r.Cause)
		}
		if err := verify.Plan(s, p); err != nil {
			fmt.Println("VERIFY", err)
		}
		fmt.Println("NEXTAT", p.NextAt)
		f := allot.Apply
		if len(os.Args) > 2 && os.Args[2] == "begin" {
			f = allot.Begin
		}
		t, err := f(s, p)
		if err != nil {
			fmt.Println(err)
			return
		}
		if len(os.Args) > 2 && os.Args[2] == "time" {
			if p.NextAt.IsZero() {
				return
			}
			t.Now = p.NextAt
		} else if len(p.Actions) == 0 && k > 0 {
			return
		}
		s = t
	}
}
