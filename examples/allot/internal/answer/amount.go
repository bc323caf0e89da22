package answer

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

// Amount is an amount as people say it: "2 GPUs", "0.5 core", "212 TiB".
func Amount(resource string, n int64) string {
	switch resource {
	case allot.GPU:
		return prose.Thousandths(n) + prose.Plural(" GPU", n, 1000)
	case allot.CPU:
		return Figure(resource, n) + prose.Plural(" core", n, 1000)
	case allot.Memory:
		return Figure(resource, n)
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
		return memory(n)
	}
	return strconv.FormatInt(n, 10)
}

// memory is a number of bytes in the largest unit of which there is one, to a tenth;
// what is cut off is less than that.
func memory(n int64) string {
	names := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	unit := 0
	for unit+1 < len(names) && n>>(10*unit) >= 1024 {
		unit++
	}
	size := int64(1) << (10 * unit)
	text := strconv.FormatInt(n/size, 10)
	if tenth := n % size * 10 / size; tenth > 0 && n/size < 100 {
		text += "." + strconv.FormatInt(tenth, 10)
	}
	return text + " " + names[unit]
}

// ratio is n·scale/of, rounded down; 0 of nothing.
func ratio(n, of, scale int64) int64 {
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

// Age is how long ago it was, in one or two units; a dash where it is not known.
func Age(now, then time.Time) string {
	if now.IsZero() || then.IsZero() || then.After(now) {
		return "-"
	}
	d := now.Sub(then)
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case days > 0:
		return strconv.Itoa(days) + "d" + strconv.Itoa(hours) + "h"
	case hours > 0:
		return strconv.Itoa(hours) + "h" + strconv.Itoa(minutes) + "m"
	case minutes > 0:
		return strconv.Itoa(minutes) + "m"
	}
	return strconv.Itoa(int(d.Seconds())) + "s"
}

// Name is queue/ID, or the ID alone where it says the queue itself.
func Name(queue, id string) string {
	if queue == "" || strings.HasPrefix(id, queue+"/") {
		return id
	}
	return queue + "/" + id
}

// QueueName is the name of a queue; the implicit one has none.
func QueueName(id string) string {
	if id == "" {
		return "(all work)"
	}
	return id
}
