package placement

import (
	"math"
	"math/big"
	"testing"
)

const bigPrecision = 200

// lnOf is ln(a/b), by the series of artanh, which converges as a/b does to 1: the
// fraction is halved until it is near.
func lnOf(a, b int64) *big.Float {
	float := func(n int64) *big.Float { return new(big.Float).SetPrec(bigPrecision).SetInt64(n) }
	near := func(x *big.Float) *big.Float {
		y := new(big.Float).Quo(new(big.Float).Sub(x, float(1)), new(big.Float).Add(x, float(1)))
		square, power, sum := new(big.Float).Mul(y, y), new(big.Float).Set(y), new(big.Float).Set(y)
		for n := int64(3); n < 200; n += 2 {
			power = new(big.Float).Mul(power, square)
			sum = new(big.Float).Add(sum, new(big.Float).Quo(power, float(n)))
		}
		return sum.Mul(sum, float(2))
	}
	ln2, x, halvings := near(float(2)), new(big.Float).Quo(float(a), float(b)), int64(0)
	for x.Cmp(float(2)) > 0 {
		x, halvings = new(big.Float).Quo(x, float(2)), halvings+1
	}
	for x.Cmp(float(1)) < 0 {
		x, halvings = new(big.Float).Mul(x, float(2)), halvings-1
	}
	return new(big.Float).Add(near(x), new(big.Float).Mul(ln2, float(halvings)))
}

// P4: the steps are scale·ln(k/(steps−k)) with the logarithm rounded to 2^-40,
// times the weight, rounded up to the next whole difference.
func TestSigmoidSteps(t *testing.T) {
	for _, steps := range []int{2, 3, 7, 100, 1000, MaxSteps} {
		for _, c := range []struct{ scale, weight int64 }{{1000, 1}, {1000, 7766}, {1, 1}, {MaxScale, maxWeight}} {
			got := sigmoidSteps(c.scale, c.weight, steps)
			if len(got) != steps-1 {
				t.Fatalf("%d steps have %d edges", steps, len(got))
			}
			every := max(1, steps/100)
			for k := 1; k < steps; k += every {
				scaled := new(big.Float).Mul(lnOf(int64(k), int64(steps-k)), big.NewFloat(1<<logBits))
				// Rounded to the nearest whole number, away from zero at one half.
				half := big.NewFloat(0.5)
				if scaled.Sign() < 0 {
					half = big.NewFloat(-0.5)
				}
				rounded, _ := new(big.Float).SetPrec(bigPrecision).Add(scaled, half).Int(nil)
				exact := new(big.Int).Mul(rounded, big.NewInt(c.scale))
				exact.Mul(exact, big.NewInt(c.weight))
				one := big.NewInt(1 << logBits)
				want := new(big.Int).Neg(new(big.Int).Div(new(big.Int).Neg(exact), one)) // rounded up
				if !want.IsInt64() {                                                     // no difference is as large
					want.SetInt64(math.MaxInt64)
					if exact.Sign() < 0 {
						want.Neg(want)
					}
				}
				if want.Int64() != got[k-1] {
					t.Fatalf("scale %d weight %d: step %d of %d is at %d, want %v", c.scale, c.weight, k, steps, got[k-1], want)
				}
			}
		}
	}
}

// The published sigmoid of some whole differences, times 100, cut off: computed
// with floats, far from a step.
func TestSigmoidPublished(t *testing.T) {
	steps := sigmoidSteps(1000, 1, 100)
	for _, c := range []struct{ difference, score int64 }{
		{0, 50}, {-1, 49}, {1, 50}, {40, 50}, {41, 51}, {1000, 73}, {-1000, 26}, {8000, 99}, {-8000, 0},
		{4595, 98}, {4596, 99}, {-4595, 1}, {-4596, 0},
	} {
		if got := reached(steps, c.difference); got != c.score {
			t.Errorf("P4: the score of a difference of %d is %d, want %d", c.difference, got, c.score)
		}
	}
}
