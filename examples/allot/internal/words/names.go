package words

import (
	"cmp"
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
