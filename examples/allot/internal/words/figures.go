package words

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

// Amount is an amount with its unit as people say it: "2 GPUs", "0.5 core", "212 TiB".
func Amount(resource string, n int64) string {
	switch resource {
	case allot.GPU:
		return prose.Thousandths(n) + prose.Plural(" GPU", n, 1000)
	case allot.CPU:
		return Figure(resource, n) + prose.Plural(" core", n, 1000)
	case allot.Memory:
		return Bytes(n)
	}
	return strconv.FormatInt(n, 10) + " " + resource
}

// Figure is an amount where its resource stands elsewhere: "2", "0.5", "16 GiB".
func Figure(resource string, n int64) string {
	switch resource {
	case allot.GPU:
		return prose.Thousandths(n)
	case allot.CPU:
		if n >= 100_000 { // of hundreds of cores nobody counts the thousandths
			return strconv.FormatInt(n/1000, 10)
		}
		return prose.Thousandths(n)
	case allot.Memory:
		return Bytes(n)
	}
	return strconv.FormatInt(n, 10)
}

// Bytes is a number of bytes in the largest unit of which there is one, to a tenth where
// there are few; what is cut off is less than that.
func Bytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	unit := 0
	for unit+1 < len(units) && n>>(10*unit) >= 1024 {
		unit++
	}
	size := int64(1) << (10 * unit)
	text := strconv.FormatInt(n/size, 10)
	if tenth := n % size * 10 / size; tenth > 0 && n/size < 100 {
		text += "." + strconv.FormatInt(tenth, 10)
	}
	return text + " " + units[unit]
}

// Ratio is n·scale/of, rounded down; 0 of nothing.
func Ratio(n, of, scale int64) int64 {
	if n <= 0 || of <= 0 {
		return 0
	}
	if n >= of {
		return scale
	}
	high, low := bits.Mul64(uint64(n), uint64(scale))
	quotient, _ := bits.Div64(high, low, uint64(of))
	return int64(quotient)
}

// Percent is n/of in whole percent.
func Percent(n, of int64) string { return strconv.FormatInt(Ratio(n, of, 100), 10) + "%" }

// Saturation is what is used of a share in whole percent, above 100 where it is more; of no
// share there is none.
func Saturation(used, share int64) string {
	if used < 0 || share <= 0 {
		return "-"
	}
	high, low := bits.Mul64(uint64(used), 100)
	if high >= uint64(share) {
		return "-"
	}
	percent, _ := bits.Div64(high, low, uint64(share))
	return strconv.FormatUint(percent, 10) + "%"
}

func UpperFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// QueueName is the name of a queue; the implicit one has none.
func QueueName(id string) string {
	if id == "" {
		return "(all work)"
	}
	return id
}

// WorkName is queue/ID, or the ID alone where it says the queue itself.
func WorkName(queue, id string) string {
	if queue == "" || strings.HasPrefix(id, queue+"/") {
		return id
	}
	return queue + "/" + id
}
