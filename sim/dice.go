package sim

import (
	"math/bits"
	"math/rand/v2"
)

// dice draw what happens by chance, by the seed alone.
type dice struct{ source *rand.PCG }

// diceStream is the second half of the generator's seed: the engine's draws are
// others than those of whoever made the input by the same seed.
const diceStream = 0x73696d

func newDice(seed uint64) dice { return dice{rand.NewPCG(seed, diceStream)} }

// chance is true n times of each of of. It is the same on machines of 32 bits,
// which [rand.Rand] does not say of itself.
func (d dice) chance(n, of int64) bool {
	if n <= 0 {
		return false
	}
	draw, _ := bits.Mul64(d.source.Uint64(), uint64(of))
	return int64(draw) < n
}
