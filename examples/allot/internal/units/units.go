// Package units reads and writes amounts as people say them: "4 GPUs", "0.5", "64 cores",
// "256Gi", "10m". All of it is exact: an amount is a whole number of its kind's base
// unit (a thousandth of a GPU or core, a byte, a second, one of anything else), and a
// text that is none is an error that lists what may be said.
package units

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
)

// A Kind is what an amount is of.
type Kind struct {
	// name is for errors, base how many base units a bare number counts.
	name string
	base int64
	// suffixes are the units that may follow a number, with what they count in base
	// units; the first of each size is the one that is written.
	suffixes []suffix
}

type suffix struct {
	text string
	// num/den base units.
	num, den int64
}

var binary = []suffix{
	{"Ki", 1 << 10, 1}, {"Mi", 1 << 20, 1}, {"Gi", 1 << 30, 1}, {"Ti", 1 << 40, 1}, {"Pi", 1 << 50, 1}, {"Ei", 1 << 60, 1},
}

var decimal = []suffix{
	{"k", 1e3, 1}, {"K", 1e3, 1}, {"M", 1e6, 1}, {"G", 1e9, 1}, {"T", 1e12, 1}, {"P", 1e15, 1}, {"E", 1e18, 1},
}

// withB are suffixes and the same with a B, as of bytes.
func withB(list []suffix) []suffix {
	out := append([]suffix(nil), list...)
	for _, s := range list {
		out = append(out, suffix{s.text + "B", s.num, s.den})
	}
	return out
}

// The kinds.
var (
	gpu = Kind{"GPUs", 1000, []suffix{{"GPUs", 1000, 1}, {"GPU", 1000, 1}, {"gpus", 1000, 1}, {"gpu", 1000, 1}, {"m", 1, 1}}}
	cpu = Kind{"cores", 1000, []suffix{
		{"cores", 1000, 1}, {"core", 1000, 1}, {"CPUs", 1000, 1}, {"CPU", 1000, 1}, {"cpus", 1000, 1}, {"cpu", 1000, 1}, {"m", 1, 1},
	}}
	memory  = Kind{"bytes", 1, append(append(withB(binary), withB(decimal)...), suffix{"B", 1, 1}, suffix{"bytes", 1, 1}, suffix{"byte", 1, 1})}
	seconds = Kind{"seconds", 1, []suffix{{"s", 1, 1}, {"m", 60, 1}, {"min", 60, 1}, {"h", 3600, 1}, {"d", 86400, 1}}}
)

// Of is the kind of amounts of a resource. What is not Allot's own is counted one by
// one, with the sizes that memory has and the resource's name as units.
func Of(resource string) Kind {
	switch resource {
	case allot.GPU:
		return gpu
	case allot.CPU:
		return cpu
	case allot.Memory:
		return memory
	}
	return Kind{resource, 1, append(append(append([]suffix(nil), binary...), decimal...), suffix{resource, 1, 1})}
}

// Seconds is the kind of times that are spans.
func Seconds() Kind { return seconds }

// An Error is a text that is no amount of its kind.
type Error struct {
	// Want is what would be right, as the end of a sentence.
	Want string
}

func (e *Error) Error() string { return e.Want }

// longest bounds a text that may be an amount: exact arithmetic on more would only
// help who wants to keep the program busy.
const longest = 64

// Parse is the amount that a text says, in base units. A number alone counts in what
// people mean by it: GPUs, cores, bytes, seconds. The error is an [*Error].
func (k Kind) Parse(text string) (int64, error) {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.' || end == 0 && (text[end] == '-' || text[end] == '+')) {
		end++
	}
	number, unit := text[:end], strings.TrimSpace(text[end:])
	if len(text) > longest || number == "" || !strings.ContainsAny(number, "0123456789") || strings.Count(number, ".") > 1 {
		return 0, &Error{k.want()}
	}
	num, den := k.base, int64(1)
	if unit != "" {
		found := false
		for _, s := range k.suffixes {
			if s.text == unit {
				num, den, found = s.num, s.den, true
				break
			}
		}
		if !found {
			return 0, &Error{k.want()}
		}
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, &Error{k.want()}
	}
	value.Mul(value, big.NewRat(num, den))
	if !value.IsInt() {
		return 0, &Error{"must be a whole number of " + k.finest()}
	}
	if !value.Num().IsInt64() {
		return 0, &Error{"must be at most " + strconv.FormatInt(allot.MaxAmount, 10) + " " + k.finest()}
	}
	return value.Num().Int64(), nil
}

// finest names the base unit.
func (k Kind) finest() string {
	if k.base == 1000 {
		return "thousandths of " + k.name
	}
	return k.name
}

// want says what may be said.
func (k Kind) want() string {
	var texts []string
	for _, s := range k.suffixes {
		if !strings.HasSuffix(s.text, "B") || s.text == "B" {
			texts = append(texts, s.text)
		}
	}
	return fmt.Sprintf("must be a number of %s, bare or with one of the units %s", k.name, strings.Join(texts, ", "))
}

// Text is the shortest text that [Kind.Parse] reads as the amount.
func (k Kind) Text(n int64) string {
	if k.base == 1000 {
		return thousandths(n)
	}
	best := strconv.FormatInt(n, 10)
	if n == 0 {
		return best
	}
	sizes := binary
	if k.name == seconds.name {
		sizes = []suffix{{"m", 60, 1}, {"h", 3600, 1}, {"d", 86400, 1}}
	}
	for _, s := range sizes {
		if n%s.num == 0 {
			best = strconv.FormatInt(n/s.num, 10) + s.text
		}
	}
	return best
}

// thousandths is n/1000, exactly.
func thousandths(n int64) string {
	value := new(big.Rat).SetFrac64(n, 1000)
	text := value.FloatString(3)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
