package prose

import (
	"strconv"
	"strings"
)

// An Integer is any whole number that Go counts with.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64
}

// Decimal is the number in decimal digits, without separators.
func Decimal[I Integer](n I) string { return strconv.FormatInt(int64(n), 10) }

// Plural is the noun for n things, of which one counts as one: the singular for
// everything from just above nothing to one, so that half a GPU is "0.5 GPU", and
// the noun with an s for nothing, for less and for more.
func Plural[I Integer](noun string, n, one I) string {
	if n > 0 && n <= one {
		return noun
	}
	return noun + "s"
}

// Count is a number of things: "0 tasks", "1 task", "2 tasks".
func Count[I Integer](n I, noun string) string { return Decimal(n) + " " + Plural(noun, n, 1) }

// Thousandths is n/1000, exactly and without trailing zeros: 1500 is "1.5".
func Thousandths(n int64) string {
	sign, magnitude := "", uint64(n)
	if n < 0 {
		sign, magnitude = "-", -magnitude
	}
	text := sign + strconv.FormatUint(magnitude/1000, 10)
	if rest := magnitude % 1000; rest != 0 {
		digits := strconv.FormatUint(1000+rest, 10)[1:]
		text += "." + strings.TrimRight(digits, "0")
	}
	return text
}

// Bytes is a number of bytes in the largest binary unit up to GiB that tells it
// exactly, and that unit: 1<<30 is "1", "GiB"; 1000 and 0 are in "bytes".
func Bytes(n int64) (number, unit string) {
	if n != 0 {
		for shift, unit := range []string{"GiB", "MiB", "KiB"} {
			if size := int64(1) << (30 - 10*shift); n%size == 0 {
				return Decimal(n / size), unit
			}
		}
	}
	return Decimal(n), "bytes"
}

// Ranges are ascending numbers with runs told by their ends: "[0-3,5]".
func Ranges(numbers []int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := 0; i < len(numbers); {
		end := i + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(Decimal(numbers[i]))
		if end > i+1 {
			b.WriteString("-" + Decimal(numbers[end-1]))
		}
		i = end
	}
	b.WriteByte(']')
	return b.String()
}
