package main

import (
	"math"
	"strconv"
	"strings"
)

// Numbers as people read them: three digits that count, a unit that fits.

// A scale is a unit that figures may share.
type scale struct {
	factor float64
	unit   string
	from   float64 // the least figure that is printed in it
}

var (
	timeScales = []scale{{1, "s", 1}, {1e-3, "ms", 1e-4}, {1e-6, "µs", 1e-7}, {1e-9, "ns", 0}}
	sizeScales = []scale{{1 << 30, "GiB", 1 << 30}, {1 << 20, "MiB", 1 << 17}, {1 << 10, "KiB", 1 << 7}, {1, "B", 0}}
)

// scaled prints figures in one unit, that of the least of them.
func scaled(scales []scale, figures ...float64) (texts []string, unit string) {
	least := math.Inf(1)
	for _, f := range figures {
		if f > 0 {
			least = min(least, f)
		}
	}
	use := scales[len(scales)-1]
	for _, s := range scales {
		if least >= s.from {
			use = s
			break
		}
	}
	for _, f := range figures {
		texts = append(texts, significant(f/use.factor))
	}
	return texts, use.unit
}

// durations prints times, given in seconds, in one unit.
func durations(seconds ...float64) string {
	texts, unit := scaled(timeScales, seconds...)
	return strings.Join(texts, ", ") + " " + unit
}

// significant prints about three digits that count, and all before the point.
func significant(f float64) string {
	switch size := math.Abs(f); {
	case size >= 99.95 || f == math.Trunc(f):
		return grouped(int(math.Round(f)))
	case size >= 9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case size < 0.1:
		return strconv.FormatFloat(f, 'g', 2, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// grouped prints thousands apart: 12,345.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
