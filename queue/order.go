package queue

import (
	"fmt"
	"strings"
)

// Order is the order between the queues of a pool (O2, O3). Inside one queue
// O1 holds under every Order. Values beyond the constants are not [Order.Valid].
type Order uint8

const (
	// FairShare is O2 (a) to (h). It is the zero value.
	FairShare Order = iota
	// PriorityFirst takes the higher priority first, whatever the queue; among
	// equals O2 (O3).
	PriorityFirst
	// Global is one order O1 over the workloads of all queues; queues decide
	// nothing (Determined's priority scheduler).
	Global
	// Deprived takes the most deprived queue first (RunAI20): the lowest use
	// over quota, then the older queue, then the lower index.
	Deprived
	// ShareThenAge takes the lower class of O2 (a) first and in it the
	// workload that was submitted earlier (Determined's fair share).
	ShareThenAge
)

var orderTexts = [...]string{
	FairShare:     "fair-share",
	PriorityFirst: "priority-first",
	Global:        "global",
	Deprived:      "deprived",
	ShareThenAge:  "share-then-age",
}

// Valid reports whether o is one of the constants.
func (o Order) Valid() bool { return int(o) < len(orderTexts) }

// String returns the stable text of o: "fair-share", "priority-first", "global",
// "deprived" or "share-then-age"; Order(n) where o is not valid.
func (o Order) String() string {
	if !o.Valid() {
		return fmt.Sprintf("Order(%d)", uint8(o))
	}
	return orderTexts[o]
}

// MarshalText implements [encoding.TextMarshaler]. It fails where o is not
// valid.
func (o Order) MarshalText() ([]byte, error) {
	if !o.Valid() {
		return nil, fmt.Errorf("queue: no such order: %d", uint8(o))
	}
	return []byte(orderTexts[o]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts exactly the
// texts of [Order.String] and leaves o alone where it fails.
func (o *Order) UnmarshalText(text []byte) error {
	for value, s := range orderTexts {
		if s == string(text) {
			*o = Order(value)
			return nil
		}
	}
	return fmt.Errorf("queue: no such order: %q: there is %s", text, strings.Join(orderTexts[:], ", "))
}

// Queueing says what a workload that cannot start does to those behind it
// (O4). This package owns the type and its text; the caller does what it says,
// by [Queues.Drop] or by passing over what it may not start.
type Queueing uint8

const (
	// BestEffort lets everything behind it try. It is the zero value.
	BestEffort Queueing = iota
	// StrictQueue: a blocked head blocks its queue.
	StrictQueue
	// StrictPool: a blocked head blocks everything behind it in the pool's
	// order.
	StrictPool
	// BackfillPreemptible: behind a blocked head work of a lower priority may only
	// start if it is preemptible; of the same priority all may.
	BackfillPreemptible
	// BackfillSingles: behind a blocked head only work of one task with at most
	// one device may start, and where it has one only on nodes that are in use (P8,
	// Determined on Kubernetes with preemption).
	BackfillSingles
)

var queueingTexts = [...]string{
	BestEffort:          "best-effort",
	StrictQueue:         "strict-queue",
	StrictPool:          "strict-pool",
	BackfillPreemptible: "backfill-preemptible",
	BackfillSingles:     "backfill-singles",
}

// Valid reports whether q is one of the constants.
func (q Queueing) Valid() bool { return int(q) < len(queueingTexts) }

// String returns the stable text of q: "best-effort", "strict-queue", "strict-pool",
// "backfill-preemptible" or "backfill-singles"; Queueing(n) where q is not valid.
func (q Queueing) String() string {
	if !q.Valid() {
		return fmt.Sprintf("Queueing(%d)", uint8(q))
	}
	return queueingTexts[q]
}

// MarshalText implements [encoding.TextMarshaler]. It fails where q is not
// valid.
func (q Queueing) MarshalText() ([]byte, error) {
	if !q.Valid() {
		return nil, fmt.Errorf("queue: no such queueing: %d", uint8(q))
	}
	return []byte(queueingTexts[q]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts exactly the
// texts of [Queueing.String] and leaves q alone where it fails.
func (q *Queueing) UnmarshalText(text []byte) error {
	for value, s := range queueingTexts {
		if s == string(text) {
			*q = Queueing(value)
			return nil
		}
	}
	return fmt.Errorf("queue: no such queueing: %q: there is %s", text, strings.Join(queueingTexts[:], ", "))
}

// OwnQueueing is a [Queueing] that one queue says for itself, or nothing (O4): what
// a workload of it that cannot start does to those behind it in this queue. There
// is no strict-pool among them, as no queue speaks for others.
type OwnQueueing uint8

const (
	// AsPool says nothing: the pool's holds. It is the zero value.
	AsPool OwnQueueing = iota
	// OwnBestEffort: what cannot start stops nothing else.
	OwnBestEffort
	// OwnStrict: a blocked head stops all behind it in the queue.
	OwnStrict
	// OwnBackfillPreemptible: it stops what is of lower priority and not preemptible.
	OwnBackfillPreemptible
	// OwnBackfillSingles: it stops all but work of one task with at most one device,
	// which goes to nodes that are in use.
	OwnBackfillSingles
)

var ownQueueings = [...]struct {
	text string
	is   Queueing
}{
	AsPool:                 {"as-pool", BestEffort},
	OwnBestEffort:          {"best-effort", BestEffort},
	OwnStrict:              {"strict-queue", StrictQueue},
	OwnBackfillPreemptible: {"backfill-preemptible", BackfillPreemptible},
	OwnBackfillSingles:     {"backfill-singles", BackfillSingles},
}

// Valid reports whether q is one of the constants.
func (q OwnQueueing) Valid() bool { return int(q) < len(ownQueueings) }

// Queueing is what q says; said is false where it says nothing or is not valid.
func (q OwnQueueing) Queueing() (is Queueing, said bool) {
	if q == AsPool || !q.Valid() {
		return BestEffort, false
	}
	return ownQueueings[q].is, true
}

// String returns the stable text of q, which is that of its [Queueing] or as-pool;
// OwnQueueing(n) where q is not valid.
// The texts are "best-effort", "strict-queue", "backfill-preemptible" and
// "backfill-singles", and none for AsPool.
func (q OwnQueueing) String() string {
	if !q.Valid() {
		return fmt.Sprintf("OwnQueueing(%d)", uint8(q))
	}
	return ownQueueings[q].text
}

// MarshalText implements [encoding.TextMarshaler]. It fails where q is not valid.
func (q OwnQueueing) MarshalText() ([]byte, error) {
	if !q.Valid() {
		return nil, fmt.Errorf("queue: no such queueing of a queue: %d", uint8(q))
	}
	return []byte(q.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts exactly the
// texts of [OwnQueueing.String] and leaves q alone where it fails.
func (q *OwnQueueing) UnmarshalText(text []byte) error {
	for value := range ownQueueings {
		if ownQueueings[value].text == string(text) {
			*q = OwnQueueing(value)
			return nil
		}
	}
	var known []string
	for _, q := range ownQueueings {
		if q.text != "" {
			known = append(known, q.text)
		}
	}
	return fmt.Errorf("queue: no such queueing of a queue: %q: there is %s", text, strings.Join(known, ", "))
}
