package words

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Letters counts A to Z, then AA, AB and so on, from 0.
func Letters(n int) string {
	text := ""
	for n++; n > 0; n = (n - 1) / 26 {
		text = string(rune('A'+(n-1)%26)) + text
	}
	return text
}

// Ranges is numbers in words: "0–3, 5".
func Ranges(numbers []int) string {
	var texts []string
	for i := 0; i < len(numbers); {
		end := i + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		text := strconv.Itoa(numbers[i])
		if end > i+1 {
			text += "–" + strconv.Itoa(numbers[end-1])
		}
		texts = append(texts, text)
		i = end
	}
	return strings.Join(texts, ", ")
}

// CompareNames orders names as people do: n2 stands before n10.
func CompareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		n, m := digits(x), digits(y)
		if n > 0 && m > 0 {
			p, q := strings.TrimLeft(x[:n], "0"), strings.TrimLeft(y[:m], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[n:], y[m:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
}

// digits is how many digits the text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// Nearest says which names are like one that is not there: "; there is a, b".
func Nearest(name string, known []string) string {
	if len(name) > 200 || len(known) == 0 {
		return ""
	}
	type near struct {
		name  string
		apart int
	}
	lower := strings.ToLower(name)
	var all []near
	for _, k := range known {
		other := strings.ToLower(k)
		apart := distance(lower, other)
		if name != "" && (strings.Contains(other, lower) || other != "" && strings.Contains(lower, other)) {
			apart = min(apart, 1)
		}
		all = append(all, near{k, apart})
	}
	slices.SortFunc(all, func(a, b near) int { return cmp.Or(cmp.Compare(a.apart, b.apart), CompareNames(a.name, b.name)) })
	var texts []string
	for _, n := range all[:min(len(all), nearestShown)] {
		if n.apart <= max(2, len(name)/3) || len(texts) == 0 {
			texts = append(texts, n.name)
		}
	}
	return "; there is " + strings.Join(texts, ", ")
}

// nearestShown is how many names are told.
const nearestShown = 8

// distance is how many letters have to be put, taken or made others.
func distance(a, b string) int {
	if len(b) > 3*len(a)+10 {
		return len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
