package radix_test

import (
	"fmt"

	"github.com/allotsched/allot/internal/radix"
)

// Names are put in the order of their ages: a number is an age above the place of its name.
func ExampleSort() {
	const bits = 2 // for the places of up to four names
	names, ages := []string{"Ada", "Bo", "Cy"}, []uint64{37, 25, 31}
	numbers := make([]uint64, len(names))
	for i, age := range ages {
		numbers[i] = age<<bits | uint64(i)
	}
	radix.Sort(numbers, bits)
	for _, n := range numbers {
		fmt.Println(names[n&(1<<bits-1)])
	}
	// Output:
	// Bo
	// Cy
	// Ada
}
