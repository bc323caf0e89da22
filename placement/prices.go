package placement

import (
	"cmp"
	"math/big"
	"slices"
)

// The prices of sizes are the shadow prices of the linear program 'the fewest
// devices that hold the mix' (Gilmore and Gomory, 1961): with d(s) parts of size s
// asked, in milli, they make Σ d(s)·price(s) as large as can be while no parts that
// fit on one device cost more than 1 together. A size that needs a device for
// itself costs 1, one of which any number finds room beside others nothing.
const (
	// maxSizes is how many sizes have a price of their own: those that ask the most in
	// all. The others are worth nothing. The work of a
	// pivot grows with the square of their number.
	maxSizes = 32
	// maxPivots ends the search for prices, which takes about three pivots to a size:
	// it is more than twice what maxSizes need.
	maxPivots = 256
	// maxPriceUnit is the finest unit of prices. The prices of all devices of a node,
	// times their milli, still fit an int64.
	maxPriceUnit = 1 << 40
)

// A worth is what a device is worth to the mix by what is free of it, in milli: the
// most that parts which fit there cost, in units.
type worth struct {
	unit  int64
	value [1001]int64
}

// DeviceWorth returns what a device is worth to a mix (see [ShadowPrice]) by what is
// free of it, 0 to 1000 milli, in parts of unit: what is worth the unit is as good as
// a whole device. Of sizes[i], 1 to 1000 milli and ascending, counts[i] parts are
// asked, up to 2^46; with other lists there is no answer. Parts of a device are never worth more
// than the unit together: n devices hold parts of at most n units in all, which
// bounds from above what any placement can hold of a mix.
func DeviceWorth(sizes, counts []int64) (worth []int64, unit int64, ok bool) {
	if len(sizes) != len(counts) {
		return nil, 0, false
	}
	for i, size := range sizes {
		if size < 1 || size > 1000 || i > 0 && size <= sizes[i-1] || counts[i] < 1 || counts[i] > maxWeight*MaxDevices {
			return nil, 0, false
		}
	}
	w := priceSizes(sizes, counts, maxPivots)
	return w.value[:], w.unit, true
}

// priceSizes returns the worth of devices where so many parts of those sizes, 1 to
// 1000 milli and ascending, are asked. What it returns is lawful also where the
// bounds end its search: a whole device is worth the unit at most, and so are parts
// that fit on it, together.
func priceSizes(sizes, counts []int64, pivots int) *worth {
	sizes, counts = mostAsked(sizes, counts)
	p := newPricing(sizes, counts)
	// Of many small sizes not even the first prices have a unit. Rounded ones would
	// break ties that should stand: a part costs its size then.
	best := &worth{unit: 1000}
	best.fill(sizes, sizes)
	for range pivots {
		prices, unit, ok := p.prices()
		if !ok {
			break
		}
		w := &worth{unit: unit}
		w.fill(sizes, prices)
		best = w
		if !p.improve(sizes, w, prices) {
			break
		}
	}
	// Short of the optimum some device costs more than 1.
	best.unit = max(best.unit, best.value[1000])
	return best
}

// mostAsked keeps the sizes that ask the most, in their order.
func mostAsked(sizes, counts []int64) (keptSizes, keptCounts []int64) {
	if len(sizes) <= maxSizes {
		return sizes, counts
	}
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b]*counts[b], sizes[a]*counts[a]) })
	order = order[:maxSizes]
	slices.Sort(order)
	for _, i := range order {
		keptSizes, keptCounts = append(keptSizes, sizes[i]), append(keptCounts, counts[i])
	}
	return keptSizes, keptCounts
}

// fill computes the worth of every amount: an unbounded knapsack.
func (w *worth) fill(sizes, prices []int64) {
	for free := int64(1); free <= 1000; free++ {
		w.value[free] = w.value[free-1]
		for i, size := range sizes {
			if size > free {
				break
			}
			w.value[free] = max(w.value[free], w.value[free-size]+prices[i])
		}
	}
}

// fullest returns how many of each size the parts are that are worth the most on a
// device; the smallest first, where there is a choice.
func (w *worth) fullest(sizes, prices []int64) []int64 {
	pattern := make([]int64, len(sizes))
	for free := int64(1000); free > 0; {
		if w.value[free] == w.value[free-1] {
			free--
			continue
		}
		for i, size := range sizes {
			if size <= free && w.value[free-size]+prices[i] == w.value[free] {
				pattern[i]++
				free -= size
				break
			}
		}
	}
	return pattern
}

// A pricing is the revised simplex method on the program's dual: a column is a
// pattern of parts that a device holds and costs 1, or gives up a part that is held
// beyond those asked. It begins with devices that hold one size each. Fractions have
// the basis's determinant below, so that they are whole numbers which need no
// reduction and stay as small as it does (Edmonds, 1967).
type pricing struct {
	divisor *big.Int     // the determinant, above 0
	inverse [][]*big.Int // of the basis, by row
	used    []*big.Int   // by row: how often its column is used
	dual    []*big.Int   // by size: its price so far
}

func newPricing(sizes, counts []int64) *pricing {
	p := &pricing{divisor: big.NewInt(1)}
	for _, size := range sizes {
		p.divisor.Mul(p.divisor, big.NewInt(1000/size))
	}
	for i, size := range sizes {
		row := make([]*big.Int, len(sizes))
		for k := range row {
			row[k] = new(big.Int)
		}
		row[i].Quo(p.divisor, big.NewInt(1000/size))
		p.inverse = append(p.inverse, row)
		p.used = append(p.used, new(big.Int).Mul(row[i], big.NewInt(counts[i])))
		p.dual = append(p.dual, new(big.Int).Set(row[i]))
	}
	return p
}

// prices returns the prices so far in whole units, at least 0; ok is false where
// there is no unit for them.
func (p *pricing) prices() (prices []int64, unit int64, ok bool) {
	common := new(big.Int).Set(p.divisor)
	for _, d := range p.dual {
		common.GCD(nil, nil, common, new(big.Int).Abs(d))
	}
	finest := big.NewInt(maxPriceUnit)
	whole := new(big.Int).Quo(p.divisor, common)
	if whole.Cmp(finest) > 0 {
		return nil, 0, false
	}
	unit = whole.Int64()
	for _, d := range p.dual {
		if d.Sign() < 0 {
			prices = append(prices, 0)
			continue
		}
		if whole.Quo(d, common).Cmp(finest) > 0 {
			return nil, 0, false
		}
		prices = append(prices, whole.Int64())
	}
	return prices, unit, true
}

// improve brings a column into the basis that holds the mix on fewer devices, and
// reports whether there was one.
func (p *pricing) improve(sizes []int64, w *worth, prices []int64) bool {
	column := make([]*big.Int, len(sizes))
	gain := new(big.Int)
	if i := slices.IndexFunc(p.dual, func(d *big.Int) bool { return d.Sign() < 0 }); i >= 0 {
		for row := range column {
			column[row] = new(big.Int).Neg(p.inverse[row][i])
		}
		gain.Set(p.dual[i])
	} else if w.value[1000] > w.unit {
		pattern := w.fullest(sizes, prices)
		for row := range column {
			column[row] = sumOf(pattern, p.inverse[row])
		}
		gain.Sub(p.divisor, sumOf(pattern, p.dual))
	} else {
		return false
	}
	p.pivot(p.leaving(column), column, gain)
	return true
}

// sumOf is the sum of the products.
func sumOf(pattern []int64, numbers []*big.Int) *big.Int {
	sum := new(big.Int)
	for i, n := range pattern {
		if n > 0 {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(n), numbers[i]))
		}
	}
	return sum
}

// leaving returns the row whose column goes, where another comes: the first to be
// used no more. Of several it is the least by what its row of the inverse is
// beside, which keeps the method from going in circles.
func (p *pricing) leaving(column []*big.Int) int {
	least := -1
	left, right := new(big.Int), new(big.Int)
	for row, c := range column {
		if c.Sign() <= 0 {
			continue
		}
		order := -1
		if least >= 0 {
			order = left.Mul(p.used[row], column[least]).Cmp(right.Mul(p.used[least], c))
		}
		for k := 0; order == 0 && k < len(column); k++ {
			order = left.Mul(p.inverse[row][k], column[least]).Cmp(right.Mul(p.inverse[least][k], c))
		}
		if order < 0 {
			least = row
		}
	}
	return least
}

// pivot puts the column in the place of the row's, whose number in it is the
// determinant then.
func (p *pricing) pivot(at int, column []*big.Int, gain *big.Int) {
	divisor, product := column[at], new(big.Int)
	subtract := func(from, times, what *big.Int) {
		from.Sub(from.Mul(from, divisor), product.Mul(times, what))
		from.Quo(from, p.divisor) // nothing is left over
	}
	for row, c := range column {
		if row != at {
			for k := range column {
				subtract(p.inverse[row][k], c, p.inverse[at][k])
			}
			subtract(p.used[row], c, p.used[at])
		}
	}
	loss := new(big.Int).Neg(gain)
	for k := range column {
		subtract(p.dual[k], loss, p.inverse[at][k])
	}
	p.divisor = divisor
}
