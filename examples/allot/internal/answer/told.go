package answer

import (
	"strconv"

	"github.com/allotsched/allot/examples/allot/internal/output"
)

// mostTold is how many things of a kind are told one by one; more of them are told in
// groups, and of these again at most as many.
const mostTold = 20

// told is what of a list is told: its first ones, or all with -v.
func told[T any](p *output.Page, list []T, most int) []T {
	if p.Verbose {
		return list
	}
	return list[:min(most, len(list))]
}

// tellLeft says how many are not told, each being called what, or nothing.
func tellLeft(p *output.Page, indent string, left int, what string) {
	if left > 0 {
		p.Line(output.Faint, indent+"and "+strconv.Itoa(left)+" more"+what+"; "+p.NotAll())
	}
}
