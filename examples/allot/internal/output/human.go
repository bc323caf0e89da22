package output

import (
	"math/big"
	"regexp"
	"strings"
)

// largeMemory is an exact amount of memory with more digits than anybody reads.
var largeMemory = regexp.MustCompile(`\b(\d{5,})( ?)(bytes|KiB|MiB|GiB)\b`)

// human makes amounts of memory in a text of the library, which are exact, readable:
// "222232714MiB" is "211.9TiB". What is cut off is less than a tenth of the unit.
func human(text string) string {
	if !strings.Contains(text, "iB") && !strings.Contains(text, "bytes") {
		return text
	}
	return largeMemory.ReplaceAllStringFunc(text, func(found string) string {
		m := largeMemory.FindStringSubmatch(found)
		units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
		at := 0
		for units[at] != m[3] {
			at++
		}
		tenths, ok := new(big.Int).SetString(m[1]+"0", 10)
		if !ok {
			return found
		}
		for at+1 < len(units) && tenths.Cmp(big.NewInt(10*1024)) >= 0 {
			tenths.Rsh(tenths, 10)
			at++
		}
		whole, tenth := new(big.Int).DivMod(tenths, big.NewInt(10), new(big.Int))
		number := whole.String()
		if tenth.Sign() > 0 {
			number += "." + tenth.String()
		}
		return number + m[2] + units[at]
	})
}
