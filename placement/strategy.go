package placement

// Strategy says which of the nodes and devices that can take a task gets it
// (P3). The exact order of choice of each one is in the package comment.
// The zero value is Default. Its text form is the constant's name in lower case
// with hyphens, such as "bin-pack"; Default's is "".
type Strategy uint8

const (
	// Default leaves the choice to whoever is asked next: a workload's to its
	// policy, a policy's to BinPack. [Index.Find] takes it for BinPack.
	Default Strategy = iota
	// BinPack fills devices, then nodes, so that most nodes stay empty.
	BinPack
	// Spread takes the least loaded node and on it the least loaded devices.
	Spread
	// First takes the lowest position and on it the lowest device indices.
	First
	// FragmentationGradient takes the node and device on which what is free to
	// [Scoring.Mix] shrinks least (P4).
	FragmentationGradient
	// DotProduct takes the node whose free amounts are the least in line with
	// what is asked (P5).
	DotProduct
	// GPUPacking takes shared devices, then free ones of used nodes, then the
	// smallest idle node (P5).
	GPUPacking
	// GPUClustering takes nodes on which tasks of as many devices run (P5).
	GPUClustering
	// BestFit takes the node on which the least is left (P5).
	BestFit
	// Random takes any node and any device, as [Scoring.Seed] and the state of all
	// nodes say (P5).
	Random
	// ShadowPrice takes the place whose loss the prices of what [Scoring.Mix] asks
	// make least; it is ours (P4).
	ShadowPrice
)

const lastStrategy = ShadowPrice

var strategyNames = []string{
	"", "bin-pack", "spread", "first",
	"fragmentation-gradient", "dot-product", "gpu-packing", "gpu-clustering", "best-fit", "random",
	"shadow-price",
}

// Scores reports whether the strategy is one that scores nodes (P4, P5): those
// obey [Index.SetScoring].
func (s Strategy) Scores() bool { return s >= FragmentationGradient && s <= lastStrategy }

// Valid reports whether s is one of the constants above.
func (s Strategy) Valid() bool { return int(s) < len(strategyNames) }

// String returns the text form; Default is the empty string.
// The others are "bin-pack", "spread", "first", "fragmentation-gradient",
// "dot-product", "gpu-packing", "gpu-clustering", "best-fit", "random" and
// "shadow-price".
func (s Strategy) String() string { return nameOf("strategy", strategyNames, uint8(s)) }

// MarshalText returns the text form; a value that is not [Strategy.Valid] is
// an error.
func (s Strategy) MarshalText() ([]byte, error) {
	return marshalName("strategy", strategyNames, uint8(s))
}

// UnmarshalText reads the text form; any other text is an error and leaves s
// as it was.
func (s *Strategy) UnmarshalText(text []byte) error {
	v, err := unmarshalName("strategy", strategyNames, text)
	if err == nil {
		*s = Strategy(v)
	}
	return err
}
