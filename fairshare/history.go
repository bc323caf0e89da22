package fairshare

import (
	"fmt"
	"math/bits"
	"strings"
)

// Decay says how a [History] forgets.
type Decay uint8

const (
	// HalfLife halves what was used by its period. It is the zero value.
	HalfLife Decay = iota
	// Sliding counts what was used in the last period, to a 64th of it.
	Sliding
	// Tumbling counts what was used since the last multiple of its period.
	Tumbling
)

var decayTexts = [...]string{
	HalfLife: "half-life",
	Sliding:  "sliding",
	Tumbling: "tumbling",
}

// Valid reports whether d is one of the constants.
func (d Decay) Valid() bool { return int(d) < len(decayTexts) }

// String returns the stable text of d: "half-life", "sliding" or "tumbling"; Decay(n) where d
// is not valid.
func (d Decay) String() string {
	if !d.Valid() {
		return fmt.Sprintf("Decay(%d)", uint8(d))
	}
	return decayTexts[d]
}

// MarshalText implements [encoding.TextMarshaler]. It fails where d is not valid.
func (d Decay) MarshalText() ([]byte, error) {
	if !d.Valid() {
		return nil, fmt.Errorf("fairshare: no such decay: %d", uint8(d))
	}
	return []byte(decayTexts[d]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts exactly the
// texts of [Decay.String] and leaves d alone where it fails.
func (d *Decay) UnmarshalText(text []byte) error {
	for value, s := range decayTexts {
		if s == string(text) {
			*d = Decay(value)
			return nil
		}
	}
	return fmt.Errorf("fairshare: no such decay: %q: there is %s", text, strings.Join(decayTexts[:], ", "))
}

// historyTicks is how many ticks a period has: decay and rounding happen at ticks alone.
const historyTicks = 64

// tickFactor is 2^(−1/64) in 64 bits behind the point, to the nearest.
const tickFactor = 0xfd3e0c0cf486c175

// A History adds up what a queue has used of a resource, and what there was of it, and
// forgets both as its decay says (B12): the u of F6.
//
// It works in whole numbers. Ticks are the multiples of period/64, of absolute time; what
// is forgotten, and what is rounded, is so at ticks alone, and between them there are sums.
// So it does not matter how a time is cut into pieces. At a tick under HalfLife what has
// been added is multiplied by 2^(−1/64) and rounded down. Amounts are in the resource's
// unit, times in microseconds; amounts times times stay below 2^127 for every amount of 2^53
// and time before the year 10000.
//
// A History is a value: Add returns another. The zero History is one of the shortest half-life;
// make it by [NewHistory].
type History struct {
	decay Decay
	tick  int64 // microseconds
	until int64 // it has been told of up to here
	// settled is what had been added by the last tick, as it counts now; open what came since.
	settled, open spent
	// parts are, under Sliding, what was added in each of the last ticks, by the number of
	// the tick.
	parts [historyTicks]spent
}

// A spent is an amount times time, of the queue and of all.
type spent struct{ used, capacity wide }

// NewHistory is a history that begins at a time, in microseconds, with nothing. The period,
// a half-life or a window, is in microseconds, at least 64 of them; less than that is 64, and
// it is rounded down to a multiple of 64.
func NewHistory(d Decay, period, from int64) History {
	return History{decay: d, tick: max(1, period/historyTicks), until: max(0, from)}
}

// Until is up to when the history has been told of, in microseconds.
func (h History) Until() int64 { return h.until }

// Add returns the history with a time added that goes from where it ends until another: of
// capacity in all the queue used so much through all of it. A time that is no later adds
// nothing; negative amounts are 0.
func (h History) Add(until, used, capacity int64) History {
	used, capacity = max(0, used), max(0, capacity)
	h.tick = max(1, h.tick) // of the zero History
	alike := 0              // whole ticks so far
	for h.until < until {
		end := h.until + min(until-h.until, h.tick-h.until%h.tick) // the next tick may be no time any more
		long := uint64(end - h.until)
		h.open.used = h.open.used.plus(product(uint64(used), long))
		h.open.capacity = h.open.capacity.plus(product(uint64(capacity), long))
		if h.until = end; end%h.tick != 0 {
			break
		}
		before := h.settled
		h.settle()
		if alike++; long != uint64(h.tick) {
			alike = 0
		}
		h.until += h.repeats(alike, h.settled == before, until-h.until) * h.tick
	}
	return h
}

// repeats is how many ticks more, of those that are left, leave the history as it is, after
// so many that were alike.
func (h *History) repeats(alike int, same bool, left int64) int64 {
	ticks := left / h.tick
	switch {
	case h.decay == Tumbling && h.until%(h.tick*historyTicks) == 0:
		return ticks / historyTicks * historyTicks // whole windows
	case h.decay == HalfLife && same && alike > 0, h.decay == Sliding && alike > historyTicks:
		return ticks
	}
	return 0
}

// settle is what happens at a tick, where the history ends.
func (h *History) settle() {
	at := h.until / h.tick
	switch h.decay {
	case HalfLife:
		h.settled = spent{decayed(h.settled.used.plus(h.open.used)), decayed(h.settled.capacity.plus(h.open.capacity))}
	case Sliding:
		part := &h.parts[at%historyTicks]
		h.settled.used = h.settled.used.plus(h.open.used).minus(part.used)
		h.settled.capacity = h.settled.capacity.plus(h.open.capacity).minus(part.capacity)
		*part = h.open
	case Tumbling:
		h.settled = spent{h.settled.used.plus(h.open.used), h.settled.capacity.plus(h.open.capacity)}
		if at%historyTicks == 0 {
			h.settled = spent{}
		}
	}
	h.open = spent{}
}

// decayed is so much after one more tick.
func decayed(a wide) wide {
	top, middle, _ := a.times(tickFactor)
	return wide{top, middle}
}

// usageBits is how long the amounts of a Usage are at most: MaxAmount of the root has 53.
const usageBits = 53

// Usage is what the history says, for F6: both amounts shifted right by as much as the
// larger needs to have 53 bits.
func (h History) Usage() Usage {
	used, capacity := h.settled.used.plus(h.open.used), h.settled.capacity.plus(h.open.capacity)
	shift := max(0, max(used.bitLen(), capacity.bitLen())-usageBits)
	return Usage{Used: used.shifted(shift), Capacity: capacity.shifted(shift)}
}

// plus returns a + b, which have 127 bits at most.
func (a wide) plus(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return wide{hi, lo}
}

// minus returns a − b, where b is no larger.
func (a wide) minus(b wide) wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return wide{hi, lo}
}

// shifted returns a without its last n bits, which leaves 63 at most.
func (a wide) shifted(n int) int64 {
	if n >= 64 {
		return int64(a.hi >> (n - 64))
	}
	return int64(a.hi<<(64-n) | a.lo>>n)
}
