// Package radix sorts many numbers by their digits, in time in how many there are and how far they are apart,
// which of tens of thousands is a fifth of what a comparison sort takes.
//
// To sort something else by a few integers, a caller packs them into a number, above the place that each has in its
// list, which is then read off the number again:
//
//	for i := range all {
//		numbers[i] = uint64(all[i].age-youngest)<<bits | uint64(i)
//	}
//	radix.Sort(numbers, bits)
//
// # Invariants
//
// The result is the only one that there is. Passes are stable, so that no pass is needed for the places, which are
// in order as they come.
//
// # Cost
//
// A pass for every eleven bits in which the numbers differ, and as much memory again; few numbers are sorted by
// comparison.
package radix
