package scenario

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

// none is how a value that is absent is written where that can be said.
const none = "none"

var errRange = errors.New("out of range")

// decimal reads digits with an optional sign and fraction and scales them,
// exactly or not at all: "0.5" scaled by 1000 is 500, "0.0005" is an error.
func decimal(text string, scale int64) (int64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole == "" || !isDigits(whole) || !isDigits(fraction) || strings.HasSuffix(digits, ".") {
		return 0, fmt.Errorf("%q is no number", text)
	}
	value := int64(0)
	for _, c := range []byte(whole) {
		digit := int64(c - '0')
		if value > (math.MaxInt64-digit)/10 {
			return 0, errRange
		}
		value = 10*value + digit
	}
	if value > math.MaxInt64/scale {
		return 0, errRange
	}
	value *= scale
	rest, err := scaledFraction(fraction, scale)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", text, err)
	}
	if value > math.MaxInt64-rest {
		return 0, errRange
	}
	if value += rest; negative {
		value = -value
	}
	return value, nil
}

// scaledFraction is 0.digits × scale. It cancels before it multiplies, so that
// nothing overflows: numerator < denominator ≤ 10^18.
func scaledFraction(digits string, scale int64) (int64, error) {
	digits = strings.TrimRight(digits, "0")
	if len(digits) > 18 {
		return 0, errors.New("too many decimals")
	}
	numerator, denominator := int64(0), int64(1)
	for _, c := range []byte(digits) {
		numerator, denominator = 10*numerator+int64(c-'0'), 10*denominator
	}
	common := gcd(scale, denominator)
	scale, denominator = scale/common, denominator/common
	if numerator%denominator != 0 {
		return 0, errors.New("finer than the unit")
	}
	return numerator / denominator * scale, nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func isDigits(text string) bool {
	return strings.Trim(text, "0123456789") == ""
}

// binaryUnits are the suffixes of amounts that are not in thousandths.
var binaryUnits = []struct {
	suffix string
	scale  int64
}{{"Ei", 1 << 60}, {"Pi", 1 << 50}, {"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}}

// bytes reads an amount with an optional binary suffix: "80Gi".
func bytes(text string) (int64, error) {
	for _, unit := range binaryUnits {
		if digits, ok := strings.CutSuffix(text, unit.suffix); ok {
			return decimal(digits, unit.scale)
		}
	}
	return decimal(text, 1)
}

// formatBytes writes what bytes reads, in the largest unit that divides it.
func formatBytes(value int64) string {
	for _, unit := range binaryUnits {
		if value != 0 && value%unit.scale == 0 {
			return strconv.FormatInt(value/unit.scale, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(value, 10)
}

// milli reads an amount in thousandths: "0.5" is 500.
func milli(text string) (int64, error) { return decimal(text, 1000) }

// inMilli tells the resources of which State counts thousandths.
func inMilli(resource string) bool {
	return resource == allot.GPU || resource == allot.CPU
}

// amount reads an amount in the unit of the resource.
func amount(resource, text string) (int64, error) {
	if inMilli(resource) {
		return milli(text)
	}
	return bytes(text)
}

// formatAmount writes what amount reads.
func formatAmount(resource string, value int64) string {
	if inMilli(resource) {
		return prose.Thousandths(value)
	}
	return formatBytes(value)
}

// epoch is the second 0 of the clock of every scenario.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// unset is how the zero time is written.
const unset = "unset"

// instant reads a time: "unset", an RFC 3339 time, or the time since epoch as
// a decimal and a unit ("1.5h"); without a unit, seconds.
func instant(text string) (time.Time, error) {
	if text == unset {
		return time.Time{}, nil
	}
	if strings.Contains(text, "T") {
		t, err := time.Parse(time.RFC3339Nano, text)
		// Parse takes an hour of one digit and a comma before the fraction.
		if err == nil && (text[len("2006-01-02T15")] != ':' || strings.Contains(text, ",")) {
			err = fmt.Errorf("%q is no time of RFC 3339", text)
		}
		return t.UTC(), err
	}
	since, err := duration(text)
	return epoch.Add(since), err
}

// timeUnits are longest suffix first where one ends in another.
var timeUnits = []struct {
	suffix string
	scale  time.Duration
}{
	{"ns", time.Nanosecond}, {"us", time.Microsecond}, {"ms", time.Millisecond},
	{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour},
}

func duration(text string) (time.Duration, error) {
	for _, unit := range timeUnits {
		if digits, ok := strings.CutSuffix(text, unit.suffix); ok {
			value, err := decimal(digits, int64(unit.scale))
			return time.Duration(value), err
		}
	}
	value, err := decimal(text, int64(time.Second))
	return time.Duration(value), err
}

// formatInstant writes what instant reads: since epoch within a century or
// so, else in full.
func formatInstant(t time.Time) string {
	if t.IsZero() {
		return unset
	}
	t = t.UTC()
	since := t.Sub(epoch)
	if since == math.MinInt64 || !epoch.Add(since).Equal(t) {
		return t.Format(time.RFC3339Nano)
	}
	for _, unit := range timeUnits[:3] {
		if since%(1000*unit.scale) != 0 {
			return strconv.FormatInt(int64(since/unit.scale), 10) + unit.suffix
		}
	}
	return strconv.FormatInt(int64(since/time.Second), 10) + "s"
}
