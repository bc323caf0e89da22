package answer

import (
	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/internal/prose"
)

// Check answers what is odd about a state that is sound.
func Check(s *allot.State, warnings []allot.Fault) output.Answer { return &checkAnswer{s, warnings} }

type checkAnswer struct {
	state    *allot.State
	warnings []allot.Fault
}

// CheckData is the answer for tools.
type CheckData struct {
	Nodes     int           `json:"nodes"`
	GPUs      int           `json:"gpus"`
	Queues    int           `json:"queues"`
	Workloads int           `json:"workloads"`
	Warnings  []allot.Fault `json:"warnings"`
}

func (a *checkAnswer) Data() any {
	d := CheckData{Nodes: len(a.state.Nodes), Queues: len(a.state.Queues), Workloads: len(a.state.Workloads), Warnings: a.warnings}
	for i := range a.state.Nodes {
		d.GPUs += len(a.state.Nodes[i].Devices)
	}
	if d.Warnings == nil {
		d.Warnings = []allot.Fault{}
	}
	return d
}

func (a *checkAnswer) Write(p *output.Page) {
	d := a.Data().(CheckData)
	odd := "nothing is odd"
	if n := len(a.warnings); n > 0 {
		odd = prose.Count(n, "thing") + map[bool]string{true: " is odd", false: " are odd"}[n == 1]
	}
	p.Line(output.Bold, "sound: "+prose.Count(d.Nodes, "node")+" with "+prose.Count(d.GPUs, "GPU")+", "+prose.Count(d.Queues, "queue")+", "+
		prose.Count(d.Workloads, "workload")+"; "+odd)
	shown := told(p, a.warnings, mostTold)
	for _, w := range shown {
		p.Prose("  ", "      ", output.Yellow, w.String()+" ("+w.Code.String()+")")
	}
	tellLeft(p, "", len(a.warnings)-len(shown), "")
}

// A FileFault is a fault of a file, and where it is; line 0 is not known.
type FileFault struct {
	File  string      `json:"file"`
	Line  int         `json:"line,omitzero"`
	Fault allot.Fault `json:"fault"`
}

// Faulty answers what is wrong with a state, for programs.
func Faulty(faults []FileFault) output.Answer { return faultyAnswer(faults) }

type faultyAnswer []FileFault

func (a faultyAnswer) Data() any {
	return struct {
		Faults []FileFault `json:"faults"`
	}{a}
}

func (a faultyAnswer) Write(p *output.Page) {
	for _, f := range a {
		p.Line(output.Red, f.Fault.String())
	}
}

// Verified answers that a plan is lawful, or which rules it breaks.
func Verified(problems []string) output.Answer { return verifyAnswer(problems) }

type verifyAnswer []string

func (a verifyAnswer) Data() any {
	return struct {
		Lawful   bool     `json:"lawful"`
		Problems []string `json:"problems,omitempty"`
	}{len(a) == 0, a}
}

func (a verifyAnswer) Write(p *output.Page) {
	if len(a) == 0 {
		p.Line(output.Green, "the plan is lawful")
		return
	}
	p.Line(output.Red, "the plan is not lawful: "+prose.Count(len(a), "problem"))
	shown := told(p, a, mostTold)
	for _, problem := range shown {
		p.Prose("  ", "      ", output.Plain, problem)
	}
	tellLeft(p, "", len(a)-len(shown), "")
}
