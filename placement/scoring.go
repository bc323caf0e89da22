package placement

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A Target is one shape of the work that is expected, and how often it comes:
// together they are the mix for which FragmentationGradient and ShadowPrice keep
// room (P4).
type Target struct {
	// Request is what one task asks; Set, islands, selector and tolerations say
	// nothing here.
	Request Request
	// Weight is how often it comes, in any unit that the whole mix has in common.
	// It must be positive, and that of a mix at most 2^40 in all.
	Weight int64
}

// A TieOrder says which of several nodes of the same score is taken, before their
// position decides (P6). Its text form is "", "least-gpu-left" or
// "least-cpu-left".
type TieOrder uint8

const (
	// ByPosition takes the lowest position.
	ByPosition TieOrder = iota
	// LeastGPULeft takes the node with the fewest free milli-GPU after the task.
	LeastGPULeft
	// LeastCPULeft takes the node with the least of [Scoring.CPU] free after it.
	LeastCPULeft
)

var tieOrderNames = []string{"", "least-gpu-left", "least-cpu-left"}

// Valid reports whether o is one of the constants above.
func (o TieOrder) Valid() bool { return int(o) < len(tieOrderNames) }

// String returns the text form; ByPosition is the empty string.
func (o TieOrder) String() string { return nameOf("tie order", tieOrderNames, uint8(o)) }

// MarshalText returns the text form; a value that is not [TieOrder.Valid] is an
// error.
func (o TieOrder) MarshalText() ([]byte, error) {
	return marshalName("tie order", tieOrderNames, uint8(o))
}

// UnmarshalText reads the text form; any other text is an error and leaves o as
// it was.
func (o *TieOrder) UnmarshalText(text []byte) error {
	v, err := unmarshalName("tie order", tieOrderNames, text)
	if err == nil {
		*o = TieOrder(v)
	}
	return err
}

// A Scoring holds the parameters of the strategies that score nodes (P4, P5). The
// zero Scoring is the published one, without a mix.
type Scoring struct {
	// Mix is the target of FragmentationGradient and ShadowPrice; without one no
	// node is more fragmented than another, and nothing is worth anything.
	Mix []Target
	// Scale is how many milli-GPU of fragmentation are one unit of the sigmoid,
	// at most MaxScale; 0 is 1000, as published.
	Scale int64
	// Steps is the quantum: how many steps the sigmoid has from 0 to 1, at most
	// MaxSteps; 0 is 100, as published. Exact compares the differences themselves
	// instead.
	Steps int
	Exact bool
	// Ties comes before the position; ShadowPrice has an order of its own.
	Ties TieOrder
	// Seed is that of Random.
	Seed uint64
	// CPU is the resource that the scores weigh beside the GPUs, by its index in
	// Node.Capacity; −1 is none, and so is 0 where there are no resources.
	CPU int32
}

const (
	// MaxScale is the largest [Scoring.Scale]. The fragmentation of a node of
	// [MaxDevices] devices is far less.
	MaxScale = 1 << 20
	// MaxSteps is the largest [Scoring.Steps]: a step is then a ten-thousandth, and
	// the table of the sigmoid's steps still is small.
	MaxSteps = 10_000
	// maxWeight is the largest [Target.Weight], so that a weight times the milli of a
	// node's devices fits an int64.
	maxWeight = 1 << 40
)

// A ScoringError says what of a [Scoring] makes no sense.
type ScoringError struct{ Faults []Fault }

// Error names the first fault.
func (e *ScoringError) Error() string {
	return fmt.Sprintf("placement: scoring: %s: %v %q", e.Faults[0].Path, e.Faults[0].Kind, e.Faults[0].Value)
}

// Validate returns every fault of the scoring for nodes with that many resources,
// in the order of the fields. A request that nothing fits is a fault.
func (s *Scoring) Validate(resources int) []Fault {
	var faults []Fault
	fault := func(path string, kind FaultKind, value int64) {
		faults = append(faults, Fault{path, kind, strconv.FormatInt(value, 10)})
	}
	within := func(path string, value, most int64) {
		if value < 0 {
			fault(path, Negative, value)
		} else if value > most {
			fault(path, TooLarge, value)
		}
	}
	weight := int64(0)
	for i := range s.Mix {
		r, at := &s.Mix[i].Request, "mix["+strconv.Itoa(i)+"]."
		within(at+"request.devices", int64(r.Devices), math.MaxInt32)
		within(at+"request.milli", r.Milli, 1000)
		within(at+"request.memory", r.Memory, MaxMemory)
		if err := r.Amounts.Validate(resources); err != nil {
			faults = append(faults, Fault{at + "request.amounts", UnknownAmounts, err.Error()})
		}
		if w := s.Mix[i].Weight; w <= 0 {
			fault(at+"weight", NotPositive, w)
		} else if weight = addUpTo(weight, w); weight > maxWeight {
			fault(at+"weight", TooLarge, w)
		}
	}
	within("scale", s.Scale, MaxScale)
	within("steps", int64(s.Steps), MaxSteps)
	if !s.Ties.Valid() {
		faults = append(faults, Fault{"ties", UnknownTieOrder, s.Ties.String()})
	}
	if s.CPU < -1 || s.CPU > 0 && int(s.CPU) >= resources {
		fault("cpu", UnknownResource, int64(s.CPU))
	}
	return faults
}

// SetScoring sets the parameters of the strategies that score nodes; until then
// they are the zero Scoring. A scoring with faults is a [*ScoringError], and
// nothing changes. The mix is copied. What has been scored so far is forgotten:
// the next Find of each shape scores every node anew, in time linear in the nodes
// and, for each target, in the distinct descriptions of nodes.
func (x *Index) SetScoring(s Scoring) error {
	if x.now != nil {
		return x.now.SetScoring(s)
	}
	if faults := s.Validate(x.resources); faults != nil {
		return &ScoringError{faults}
	}
	s.Mix = slices.Clone(s.Mix)
	for i := range s.Mix {
		r := normal(s.Mix[i].Request)
		r.Amounts = slices.Clone(r.Amounts)
		s.Mix[i].Request = r
	}
	x.scoring, x.scorer = s, nil
	x.release.forgetAfter()
	for _, sh := range x.shapes {
		for st := range sh.finders {
			if Strategy(st).Scores() {
				sh.finders[st] = nil
			}
		}
	}
	return nil
}
