package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot/internal/prose"
)

// Unknown says that there is no such name, and which ones are nearest to it.
func Unknown(what, name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("there is no %s %q, nor any other", what, name)
	}
	return fmt.Errorf("there is no %s %q; the nearest: %s", what, name, strings.Join(Nearest(name, known, 5), ", "))
}

// Like are the names that one may have been mistyped from: those from which the fewest
// letters are otherwise, at most three, and none if that is half of it.
func Like(name string, known []string) []string {
	least := min(3, (len(name)+1)/2)
	var out []string
	for _, k := range slices.Sorted(slices.Values(known)) {
		switch far := distance(strings.ToLower(name), strings.ToLower(k)); {
		case far < least:
			least, out = far, []string{k}
		case far == least && len(out) > 0 && len(out) < 3:
			out = append(out, k)
		}
	}
	return out
}

// Nearest are the names that are most like one, at most so many.
func Nearest(name string, known []string, most int) []string {
	type scored struct {
		name string
		far  int
	}
	wanted := strings.ToLower(name)
	list := make([]scored, len(known))
	for i, k := range known {
		lower := strings.ToLower(k)
		far := distance(wanted, lower)
		if strings.Contains(lower, wanted) || strings.Contains(wanted, lower) {
			far /= 4 // a part of the name is near to it
		}
		list[i] = scored{k, far}
	}
	slices.SortFunc(list, func(a, b scored) int { return cmp.Or(cmp.Compare(a.far, b.far), strings.Compare(a.name, b.name)) })
	var out []string
	for _, s := range list[:min(most, len(list))] {
		out = append(out, prose.Word(s.name))
	}
	return out
}

// distance is how many letters have to be changed, put in or left out to make one text of
// the other. Of long texts only the beginning counts.
func distance(a, b string) int {
	const most = 40
	x, y := []rune(a), []rune(b)
	x, y = x[:min(most, len(x))], y[:min(most, len(y))]
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before := row[0]
		row[0] = i + 1
		for j := range y {
			change := before
			if x[i] != y[j] {
				change++
			}
			before, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
