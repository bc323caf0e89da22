package placement

// A Target is one shape of the work that is expected, and how often it comes:
// together they are the mix for which FragmentationGradient keeps room (P4).
type Target struct {
	// Request is what one task asks; Set, selector and tolerations say nothing
	// here.
	Request Request
	// Weight is how often it comes, in any unit that the whole mix has in common.
	// It must be positive.
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

// A Scoring holds the parameters of the strategies that score nodes (P4, P5). The
// zero Scoring is the published one, without a mix.
type Scoring struct {
	// Mix is the target of FragmentationGradient; without one no node is more
	// fragmented than another.
	Mix []Target
	// Scale is how many milli-GPU of fragmentation are one unit of the sigmoid,
	// positive; 0 is 1000, as published.
	Scale int64
	// Steps is the quantum: how many steps the sigmoid has from 0 to 1; 0 is 100,
	// as published. Exact compares the differences themselves instead.
	Steps int
	Exact bool
	// Ties comes before the position.
	Ties TieOrder
	// Seed is that of Random.
	Seed uint64
	// CPU is the resource that the scores weigh beside the GPUs, by its index in
	// Node.Capacity; −1 is none.
	CPU int32
}
